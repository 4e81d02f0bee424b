"""The JSON form of events: the lines of events.jsonl.

``kind`` and the field names are for ever; a new event is a new kind.

This module must never touch bytes or files, and must never let an unknown kind pass: whoever folds
a log must know everything in it.
"""

from typing import assert_never

from sidecar.core.events import (
    AgentExited,
    AgentSpawned,
    DeadlinePassed,
    Event,
    OutputDrained,
    OutputSeen,
    PlannedStep,
    Recorded,
    ResultStored,
    RunLaunched,
    RunnerLost,
    RunnerStarted,
    SpawnFailed,
    StopRequested,
    TreeEnded,
    WardenLost,
)
from sidecar.core.plan import Mode
from sidecar.core.states import StopCause
from sidecar.store.fields import Fields, Json, present
from sidecar.store.state_form import (
    read_exit,
    read_failure,
    read_outcome,
    read_process,
    read_proof,
    read_run_id,
    read_run_id_or_none,
    write_exit,
    write_failure,
    write_outcome,
    write_process,
    write_proof,
)


def write_recorded(recorded: Recorded) -> Json:
    """The form of an event with its place in the log."""
    event = recorded.event
    place: Json = {"seq": recorded.seq, "at": recorded.at, "kind": event.kind}
    return place | present(_write_event(event))


def read_recorded(form: Fields) -> Recorded:
    """An event with its place in the log."""
    return Recorded(
        seq=form.count("seq", least=1),
        at=form.count("at"),
        event=_read_event(form),
    )


def _write_event(event: Event) -> Json:  # noqa: C901 - one branch per kind
    match event:
        case RunLaunched():
            return _write_launched(event)
        case RunnerStarted():
            return {"runner": write_process(event.runner), "adopted": event.adopted}
        case StopRequested():
            return {
                "cause": event.cause.value,
                "client": event.client,
                "reason": event.reason,
                "graceMs": event.grace_ms,
                "commandId": event.command_id,
            }
        case DeadlinePassed():
            return {"step": event.step, "timeoutMs": event.timeout_ms}
        case ResultStored():
            return {"outcome": write_outcome(event.outcome)}
        case _:
            attempt: Json = {"step": event.step, "attempt": event.attempt}
    match event:
        case AgentSpawned():
            return attempt | {"agent": write_process(event.agent)}
        case SpawnFailed() | RunnerLost():
            return attempt | {"failure": write_failure(event.failure)}
        case OutputSeen():
            return attempt | _write_totals(event)
        case AgentExited():
            return attempt | {"exit": write_exit(event.exit)}
        case OutputDrained():
            end: Json = {"complete": event.complete, "preview": event.preview}
            return attempt | _write_totals(event) | end
        case TreeEnded():
            return attempt | {"proof": write_proof(event.proof)}
        case WardenLost():
            return attempt
        case _:
            assert_never(event)


def _read_event(form: Fields) -> Event:
    kind = form.text("kind")
    match kind:
        case RunLaunched.kind:
            return _read_launched(form)
        case RunnerStarted.kind:
            return RunnerStarted(
                runner=read_process(form.inner("runner")), adopted=form.flag("adopted")
            )
        case StopRequested.kind:
            return StopRequested(
                cause=form.word("cause", StopCause),
                client=form.text_or_none("client"),
                reason=form.text_or_none("reason"),
                grace_ms=form.count("graceMs"),
                command_id=form.text_or_none("commandId"),
            )
        case DeadlinePassed.kind:
            return DeadlinePassed(
                step=form.count_or_none("step"), timeout_ms=form.count("timeoutMs")
            )
        case ResultStored.kind:
            return ResultStored(outcome=read_outcome(form.inner("outcome")))
        case _:
            return _read_attempt_event(kind, form)


def _read_attempt_event(kind: str, form: Fields) -> Event:
    step, attempt = form.count("step"), form.count("attempt", least=1)
    match kind:
        case AgentSpawned.kind:
            return AgentSpawned(step=step, attempt=attempt, agent=read_process(form.inner("agent")))
        case SpawnFailed.kind:
            failure = read_failure(form.inner("failure"))
            return SpawnFailed(step=step, attempt=attempt, failure=failure)
        case OutputSeen.kind:
            return OutputSeen(
                step=step,
                attempt=attempt,
                stdout_bytes=form.count("stdoutBytes"),
                stderr_bytes=form.count("stderrBytes"),
            )
        case AgentExited.kind:
            return AgentExited(step=step, attempt=attempt, exit=read_exit(form.inner("exit")))
        case OutputDrained.kind:
            return OutputDrained(
                step=step,
                attempt=attempt,
                stdout_bytes=form.count("stdoutBytes"),
                stderr_bytes=form.count("stderrBytes"),
                complete=form.flag("complete"),
                preview=form.text("preview"),
            )
        case TreeEnded.kind:
            return TreeEnded(step=step, attempt=attempt, proof=read_proof(form.inner("proof")))
        case WardenLost.kind:
            return WardenLost(step=step, attempt=attempt)
        case RunnerLost.kind:
            failure = read_failure(form.inner("failure"))
            return RunnerLost(step=step, attempt=attempt, failure=failure)
        case _:
            raise form.damaged("kind", "is not a kind of event")


def _write_totals(event: OutputSeen | OutputDrained) -> Json:
    return {"stdoutBytes": event.stdout_bytes, "stderrBytes": event.stderr_bytes}


def _write_launched(event: RunLaunched) -> Json:
    return {
        "runId": event.run_id,
        "mode": event.mode.value,
        "sessionId": event.session_id,
        "cwd": event.cwd,
        "label": event.label,
        "parentRunId": event.parent_run_id,
        "timeoutMs": event.timeout_ms,
        "steps": [
            present(
                {
                    "id": step.id,
                    "agent": step.agent,
                    "label": step.label,
                    "timeoutMs": step.timeout_ms,
                }
            )
            for step in event.steps
        ],
    }


def _read_launched(form: Fields) -> RunLaunched:
    return RunLaunched(
        run_id=read_run_id(form),
        mode=form.word("mode", Mode),
        session_id=form.text("sessionId"),
        cwd=form.text("cwd"),
        label=form.text_or_none("label"),
        parent_run_id=read_run_id_or_none(form, "parentRunId"),
        timeout_ms=form.count_or_none("timeoutMs"),
        steps=tuple(
            PlannedStep(
                id=step.text("id"),
                agent=step.text("agent"),
                label=step.text_or_none("label"),
                timeout_ms=step.count_or_none("timeoutMs"),
            )
            for step in form.inners("steps")
        ),
    )
