"""The JSON form of a run's state: status.json, and the parts of it that events share.

One writer and one reader per type, by hand: changing what is on disk has to hurt a little.  Times
are ms since the epoch, and may be anything but negative.

This module must never touch bytes or files, and must never supply a value that is not there.
"""

from sidecar.core.ids import ProcId, is_run_id
from sidecar.core.plan import Mode
from sidecar.core.states import (
    AgentExit,
    Attempt,
    AttemptState,
    Failure,
    Outcome,
    Proof,
    ProofState,
    Run,
    RunState,
    Step,
    StepState,
    StopCause,
    Stopping,
)
from sidecar.store.fields import Fields, Json, present


def read_run_id(form: Fields, name: str = "runId") -> str:
    """A run id in canonical form."""
    run_id = form.text(name)
    if not is_run_id(run_id):
        raise form.damaged(name, "is not a run id")
    return run_id


def read_run_id_or_none(form: Fields, name: str) -> str | None:
    """A run id, if the field is there."""
    return None if form.raw(name) is None else read_run_id(form, name)


# --- processes -----------------------------------------------------------------------------------


def write_process(process: ProcId) -> Json:
    """The form of a process's identity."""
    return {
        "pid": process.pid,
        "startTicks": process.start_ticks,
        "bootId": process.boot_id,
    }


def read_process(form: Fields) -> ProcId:
    """A process's identity."""
    return ProcId(
        pid=form.count("pid", least=1),
        start_ticks=form.count("startTicks"),
        boot_id=form.text("bootId"),
    )


def write_exit(ended: AgentExit) -> Json:
    """The form of a wait status."""
    return present({"code": ended.code, "signal": ended.signal})


def read_exit(form: Fields) -> AgentExit:
    """A wait status."""
    ended = AgentExit(code=form.count_or_none("code"), signal=form.count_or_none("signal", least=1))
    if (ended.code is None) == (ended.signal is None):
        raise form.damaged("", "has not exactly one of code and signal")
    return ended


# --- endings -------------------------------------------------------------------------------------


def write_failure(failure: Failure) -> Json:
    """The form of a failure."""
    return {"code": failure.code, "message": failure.message}


def read_failure(form: Fields) -> Failure:
    """A failure."""
    return Failure(code=form.text("code"), message=form.text("message"))


def write_outcome(outcome: Outcome) -> Json:
    """The form of an outcome."""
    failure = outcome.failure
    return present(
        {
            "state": outcome.state.value,
            "reason": outcome.reason,
            "failure": None if failure is None else write_failure(failure),
        }
    )


def read_outcome(form: Fields) -> Outcome:
    """An outcome."""
    failure = form.inner_or_none("failure")
    return Outcome(
        state=form.word("state", RunState),
        reason=form.text("reason"),
        failure=None if failure is None else read_failure(failure),
    )


def write_proof(proof: Proof) -> Json:
    """The form of a proof."""
    return present(
        {
            "state": proof.state.value,
            "mechanism": proof.mechanism,
            "verifiedAt": proof.verified_at,
            "killed": proof.killed,
            "reason": proof.reason,
            "detail": proof.detail,
        }
    )


def read_proof(form: Fields) -> Proof:
    """A proof."""
    return Proof(
        state=form.word("state", ProofState),
        mechanism=form.text_or_none("mechanism"),
        verified_at=form.count_or_none("verifiedAt"),
        killed=form.count_or_none("killed"),
        reason=form.text_or_none("reason"),
        detail=form.text_or_none("detail"),
    )


def _write_stopping(stopping: Stopping) -> Json:
    return present(
        {
            "cause": stopping.cause.value,
            "requestedAt": stopping.requested_at,
            "client": stopping.client,
            "reason": stopping.reason,
            "graceMs": stopping.grace_ms,
        }
    )


def _read_stopping(form: Fields) -> Stopping:
    return Stopping(
        cause=form.word("cause", StopCause),
        requested_at=form.count("requestedAt"),
        client=form.text_or_none("client"),
        reason=form.text_or_none("reason"),
        grace_ms=form.count("graceMs"),
    )


# --- attempts, steps, runs -----------------------------------------------------------------------


