"""The page of ``sidecar show``: everything that is known of one run, as lines.

This module must never read anything; where the logs lie is told to it.
"""

from collections.abc import Callable, Iterator
from typing import assert_never

from sidecar.cli import wording
from sidecar.cli.human import age, duration, moment, size
from sidecar.cli.spans import Line, Span, Tone, said
from sidecar.control.context import Snapshot
from sidecar.core.states import Attempt, AttemptState, Run, RunState, Step, run_proof
from sidecar.store.lease import Holding
from sidecar.store.rundir import LOGS, Stream

_KEY_WIDTH = 11
_INDENT = "  "

LogPath = Callable[[int, int, Stream], str]
"""Step index, attempt number and stream to the path of the log."""


def lines(snapshot: Snapshot, holding: Holding, log_path: LogPath, now: int) -> list[Line]:
    """The page of one run; ``holding`` says whether anybody leads it."""
    run = snapshot.run
    found = list(_about_run(snapshot, holding, now))
    for step in run.steps:
        found.append(())
        found.extend(_about_step(step, log_path, now))
    return found


def _about_run(snapshot: Snapshot, holding: Holding, now: int) -> Iterator[Line]:
    run = snapshot.run
    yield _fact("run", Span(run.run_id, Tone.STRONG))
    if run.label:
        yield _fact("label", said(run.label))
    yield _fact("state", wording.state(run), *_because(run))
    if run.stopping is not None:
        yield _fact("stop", said(wording.stopping(run.stopping)))
    yield _fact("session", said(run.session_id))
    yield _fact("directory", said(run.cwd))
    if run.parent_run_id:
        yield _fact("parent", Span(run.parent_run_id))
    yield _fact("created", *_when(run.created_at, now))
    if run.started_at is not None:
        yield _fact("started", *_when(run.started_at, now))
    if run.ended_at is not None:
        yield _fact("ended", *_when(run.ended_at, now))
    took = wording.took_ms(run, now)
    if took is not None:
        yield _fact("took", Span(duration(took)))
    if run.timeout_ms is not None:
        yield _fact("deadline", Span(duration(run.timeout_ms)), Span(_left(run, now), Tone.DIM))
    yield _fact("proof", *wording.proof(run_proof(run)))
    if not run.is_over:
        yield _fact("runner", _leader(run, holding))
    if run.adoptions:
        yield _fact("adopted", Span(f"{run.adoptions} times" if run.adoptions > 1 else "once"))
    if snapshot.dismissed_at is not None:
        yield _fact("dismissed", *_when(snapshot.dismissed_at, now))
    yield _fact("revision", Span(str(snapshot.revision)))


def _leader(run: Run, holding: Holding) -> Span:
    """Who leads the run.  The pid is for people; whether it still lives is said by the lease."""
    match holding:
        case Holding.FREE:
            return Span("nobody leads it (sidecar wait has it adopted)", Tone.WARN)
        case Holding.UNKNOWN:
            return Span("whether anybody leads it cannot be told", Tone.WARN)
        case Holding.HELD:
            return Span(f"pid {run.leader.pid}" if run.leader is not None else "is being started")
        case _:
            assert_never(holding)


def _because(run: Run) -> Line:
    if run.outcome is None or run.outcome.state is RunState.COMPLETE:
        return ()
    failure = run.outcome.failure
    why = f" ({run.outcome.reason})"
    return (Span(why, Tone.DIM), said(f": {failure.message}" if failure is not None else ""))


def _about_step(step: Step, log_path: LogPath, now: int) -> Iterator[Line]:
    title = step.agent + (f": {step.label}" if step.label else "")
    shown_state = Span(step.state, wording.tone_of(step.state))
    yield _fact(f"step {step.index}", shown_state, Span(", "), said(title))
    if step.timeout_ms is not None:
        yield _detail("deadline", Span(duration(step.timeout_ms)))
    if step.started_at is not None:
        took = (step.ended_at if step.ended_at is not None else now) - step.started_at
        yield _detail("took", Span(duration(took)))
    if step.attempt is not None:
        yield from _about_attempt(step, step.attempt, log_path, now)


def _about_attempt(step: Step, attempt: Attempt, log_path: LogPath, now: int) -> Iterator[Line]:
    number = f", attempt {attempt.number}" if attempt.number > 1 else ""
    if attempt.agent is not None:
        gone = "" if attempt.state in {AttemptState.STARTING, AttemptState.RUNNING} else ", gone"
        yield _detail("agent", Span(f"pid {attempt.agent.pid}{gone}{number}"))
    if attempt.exit is not None:
        yield _detail("exit", *_exit(attempt))
    if attempt.failure is not None:
        yield _detail("failure", said(f"{attempt.failure.code}: {attempt.failure.message}"))
    yield _detail("output", Span(_output(attempt, now)))
    if attempt.preview:
        yield _detail("answer", said(attempt.preview))
    yield _detail("proof", *wording.proof(attempt.proof))
    for stream in LOGS:
        path = log_path(step.index, attempt.number, stream)
        yield _detail(stream, said(path, Tone.DIM, limit=4096))


def _exit(attempt: Attempt) -> Line:
    if attempt.exit is None:
        return ()
    if attempt.exit.signal is not None:
        return (Span(f"signal {attempt.exit.signal}", Tone.BAD),)
    return (Span(f"status {attempt.exit.code}", Tone.BAD if attempt.exit.code else Tone.GOOD),)


def _output(attempt: Attempt, now: int) -> str:
    sizes = f"{size(attempt.stdout_bytes)} stdout, {size(attempt.stderr_bytes)} stderr"
    last = age(attempt.output_at, now) if attempt.output_at is not None else ""
    since = f", last {last if last == 'now' else last + ' ago'}" if last else ""
    cut_off = "" if attempt.output_complete else ", cut off: somebody held it open"
    return sizes + since + cut_off


def _when(at: int, now: int) -> Line:
    ago = age(at, now)
    return (Span(moment(at)), Span(f" ({ago})" if ago == "now" else f" ({ago} ago)", Tone.DIM))


def _left(run: Run, now: int) -> str:
    if run.is_over or run.started_at is None or run.timeout_ms is None:
        return ""
    left = run.started_at + run.timeout_ms - now
    return f" ({duration(left)} left)" if left > 0 else " (passed)"


def _fact(key: str, *spans: Span) -> Line:
    return (Span(key.ljust(_KEY_WIDTH), Tone.DIM), *spans)


def _detail(key: str, *spans: Span) -> Line:
    return (Span(_INDENT + key.ljust(_KEY_WIDTH - len(_INDENT)), Tone.DIM), *spans)
