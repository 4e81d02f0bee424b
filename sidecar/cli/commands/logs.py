"""``sidecar logs ID``: what an agent printed, at once or as it comes.

It only reads; while it follows, which is waiting, it also has runs adopted that nobody leads.
"""

from sidecar.cli import exits
from sidecar.cli.following import LOG_STREAMS, Follower, Outlet
from sidecar.cli.interrupts import Interrupts
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Span, Tone, line
from sidecar.cli.tails import tail_offset
from sidecar.control import read
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Snapshot
from sidecar.core import policy
from sidecar.core.errors import InvalidParams
from sidecar.core.states import Run

STDOUT, STDERR = LOG_STREAMS


def run(invocation: Invocation) -> int:
    """Prints a log, from where it was asked for."""
    words = invocation.words
    snapshot = read.get(invocation.context, words.run)
    if invocation.wants_json:
        return _print_page(invocation, snapshot.run)
    step = _step(snapshot.run, words.step)
    outlets = _outlets(invocation)
    offsets = {stream: _offset(invocation, snapshot.run.run_id, step, stream) for stream in outlets}
    follower = Follower(
        invocation.context, snapshot.run.run_id, outlets, step=step, offsets=offsets
    )
    if not words.follow:
        _say_given_up(invocation, follower.catch_up())
        for outlet in outlets.values():
            outlet.finish()
        return exits.DONE
    interrupts = Interrupts()
    try:
        with interrupts.welcome():
            _say_given_up(invocation, follower.follow(Caretaker(invocation.context)))
    except KeyboardInterrupt:
        return exits.DETACHED
    return exits.DONE


def _outlets(invocation: Invocation) -> dict[read.Stream, Outlet]:
    words, terminal = invocation.words, invocation.terminal
    if words.both:
        return {
            STDOUT: Outlet(terminal.out, raw=words.raw),
            STDERR: Outlet(terminal.err, raw=words.raw),
        }
    return {STDERR if words.stderr else STDOUT: Outlet(terminal.out, raw=words.raw)}


def _step(run: Run, told: int | None) -> int:
    """The step that is asked for, or the newest one that was started."""
    if told is None:
        return max((step.index for step in run.steps if step.attempt is not None), default=0)
    if not 0 <= told < len(run.steps):
        raise InvalidParams(
            f"no such step: {told}", field="step", hint=f"0 to {len(run.steps) - 1}"
        )
    return told


def _offset(invocation: Invocation, run_id: str, step: int, stream: read.Stream) -> int:
    words = invocation.words
    if words.offset is not None:
        offset: int = words.offset
        return offset
    if words.tail is None:
        return 0
    if words.tail < 0:
        raise InvalidParams(f"out of range: {words.tail}", field="tail", hint="0 or more lines")

    def page(offset: int, limit: int) -> tuple[bytes, int]:
        found = read.output(invocation.context, run_id, step, stream, offset, limit)
        return found.data, found.offset

    return tail_offset(page, words.tail)


def _print_page(invocation: Invocation, run: Run) -> int:
    from sidecar.cli import document

    words = invocation.words
    if words.follow or words.both:
        raise InvalidParams(
            "--json prints one page of one log: not with --follow or --both",
            hint="nextOffset of the page is the --offset of the next one",
        )
    step = _step(run, words.step)
    stream = STDERR if words.stderr else STDOUT
    offset = _offset(invocation, run.run_id, step, stream)
    page = read.output(
        invocation.context, run.run_id, step, stream, offset, policy.OUTPUT_LIMIT_MAX
    )
    invocation.print_document(document.of_output(page, raw=words.raw))
    return exits.DONE


def _say_given_up(invocation: Invocation, snapshot: Snapshot) -> None:
    attempts = [step.attempt for step in snapshot.run.steps if step.attempt is not None]
    if any(not attempt.output_complete for attempt in attempts):
        words = "the output may go on: somebody held it open after the end of the agent"
        invocation.terminal.err.say((Span("sidecar: ", Tone.WARN), *line(words)))