def _write_attempt(attempt: Attempt) -> Json:
    return present(
        {
            "number": attempt.number,
            "state": attempt.state.value,
            "startedAt": attempt.started_at,
            "agent": None if attempt.agent is None else write_process(attempt.agent),
            "exit": None if attempt.exit is None else write_exit(attempt.exit),
            "failure": None if attempt.failure is None else write_failure(attempt.failure),
            "proof": write_proof(attempt.proof),
            "stdoutBytes": attempt.stdout_bytes,
            "stderrBytes": attempt.stderr_bytes,
            "outputAt": attempt.output_at,
            "outputComplete": attempt.output_complete,
            "preview": attempt.preview,
        }
    )


def _read_attempt(form: Fields) -> Attempt:
    agent = form.inner_or_none("agent")
    ended = form.inner_or_none("exit")
    failure = form.inner_or_none("failure")
    return Attempt(
        number=form.count("number", least=1),
        state=form.word("state", AttemptState),
        started_at=form.count("startedAt"),
        agent=None if agent is None else read_process(agent),
        exit=None if ended is None else read_exit(ended),
        failure=None if failure is None else read_failure(failure),
        proof=read_proof(form.inner("proof")),
        stdout_bytes=form.count("stdoutBytes"),
        stderr_bytes=form.count("stderrBytes"),
        output_at=form.count_or_none("outputAt"),
        output_complete=form.flag("outputComplete"),
        preview=form.text("preview"),
    )


def _write_step(step: Step) -> Json:
    return present(
        {
            "index": step.index,
            "id": step.id,
            "agent": step.agent,
            "label": step.label,
            "timeoutMs": step.timeout_ms,
            "state": step.state.value,
            "attempt": None if step.attempt is None else _write_attempt(step.attempt),
            "startedAt": step.started_at,
            "endedAt": step.ended_at,
            "outcome": None if step.outcome is None else write_outcome(step.outcome),
        }
    )


def _read_step(form: Fields) -> Step:
    attempt = form.inner_or_none("attempt")
    outcome = form.inner_or_none("outcome")
    return Step(
        index=form.count("index"),
        id=form.text("id"),
        agent=form.text("agent"),
        label=form.text_or_none("label"),
        timeout_ms=form.count_or_none("timeoutMs"),
        state=form.word("state", StepState),
        attempt=None if attempt is None else _read_attempt(attempt),
        started_at=form.count_or_none("startedAt"),
        ended_at=form.count_or_none("endedAt"),
        outcome=None if outcome is None else read_outcome(outcome),
    )


def write_run(run: Run) -> Json:
    """The form of a whole state."""
    return present(
        {
            "runId": run.run_id,
            "seq": run.seq,
            "state": run.state.value,
            "mode": run.mode.value,
            "sessionId": run.session_id,
            "cwd": run.cwd,
            "label": run.label,
            "parentRunId": run.parent_run_id,
            "timeoutMs": run.timeout_ms,
            "createdAt": run.created_at,
            "updatedAt": run.updated_at,
            "startedAt": run.started_at,
            "endedAt": run.ended_at,
            "leader": None if run.leader is None else write_process(run.leader),
            "adoptions": run.adoptions,
            "stopping": None if run.stopping is None else _write_stopping(run.stopping),
            "outcome": None if run.outcome is None else write_outcome(run.outcome),
            "steps": [_write_step(step) for step in run.steps],
        }
    )


def read_run(form: Fields) -> Run:
    """A whole state, consistent as far as its readers rely on it."""
    leader = form.inner_or_none("leader")
    stopping = form.inner_or_none("stopping")
    outcome = form.inner_or_none("outcome")
    run = Run(
        run_id=read_run_id(form),
        seq=form.count("seq", least=1),
        state=form.word("state", RunState),
        mode=form.word("mode", Mode),
        session_id=form.text("sessionId"),
        cwd=form.text("cwd"),
        label=form.text_or_none("label"),
        parent_run_id=read_run_id_or_none(form, "parentRunId"),
        timeout_ms=form.count_or_none("timeoutMs"),
        created_at=form.count("createdAt"),
        updated_at=form.count("updatedAt"),
        started_at=form.count_or_none("startedAt"),
        ended_at=form.count_or_none("endedAt"),
        leader=None if leader is None else read_process(leader),
        adoptions=form.count("adoptions"),
        stopping=None if stopping is None else _read_stopping(stopping),
        outcome=None if outcome is None else read_outcome(outcome),
        steps=tuple(_read_step(step) for step in form.inners("steps")),
    )
    if any(step.index != place for place, step in enumerate(run.steps)):
        raise form.damaged("steps", "are not numbered in order")
    if run.is_over and (run.outcome is None or run.ended_at is None):
        raise form.damaged("outcome", "or the end is missing although the run is over")
    return run
