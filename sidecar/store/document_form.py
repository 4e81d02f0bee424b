"""The JSON form of what is written once: requests, results, commands, dismissals.

A request is the only document that holds prompts, command lines and environments.

This module must never touch bytes or files, and must never supply a value that is not there.
"""

from sidecar.core.commands import Command, StopCommand
from sidecar.core.dismissal import Dismissal
from sidecar.core.plan import Launch, Mode, StepRequest
from sidecar.core.result import RunResult, StepResult
from sidecar.core.states import StepState, StopCause
from sidecar.store.fields import Fields, Json, present
from sidecar.store.state_form import (
    read_exit,
    read_failure,
    read_outcome,
    read_proof,
    read_run_id,
    read_run_id_or_none,
    write_exit,
    write_failure,
    write_outcome,
    write_proof,
)


def write_launch(launch: Launch) -> Json:
    """The form of a request.  ``env`` is a list of pairs: its order is the caller's."""
    return present(
        {
            "runId": launch.run_id,
            "sessionId": launch.session_id,
            "cwd": launch.cwd,
            "mode": launch.mode.value,
            "label": launch.label,
            "timeoutMs": launch.timeout_ms,
            "parentRunId": launch.parent_run_id,
            "clientToken": launch.client_token,
            "createdAt": launch.created_at,
            "meta": launch.meta,
            "steps": [_write_step_request(step) for step in launch.steps],
            "env": launch.env,
        }
    )


def read_launch(form: Fields) -> Launch:
    """A request."""
    meta = form.raw("meta")
    if meta is not None and not isinstance(meta, dict):
        raise form.damaged("meta", "is not an object")
    steps = tuple(_read_step_request(step) for step in form.inners("steps"))
    if not steps:
        raise form.damaged("steps", "are missing")
    return Launch(
        run_id=read_run_id(form),
        session_id=form.text("sessionId"),
        cwd=form.text("cwd"),
        mode=form.word("mode", Mode),
        steps=steps,
        label=form.text_or_none("label"),
        env=form.pairs("env"),
        timeout_ms=form.count_or_none("timeoutMs"),
        parent_run_id=read_run_id_or_none(form, "parentRunId"),
        client_token=form.text_or_none("clientToken"),
        meta=meta,
        created_at=form.count("createdAt"),
    )


def _write_step_request(step: StepRequest) -> Json:
    return present(
        {
            "agent": step.agent,
            "label": step.label,
            "command": step.command,
            "shell": step.shell,
            "cwd": step.cwd,
            "timeoutMs": step.timeout_ms,
            "env": step.env,
            "prompt": step.prompt,
        }
    )


def _read_step_request(form: Fields) -> StepRequest:
    return StepRequest(
        agent=form.text("agent"),
        label=form.text_or_none("label"),
        prompt=form.text_or_none("prompt"),
        command=None if form.raw("command") is None else form.texts("command"),
        shell=form.text_or_none("shell"),
        cwd=form.text_or_none("cwd"),
        env=form.pairs("env"),
        timeout_ms=form.count_or_none("timeoutMs"),
    )


def write_result(result: RunResult) -> Json:
    """The form of a result."""
    return {
        "runId": result.run_id,
        "outcome": write_outcome(result.outcome),
        "endedAt": result.ended_at,
        "durationMs": result.duration_ms,
        "proof": write_proof(result.proof),
        "steps": [_write_step_result(step) for step in result.steps],
    }


def read_result(form: Fields) -> RunResult:
    """A result."""
    return RunResult(
        run_id=read_run_id(form),
        outcome=read_outcome(form.inner("outcome")),
        ended_at=form.count("endedAt"),
        duration_ms=form.count("durationMs"),
        proof=read_proof(form.inner("proof")),
        steps=tuple(_read_step_result(step) for step in form.inners("steps")),
    )


def _write_step_result(step: StepResult) -> Json:
    return present(
        {
            "index": step.index,
            "id": step.id,
            "agent": step.agent,
            "label": step.label,
            "state": step.state.value,
            "reason": step.reason,
            "failure": None if step.failure is None else write_failure(step.failure),
            "exit": None if step.exit is None else write_exit(step.exit),
            "answer": step.answer,
            "answerTruncated": step.answer_truncated,
            "stdoutBytes": step.stdout_bytes,
            "stderrBytes": step.stderr_bytes,
            "stderrTail": step.stderr_tail,
            "proof": write_proof(step.proof),
        }
    )


def _read_step_result(form: Fields) -> StepResult:
    failure = form.inner_or_none("failure")
    ended = form.inner_or_none("exit")
    return StepResult(
        index=form.count("index"),
        id=form.text("id"),
        agent=form.text("agent"),
        label=form.text_or_none("label"),
        state=form.word("state", StepState),
        reason=form.text_or_none("reason"),
        failure=None if failure is None else read_failure(failure),
        exit=None if ended is None else read_exit(ended),
        answer=form.text("answer"),
        answer_truncated=form.flag("answerTruncated"),
        stdout_bytes=form.count("stdoutBytes"),
        stderr_bytes=form.count("stderrBytes"),
        stderr_tail=form.text("stderrTail"),
        proof=read_proof(form.inner("proof")),
    )


def write_command(command: Command) -> Json:
    """The form of a command."""
    return present(
        {
            "kind": command.kind,
            "cause": command.cause.value,
            "client": command.client,
            "reason": command.reason,
            "graceMs": command.grace_ms,
            "at": command.at,
        }
    )


def read_command(form: Fields) -> Command:
    """A command; an unknown kind is damage, since it cannot be carried out."""
    if form.text("kind") != StopCommand.kind:
        raise form.damaged("kind", "is not a kind of command")
    return StopCommand(
        cause=form.word("cause", StopCause),
        client=form.text_or_none("client"),
        reason=form.text_or_none("reason"),
        grace_ms=form.count("graceMs"),
        at=form.count("at"),
    )


def write_dismissal(dismissal: Dismissal) -> Json:
    """The form of a dismissal."""
    return {
        "dismissed": dismissal.dismissed,
        "changes": dismissal.changes,
        "at": dismissal.at,
        "atSeq": dismissal.at_seq,
    }


def read_dismissal(form: Fields) -> Dismissal:
    """A dismissal."""
    return Dismissal(
        dismissed=form.flag("dismissed"),
        changes=form.count("changes"),
        at=form.count("at"),
        at_seq=form.count("atSeq"),
    )
