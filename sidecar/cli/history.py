"""The history of a run, one line an event: for people who want to know what happened when.

This module must never show more than the event holds.
"""

import time
from typing import assert_never

from sidecar.cli.human import duration, size
from sidecar.cli.spans import Line, Span, Tone, said
from sidecar.cli.wording import proof
from sidecar.core import events
from sidecar.core.events import Event, Recorded
from sidecar.core.lifecycle import AttemptEvent
from sidecar.core.states import AgentExit

_SEQ_WIDTH = 4
_KIND_WIDTH = 16


def line(recorded: Recorded) -> Line:
    """One event: its number, its time of day, what it is, and what it says."""
    return (
        Span(f"{recorded.seq:>{_SEQ_WIDTH}}  ", Tone.DIM),
        Span(f"{_time_of_day(recorded.at)}  ", Tone.DIM),
        Span(recorded.event.kind.ljust(_KIND_WIDTH) + "  "),
        *_said(recorded.event),
    )


def _time_of_day(at: int) -> str:
    return f"{time.strftime('%H:%M:%S', time.localtime(at / 1000))}.{at % 1000:03}"


def _said(event: Event) -> Line:
    match event:
        case events.RunLaunched():
            n_steps = len(event.steps)
            steps = f", {n_steps} steps" if n_steps > 1 else ""
            return (said(f"{event.mode}{steps} in {event.cwd}"),)
        case events.RunnerStarted():
            return (Span(f"pid {event.runner.pid}{', adopted' if event.adopted else ''}"),)
        case events.StopRequested():
            who = f" ({event.client})" if event.client else ""
            why = f": {event.reason}" if event.reason else ""
            return (said(f"{event.cause}{who}, grace {duration(event.grace_ms)}{why}"),)
        case events.DeadlinePassed():
            which = "run" if event.step is None else f"step {event.step}"
            return (Span(f"{which}, after {duration(event.timeout_ms)}", Tone.WARN),)
        case events.ResultStored():
            return (
                Span(event.outcome.state),
                Span(" "),
                said(f"({event.outcome.reason})", Tone.DIM),
            )
        case _:
            number = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return (Span(f"step {event.step}{number}: ", Tone.DIM), *_of_attempt(event))


def _of_attempt(event: AttemptEvent) -> Line:
    match event:
        case events.AgentSpawned():
            return (Span(f"pid {event.agent.pid}"),)
        case events.SpawnFailed() | events.RunnerLost():
            return (said(f"{event.failure.code}: {event.failure.message}", Tone.BAD),)
        case events.OutputSeen():
            return (Span(_sizes(event.stdout_bytes, event.stderr_bytes), Tone.DIM),)
        case events.AgentExited():
            return (_exit(event.exit),)
        case events.OutputDrained():
            given_up = "" if event.complete else ", given up: somebody held it open"
            return (Span(_sizes(event.stdout_bytes, event.stderr_bytes) + given_up),)
        case events.TreeEnded():
            return proof(event.proof)
        case events.WardenLost():
            return (Span("the warden vanished", Tone.BAD),)
        case _:
            assert_never(event)


def _sizes(stdout_bytes: int, stderr_bytes: int) -> str:
    return f"{size(stdout_bytes)} stdout, {size(stderr_bytes)} stderr"


def _exit(exited: AgentExit) -> Span:
    if exited.signal is not None:
        return Span(f"signal {exited.signal}", Tone.BAD)
    return Span(f"status {exited.code}", Tone.BAD if exited.code else Tone.GOOD)
