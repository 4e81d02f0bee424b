"""One full example of everything that is stored: every field set, every kind of event.

The golden files of the first format were written from these; a test that needs any run, event or
document takes it from here, so that a new field meets one place.
"""

from dataclasses import replace

from sidecar.core.commands import StopCommand
from sidecar.core.dismissal import Dismissal
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
from sidecar.core.ids import ProcId, new_run_id
from sidecar.core.plan import Launch, Mode, StepRequest
from sidecar.core.result import RunResult, StepResult
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
RUN_ID = new_run_id(NOW, bytes(range(10)))
OTHER_ID = new_run_id(NOW + 1, bytes(range(10)))

RUNNER = ProcId(pid=100, start_ticks=4711, boot_id="5e2b3b5e-0000-4000-8000-000000000001")
AGENT = ProcId(pid=200, start_ticks=4712, boot_id="5e2b3b5e-0000-4000-8000-000000000001")
OBSERVED = Proof(state=ProofState.OBSERVED, mechanism="subreaper", verified_at=NOW + 500, killed=2)
UNKNOWN = Proof(state=ProofState.UNKNOWN, reason="verification-failed", detail="pid 7 in state D")
FAILURE = Failure(code="exit-status", message="the agent exited with 3")
FAILED = Outcome(state=RunState.FAILED, reason="exit-status", failure=FAILURE)
COMPLETE = Outcome(state=RunState.COMPLETE, reason="completed")


def run_id(number: int) -> str:
    """A run id that sorts by ``number``."""
    return new_run_id(NOW + number, bytes(range(10)))


def launch(run_id: str = RUN_ID) -> Launch:
    """A request with everything in it, of two steps."""
    return Launch(
        run_id=run_id,
        session_id="folder-0123456789abcdef",
        cwd="/srv/two words",
        mode=Mode.CHAIN,
        label="caf\u00e9 \U0001f680",
        env=(("PATH", "/usr/bin:/bin"), ("EMPTY", ""), ("NAME", "a=b\nc")),
        timeout_ms=60_000,
        parent_run_id=OTHER_ID,
        client_token="token",
        meta={"wtf8": "not packed", "deep": [1, 2.5, None, {"true": True}]},
        created_at=NOW,
        steps=(
            StepRequest(
                agent="command",
                label="first",
                prompt="line\nline\u2028\0 end",
                command=("printf", "%s\\n", ""),
                cwd="/srv",
                env=(("A", "1"),),
                timeout_ms=5_000,
            ),
            StepRequest(agent="command", shell="exit 3"),
        ),
    )


def queued(run_id: str = RUN_ID) -> Run:
    """A run as its launcher leaves it."""
    return Run(
        run_id=run_id,
        seq=1,
        state=RunState.QUEUED,
        mode=Mode.SINGLE,
        session_id="default",
        cwd="/srv",
        label=None,
        parent_run_id=None,
        timeout_ms=None,
        created_at=NOW,
        updated_at=NOW,
        steps=(Step(index=0, id="step-0", agent="command", label=None, timeout_ms=None),),
    )


def running(run_id: str = RUN_ID) -> Run:
    """A run that is being stopped, with an attempt of which everything is known that can be."""
    attempt = Attempt(
        number=2,
        state=AttemptState.DRAINING,
        started_at=NOW + 10,
        agent=AGENT,
        exit=AgentExit(signal=15),
        failure=Failure(code="runner-lost", message="the runner vanished"),
        proof=UNKNOWN,
        stdout_bytes=1234,
        stderr_bytes=5,
        output_at=NOW + 400,
        output_complete=False,
        preview="last line \u2026",
    )
    return Run(
        run_id=run_id,
        seq=9,
        state=RunState.RUNNING,
        mode=Mode.CHAIN,
        session_id="folder-0123456789abcdef",
        cwd="/srv/two words",
        label="caf\u00e9 \U0001f680",
        parent_run_id=OTHER_ID,
        timeout_ms=60_000,
        created_at=NOW,
        updated_at=NOW + 400,
        started_at=NOW + 5,
        leader=RUNNER,
        adoptions=1,
        stopping=Stopping(
            cause=StopCause.USER,
            requested_at=NOW + 300,
            client="nvim",
            reason="enough",
            grace_ms=3000,
        ),
        steps=(
            Step(
                index=0,
                id="step-0",
                agent="command",
                label="first",
                timeout_ms=5_000,
                state=StepState.RUNNING,
                attempt=attempt,
                started_at=NOW + 10,
            ),
            Step(index=1, id="step-1", agent="command", label=None, timeout_ms=None),
        ),
    )


