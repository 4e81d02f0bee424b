"""How a run or a step ended: the one place where that is decided.

The order is: rejected, stopped, failed, paused, complete.  Both faces of a run, status and result,
carry what is decided here and never decide again.

This module must never be asked before every attempt concerned is settled.
"""

from typing import assert_never

from sidecar.core.errors import Bug
from sidecar.core.states import (
    Attempt,
    Failure,
    Outcome,
    Run,
    RunState,
    Step,
    StepState,
    StopCause,
    Stopping,
)

COMPLETED = Outcome(state=RunState.COMPLETE, reason="completed")


def stopped_by(stopping: Stopping, timeout_ms: int | None) -> Outcome:
    """The outcome of a run whose stop was accepted; a deadline or a budget is a failure."""
    match stopping.cause:
        case StopCause.USER:
            return Outcome(state=RunState.STOPPED, reason="stopped-by-user")
        case StopCause.PARENT:
            return Outcome(state=RunState.STOPPED, reason="parent-ended")
        case StopCause.SIGNAL:
            return Outcome(state=RunState.STOPPED, reason="runner-terminated")
        case StopCause.REPAIR:
            return Outcome(state=RunState.STOPPED, reason="stopped-by-repair")
        case StopCause.DEADLINE:
            message = "the deadline passed" + (f" after {timeout_ms} ms" if timeout_ms else "")
            return _failed(Failure(code="deadline", message=message))
        case StopCause.BUDGET:
            return _failed(Failure(code="budget", message=stopping.reason or "a budget is used up"))
        case _:
            assert_never(stopping.cause)


def of_step(run: Run, step: Step, attempt: Attempt) -> Outcome:
    """The outcome of a step whose last attempt is settled."""
    if run.stopping is not None:
        return stopped_by(run.stopping, step.timeout_ms or run.timeout_ms)
    return of_attempt(attempt)


def of_attempt(attempt: Attempt) -> Outcome:
    """The outcome of one settled attempt that nobody stopped."""
    if attempt.failure is not None:
        return _failed(attempt.failure)
    if attempt.exit is None:
        return _failed(Failure(code="warden-lost", message="the exit status was never collected"))
    if attempt.exit.signal is not None:
        return _failed(
            Failure(code="signal", message=f"the agent was ended by signal {attempt.exit.signal}")
        )
    if attempt.exit.code:
        return _failed(
            Failure(code="exit-status", message=f"the agent exited with {attempt.exit.code}")
        )
    return COMPLETED


def of_run(run: Run) -> Outcome:
    """The outcome of a run that has nothing left to do."""
    if run.stopping is not None:
        return stopped_by(run.stopping, run.timeout_ms or _longest_step_timeout(run))
    for step in run.steps:
        if step.outcome is None:
            raise Bug(f"run {run.run_id} is judged while step {step.index} is {step.state}")
        if step.outcome.state is not RunState.COMPLETE:
            return step.outcome
    return COMPLETED


def step_state(outcome: Outcome) -> StepState:
    """The state of a step that ended so."""
    match outcome.state:
        case RunState.COMPLETE:
            return StepState.COMPLETE
        case RunState.FAILED:
            return StepState.FAILED
        case RunState.STOPPED:
            return StepState.STOPPED
        case RunState.REJECTED:
            return StepState.REJECTED
        case RunState.PAUSED:
            return StepState.PAUSED
        case RunState.QUEUED | RunState.RUNNING:
            raise Bug(f"not an outcome: {outcome.state}")
        case _:
            assert_never(outcome.state)


def _failed(failure: Failure) -> Outcome:
    return Outcome(state=RunState.FAILED, reason=failure.code, failure=failure)


def _longest_step_timeout(run: Run) -> int | None:
    return max((step.timeout_ms or 0 for step in run.steps), default=0) or None
