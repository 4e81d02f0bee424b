"""``sidecar doctor``: what is wrong on this machine and in the state directory, and what may help.

It only looks.  With ``--repair`` it first has those runs adopted that nobody leads, and sweeps what
dead launches left.
"""

from sidecar.cli import clock, exits
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Line, Span, Tone, said
from sidecar.control import doctor
from sidecar.control.caretaker import Caretaker, Tended
from sidecar.control.host import Finding, Level
from sidecar.store import markers

_TONES = {
    Level.OK: Tone.GOOD,
    Level.NOTE: Tone.DIM,
    Level.WARNING: Tone.WARN,
    Level.ERROR: Tone.BAD,
}
_LEVEL_WIDTH = 9
_CODE_WIDTH = 15


def run(invocation: Invocation) -> int:
    """Prints the findings; fails if one of them is an error."""
    tended = _repair(invocation) if invocation.words.repair else None
    findings = doctor.diagnose(invocation.context)
    has_error = any(finding.level is Level.ERROR for finding in findings)
    if invocation.wants_json:
        told = {"findings": [_object(finding) for finding in findings]}
        invocation.print_document(told if tended is None else {**told, "repaired": _done(tended)})
        return exits.FAILED if has_error else exits.DONE
    if tended is not None:
        invocation.terminal.out.show(_repaired(tended))
    invocation.terminal.out.show(line for finding in findings for line in _lines(finding))
    return exits.FAILED if has_error else exits.DONE


def _repair(invocation: Invocation) -> Tended:
    caretaker = Caretaker(invocation.context)
    for run_id in markers.active_ids(invocation.context.layout):
        # A person says so: there is no need to wait for somebody faster.
        caretaker.expect(run_id)
    return caretaker.tend(clock.ticks_ms())


def _done(tended: Tended) -> dict[str, list[str]]:
    return {
        "adopting": list(tended.adopting),
        "released": list(tended.released),
        "stopped": list(tended.stopped),
        "swept": list(tended.swept),
    }


def _repaired(tended: Tended) -> list[Line]:
    meanings = {
        "adopting": "is being adopted",
        "released": "is no longer marked as active",
        "stopped": "is asked to end with its parent",
        "swept": "was a dead launch, removed",
    }
    lines: list[Line] = [
        (Span("repaired ".ljust(_LEVEL_WIDTH), Tone.GOOD), Span(f"{run_id} {meanings[kind]}"))
        for kind, run_ids in _done(tended).items()
        for run_id in run_ids
    ]
    lines += [
        (Span("error ".ljust(_LEVEL_WIDTH), Tone.BAD), said(problem.error))
        for problem in tended.problems
    ]
    return lines or [(Span("nothing to repair", Tone.DIM),)]


def _lines(finding: Finding) -> list[Line]:
    lines: list[Line] = [
        (
            Span(finding.level.ljust(_LEVEL_WIDTH), _TONES[finding.level]),
            Span(finding.code.ljust(_CODE_WIDTH), Tone.DIM),
            said(finding.message),
        )
    ]
    if finding.hint is not None:
        margin = " " * (_LEVEL_WIDTH + _CODE_WIDTH)
        lines.append((Span(f"{margin}hint: ", Tone.DIM), said(finding.hint, Tone.DIM)))
    return lines


def _object(finding: Finding) -> dict[str, str]:
    told = {"level": finding.level.value, "code": finding.code, "message": finding.message}
    return told if finding.hint is None else {**told, "hint": finding.hint}
