"""How one run is told in words: its state, its reason, its proof, its name.

The command line of a run is part of its request and may hold secrets: it is never shown.

This module must never decide what a state is, only how it reads.
"""

from collections.abc import Sequence

from sidecar.cli.human import duration
from sidecar.cli.spans import Line, Span, Tone, said
from sidecar.core.ids import RUN_ID_LENGTH
from sidecar.core.states import Proof, ProofState, Run, RunState, StepState, Stopping

# Where a UUIDv7 may be cut.  The first length ends its timestamp in ms: two runs that share it
# were launched in the same millisecond, and a person's prefix stays unique tomorrow.
_ID_LENGTHS = (13, 18, 23, RUN_ID_LENGTH)

_SAID_BY_THE_STATE = frozenset({"completed", "stopped-by-user"})

_TONES: dict[str, Tone] = {
    RunState.QUEUED: Tone.DIM,
    RunState.RUNNING: Tone.BUSY,
    RunState.PAUSED: Tone.WARN,
    RunState.COMPLETE: Tone.GOOD,
    RunState.FAILED: Tone.BAD,
    RunState.STOPPED: Tone.WARN,
    RunState.REJECTED: Tone.BAD,
    StepState.PENDING: Tone.DIM,
    StepState.SKIPPED: Tone.DIM,
}


def id_length(run_ids: Sequence[str]) -> int:
    """How many characters of these ids tell them apart, cut where a reader sees a break."""
    return next(
        length
        for length in _ID_LENGTHS
        if length == RUN_ID_LENGTH or len({run_id[:length] for run_id in run_ids}) == len(run_ids)
    )


def tone_of(state: RunState | StepState) -> Tone:
    """The tone of a state."""
    return _TONES[state]


def state(run: Run) -> Span:
    """The run's state in one word; a live run whose stop was accepted is ``stopping``."""
    if run.stopping is not None and not run.is_over:
        return Span("stopping", Tone.WARN)
    return Span(run.state, tone_of(run.state))


def name(run: Run) -> Span:
    """What the run is called: its label, else the agents of its steps."""
    label = run.label or next((step.label for step in run.steps if step.label), None)
    if label:
        return said(label)
    agents = dict.fromkeys(step.agent for step in run.steps)
    return said("+".join(agents), Tone.DIM)


def reason(run: Run) -> str:
    """Why the run ended, or is ending, as its stable code; nothing if it simply completed."""
    if run.outcome is not None:
        return "" if run.outcome.state is RunState.COMPLETE else run.outcome.reason
    return f"stop-by-{run.stopping.cause}" if run.stopping is not None else ""


def steps(run: Run) -> str:
    """How many of its steps are over, of how many."""
    return f"{sum(step.outcome is not None for step in run.steps)}/{len(run.steps)}"


def took_ms(run: Run, now: int) -> int | None:
    """How long the run has been going, or went, in ms; ``None`` if it never started."""
    if run.started_at is None:
        return None
    return max(0, (run.ended_at if run.ended_at is not None else now) - run.started_at)


def proof(proven: Proof) -> Line:
    """What is known of the absence of a process tree."""
    match proven.state:
        case ProofState.PENDING:
            return (Span("pending", Tone.DIM),)
        case ProofState.NOT_STARTED:
            return (Span("nothing was ever started", Tone.GOOD),)
        case ProofState.OBSERVED:
            killed = f", {proven.killed} had to be killed" if proven.killed else ""
            how = f" (by {proven.mechanism})" if proven.mechanism else ""
            return (
                Span("nothing is left", Tone.GOOD),
                Span(f"{how}{killed}", Tone.DIM),
            )
        case ProofState.UNKNOWN:
            why = ": ".join(part for part in (proven.reason, proven.detail) if part)
            return (Span("unknown", Tone.BAD), said(f": {why}" if why else "", Tone.DIM))


def stopping(stop: Stopping) -> str:
    """Who asked for the stop, and what they said."""
    who = f" ({stop.client})" if stop.client else ""
    said_so = f": {stop.reason}" if stop.reason else ""
    return f"{stop.cause}{who}, grace {duration(stop.grace_ms)}{said_so}"


def ending(run: Run, shown_id: str, now: int) -> Line:
    """One line for the end of a run that somebody waited for."""
    took = took_ms(run, now)
    spans = [Span(f"{shown_id} ", Tone.PLAIN), state(run)]
    if took is not None:
        spans.append(Span(f" after {duration(took)}"))
    if run.outcome is not None and run.outcome.reason not in _SAID_BY_THE_STATE:
        failure = run.outcome.failure
        spans.append(said(f": {failure.message if failure else run.outcome.reason}"))
    return tuple(spans)
