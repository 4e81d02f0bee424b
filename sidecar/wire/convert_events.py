"""Recorded events to their views, one branch for each kind; see ``wire.convert`` for the rules.

This module must never leave out a kind: the matches are over the closed set of ``core.events``.
"""

from typing import assert_never

from sidecar.core import events, text
from sidecar.core.events import Recorded
from sidecar.core.ids import ProcId
from sidecar.core.lifecycle import AttemptEvent
from sidecar.wire import event_views as views
from sidecar.wire.convert import failure_view, outcome_error, proof_view, said, shown_path

RunEvent = (
    events.RunLaunched
    | events.RunnerStarted
    | events.StopRequested
    | events.DeadlinePassed
    | events.ResultStored
)


def event_view(recorded: Recorded) -> views.EventView:
    """One entry of a run's history as clients see it."""
    event = recorded.event
    if isinstance(event, RunEvent):
        return _run_event_view(event, seq=recorded.seq, at=recorded.at)
    return _attempt_event_view(event, seq=recorded.seq, at=recorded.at)


def _run_event_view(event: RunEvent, *, seq: int, at: int) -> views.EventView:
    match event:
        case events.RunLaunched():
            return _launched_view(event, seq=seq, at=at)
        case events.RunnerStarted():
            return views.RunnerStartedEvent(
                seq=seq, at=at, runner=_process_view(event.runner), adopted=event.adopted
            )
        case events.StopRequested():
            return views.StopRequestedEvent(
                seq=seq,
                at=at,
                cause=event.cause,
                client=said(event.client),
                reason=said(event.reason),
                grace_ms=event.grace_ms,
                command_id=event.command_id,
            )
        case events.DeadlinePassed():
            return views.DeadlinePassedEvent(
                seq=seq, at=at, step=event.step, timeout_ms=event.timeout_ms
            )
        case events.ResultStored():
            return views.ResultStoredEvent(
                seq=seq,
                at=at,
                state=event.outcome.state,
                reason=event.outcome.reason,
                error=outcome_error(event.outcome),
            )
        case _:
            assert_never(event)


def _attempt_event_view(event: AttemptEvent, *, seq: int, at: int) -> views.EventView:
    step, attempt = event.step, event.attempt
    match event:
        case events.AgentSpawned():
            return views.AgentSpawnedEvent(
                seq=seq, at=at, step=step, attempt=attempt, agent=_process_view(event.agent)
            )
        case events.SpawnFailed():
            return views.SpawnFailedEvent(
                seq=seq, at=at, step=step, attempt=attempt, error=failure_view(event.failure)
            )
        case events.OutputSeen():
            return views.OutputSeenEvent(
                seq=seq,
                at=at,
                step=step,
                attempt=attempt,
                stdout_bytes=event.stdout_bytes,
                stderr_bytes=event.stderr_bytes,
            )
        case events.AgentExited():
            return views.AgentExitedEvent(
                seq=seq,
                at=at,
                step=step,
                attempt=attempt,
                exit_code=event.exit.code,
                signal=event.exit.signal,
            )
        case events.OutputDrained():
            return views.OutputDrainedEvent(
                seq=seq,
                at=at,
                step=step,
                attempt=attempt,
                stdout_bytes=event.stdout_bytes,
                stderr_bytes=event.stderr_bytes,
                complete=event.complete,
                answer_preview=text.one_line(event.preview) or None,
            )
        case events.TreeEnded():
            return views.TreeEndedEvent(
                seq=seq, at=at, step=step, attempt=attempt, proof=proof_view(event.proof)
            )
        case events.WardenLost():
            return views.WardenLostEvent(seq=seq, at=at, step=step, attempt=attempt)
        case events.RunnerLost():
            return views.RunnerLostEvent(
                seq=seq, at=at, step=step, attempt=attempt, error=failure_view(event.failure)
            )
        case _:
            assert_never(event)


def _launched_view(event: events.RunLaunched, *, seq: int, at: int) -> views.RunLaunchedEvent:
    return views.RunLaunchedEvent(
        seq=seq,
        at=at,
        run_id=event.run_id,
        mode=event.mode,
        session_id=text.plain(event.session_id),
        cwd=shown_path(event.cwd),
        label=said(event.label),
        parent_run_id=said(event.parent_run_id),
        timeout_ms=event.timeout_ms,
        steps=tuple(
            views.PlannedStepView(
                id=text.one_line(planned.id),
                agent=text.one_line(planned.agent),
                label=said(planned.label),
                timeout_ms=planned.timeout_ms,
            )
            for planned in event.steps
        ),
    )


def _process_view(process: ProcId) -> views.ProcessView:
    return views.ProcessView(
        pid=process.pid, start_ticks=process.start_ticks, boot_id=process.boot_id
    )
