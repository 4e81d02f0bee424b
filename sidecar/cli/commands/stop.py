"""``sidecar stop ID ...``: ends runs, with everything that they started, and waits for the proof.

The stop is durable before anything is waited for: Ctrl-C takes nothing back.
"""

from sidecar.cli import clock, exits, trouble, wording
from sidecar.cli.human import parse_duration
from sidecar.cli.interrupts import Interrupts
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Line, Span, Tone
from sidecar.control import stop, waiting
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Snapshot
from sidecar.control.waiting import Until, Waited
from sidecar.core import policy
from sidecar.core.states import ProofState, Run, run_proof

PATIENCE_MS = 30_000
"""Beyond the grace: killing, verifying, draining, and an adoption if nobody leads the run."""


def run(invocation: Invocation) -> int:
    """Asks for the end of each run, then waits until all are over."""
    words, terminal = invocation.words, invocation.terminal
    grace_ms = policy.GRACE_MS
    if words.force:
        grace_ms = 0
    elif words.grace is not None:
        grace_ms = parse_duration(words.grace, field="graceMs")
    interrupts = Interrupts()

    def stop_one(ref: str) -> Snapshot:
        return stop.stop(
            invocation.context,
            ref,
            reason=words.reason,
            grace_ms=grace_ms,
            any_session=words.any_session,
        )

    asked, code = trouble.each(terminal, words.runs, stop_one, as_json=invocation.wants_json)
    try:
        with interrupts.welcome():
            waited = _waited(invocation, asked, grace_ms + PATIENCE_MS)
    except KeyboardInterrupt:
        words_left = Span("no longer waiting; what was asked to end still ends")
        terminal.err.say((Span("sidecar: ", Tone.WARN), words_left))
        return exits.DETACHED
    finally:
        terminal.err.clear()
    if invocation.wants_json:
        from sidecar.cli import document

        invocation.print_document(document.of_waited(waited))
    else:
        now = invocation.context.now_ms()
        terminal.out.show(_line(snapshot.run, now) for snapshot in waited.snapshots)
    return code or _code(waited)


def _waited(invocation: Invocation, asked: list[Snapshot], timeout_ms: int) -> Waited:
    """The runs once they are over, or, if that is not waited for, as they were answered."""
    live = [snapshot.run.run_id for snapshot in asked if not snapshot.run.is_over]
    caretaker = Caretaker(invocation.context)
    for run_id in live:
        # Somebody wants it to end: if nobody leads it, it is adopted now.
        caretaker.expect(run_id)
    if live:
        caretaker.tend(clock.ticks_ms())
    if not live or not invocation.words.wait:
        return Waited(snapshots=tuple(asked), gone=(), timed_out=False)
    n_live = f"{len(live)} runs" if len(live) > 1 else "the run"
    invocation.terminal.err.hint_at(f"waiting for the end of {n_live}")
    return waiting.wait(
        invocation.context,
        [snapshot.run.run_id for snapshot in asked],
        Until.ALL,
        timeout_ms,
        caretaker=caretaker,
    )


def _line(run: Run, now: int) -> Line:
    ended = wording.ending(run, run.run_id, now)
    if not run.is_over:
        return ended
    proven = run_proof(run)
    return (*ended, Span("; "), *wording.proof(proven))


def _code(waited: Waited) -> int:
    if waited.timed_out:
        return exits.TIMED_OUT
    over = [snapshot.run for snapshot in waited.snapshots if snapshot.run.is_over]
    # A run that may still have processes somewhere is not what was asked for.
    unproven = any(run_proof(run).state is ProofState.UNKNOWN for run in over)
    return exits.FAILED if unproven else exits.DONE
