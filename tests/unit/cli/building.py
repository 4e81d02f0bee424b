"""Runs as they may lie on disk, for tests of how they are shown."""

from dataclasses import replace

from sidecar.control.context import Snapshot
from sidecar.core.dismissal import NEVER, Dismissal
from sidecar.core.ids import ProcId, new_run_id
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

NOW = 1_700_000_000_000
GONE = Proof(state=ProofState.OBSERVED, mechanism="subreaper", verified_at=NOW, killed=0)
AGENT = ProcId(pid=4711, start_ticks=1, boot_id="boot")


def run_id_at(created_at: int, number: int = 0) -> str:
    """A run id of that moment; ``number`` tells those of one moment apart."""
    return new_run_id(created_at, bytes(6) + number.to_bytes(4, "big"))


def running(*, created_at: int = NOW - 60_000, number: int = 0, label: str | None = None) -> Run:
    """A run whose agent lives since it was created."""
    attempt = Attempt(
        number=1,
        state=AttemptState.RUNNING,
        started_at=created_at,
        agent=AGENT,
        stdout_bytes=2048,
        output_at=NOW - 3000,
    )
    step = Step(
        index=0,
        id="step",
        agent="command",
        label=None,
        timeout_ms=None,
        state=StepState.RUNNING,
        attempt=attempt,
        started_at=created_at,
    )
    return Run(
        run_id=run_id_at(created_at, number),
        seq=3,
        state=RunState.RUNNING,
        mode=Mode.SINGLE,
        session_id="folder-1",
        cwd="/project",
        label=label,
        parent_run_id=None,
        timeout_ms=None,
        created_at=created_at,
        updated_at=created_at,
        started_at=created_at,
        leader=ProcId(pid=4700, start_ticks=1, boot_id="boot"),
        steps=(step,),
    )


def over(
    state: RunState,
    reason: str,
    *,
    exited: AgentExit | None = None,
    message: str | None = None,
    proof: Proof = GONE,
    run: Run | None = None,
    preview: str = "",
) -> Run:
    """A run that ended so, 10 s before ``NOW``."""
    run = run or running()
    failure = Failure(code=reason, message=message) if message else None
    outcome = Outcome(state=state, reason=reason, failure=failure)
    (step,) = run.steps
    assert step.attempt is not None
    attempt = replace(
        step.attempt, state=AttemptState.SETTLED, exit=exited, proof=proof, preview=preview
    )
    step = replace(
        step, state=StepState(state), attempt=attempt, ended_at=NOW - 10_000, outcome=outcome
    )
    return replace(run, state=state, outcome=outcome, ended_at=NOW - 10_000, steps=(step,))


def complete(*, run: Run | None = None, preview: str = "") -> Run:
    """A run whose agent exited with 0."""
    return over(RunState.COMPLETE, "completed", exited=AgentExit(code=0), run=run, preview=preview)


def stopping(*, reason: str | None = None, client: str | None = "nvim") -> Run:
    """A live run whose stop was accepted."""
    stop = Stopping(
        cause=StopCause.USER,
        requested_at=NOW - 500,
        client=client,
        reason=reason,
        grace_ms=3000,
    )
    return replace(running(), stopping=stop)


def seen(run: Run, *, dismissal: Dismissal = NEVER) -> Snapshot:
    """The run as it is read."""
    return Snapshot(run=run, dismissal=dismissal)