def ended(run_id: str = RUN_ID) -> Run:
    """A run that is over."""
    attempt = Attempt(
        number=1,
        state=AttemptState.SETTLED,
        started_at=NOW + 10,
        agent=AGENT,
        exit=AgentExit(code=3),
        proof=OBSERVED,
    )
    step = Step(
        index=0,
        id="step-0",
        agent="command",
        label=None,
        timeout_ms=None,
        state=StepState.FAILED,
        attempt=attempt,
        started_at=NOW + 10,
        ended_at=NOW + 500,
        outcome=FAILED,
    )
    return replace(
        queued(run_id),
        seq=7,
        state=RunState.FAILED,
        updated_at=NOW + 510,
        started_at=NOW + 5,
        ended_at=NOW + 510,
        leader=RUNNER,
        outcome=FAILED,
        steps=(step,),
    )


def launched(run_id: str = RUN_ID) -> RunLaunched:
    """The first event of ``queued``."""
    return RunLaunched(
        run_id=run_id,
        mode=Mode.SINGLE,
        session_id="default",
        cwd="/srv",
        label=None,
        parent_run_id=None,
        timeout_ms=None,
        steps=(PlannedStep(id="step-0", agent="command", label=None, timeout_ms=None),),
    )


EVENTS: tuple[Event, ...] = (
    launched(),
    replace(
        launched(),
        label="labelled",
        parent_run_id=OTHER_ID,
        timeout_ms=1,
        steps=(PlannedStep(id="step-0", agent="command", label="first", timeout_ms=2),),
    ),
    RunnerStarted(runner=RUNNER, adopted=True),
    AgentSpawned(step=0, attempt=1, agent=AGENT),
    SpawnFailed(step=0, attempt=1, failure=FAILURE),
    OutputSeen(step=0, attempt=1, stdout_bytes=10, stderr_bytes=0),
    StopRequested(
        cause=StopCause.USER,
        client="nvim",
        reason="enough",
        grace_ms=3000,
        command_id="1700000000000-ab-stop.json",
    ),
    StopRequested(cause=StopCause.SIGNAL, client=None, reason=None, grace_ms=0, command_id=None),
    DeadlinePassed(step=None, timeout_ms=60_000),
    DeadlinePassed(step=0, timeout_ms=5_000),
    AgentExited(step=0, attempt=1, exit=AgentExit(code=3)),
    AgentExited(step=0, attempt=1, exit=AgentExit(signal=9)),
    OutputDrained(
        step=0, attempt=1, stdout_bytes=10, stderr_bytes=1, complete=False, preview="last"
    ),
    TreeEnded(step=0, attempt=1, proof=OBSERVED),
    TreeEnded(step=0, attempt=1, proof=UNKNOWN),
    WardenLost(step=0, attempt=1),
    RunnerLost(step=0, attempt=1, failure=FAILURE),
    ResultStored(outcome=FAILED),
    ResultStored(outcome=COMPLETE),
)


def recorded() -> tuple[Recorded, ...]:
    """Every kind of event, numbered from 1."""
    return tuple(
        Recorded(seq=seq, at=NOW + seq, event=event) for seq, event in enumerate(EVENTS, 1)
    )


def result(run_id: str = RUN_ID) -> RunResult:
    """A result of two steps: one with everything, one that never began."""
    return RunResult(
        run_id=run_id,
        outcome=FAILED,
        ended_at=NOW + 510,
        duration_ms=505,
        proof=OBSERVED,
        steps=(
            StepResult(
                index=0,
                id="step-0",
                agent="command",
                label="first",
                state=StepState.FAILED,
                reason="exit-status",
                failure=FAILURE,
                exit=AgentExit(code=3),
                answer="two\nlines",
                answer_truncated=True,
                stdout_bytes=1_000_000,
                stderr_bytes=3,
                stderr_tail="err",
                proof=OBSERVED,
            ),
            StepResult(
                index=1,
                id="step-1",
                agent="command",
                label=None,
                state=StepState.SKIPPED,
                reason=None,
                failure=None,
                exit=None,
                answer="",
                answer_truncated=False,
                stdout_bytes=0,
                stderr_bytes=0,
                stderr_tail="",
                proof=Proof(state=ProofState.NOT_STARTED),
            ),
        ),
    )


def command() -> StopCommand:
    """A stop with everything in it."""
    return StopCommand(
        cause=StopCause.USER, client="nvim", reason="enough", grace_ms=3000, at=NOW + 300
    )


def dismissal() -> Dismissal:
    """A run that is hidden."""
    return Dismissal(dismissed=True, changes=3, at=NOW + 900, at_seq=7)
