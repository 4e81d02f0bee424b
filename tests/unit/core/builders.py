"""Runs and events built for the core's tests: one helper per seam, so that tests stay sentences."""

from dataclasses import replace

from sidecar.core import lifecycle
from sidecar.core.effects import AppendEvent, Effect
from sidecar.core.events import (
    AgentExited,
    AgentSpawned,
    Event,
    OutputDrained,
    PlannedStep,
    RunLaunched,
    RunnerStarted,
    StopRequested,
    TreeEnded,
)
from sidecar.core.ids import ProcId, new_run_id
from sidecar.core.plan import Mode
from sidecar.core.states import AgentExit, Proof, ProofState, Run, StopCause

RUN_ID = new_run_id(1_700_000_000_000, bytes(range(10)))
RUNNER = ProcId(pid=100, start_ticks=1, boot_id="boot")
AGENT = ProcId(pid=200, start_ticks=2, boot_id="boot")
OBSERVED = Proof(
    state=ProofState.OBSERVED, mechanism="subreaper", verified_at=1_700_000_000_500, killed=0
)
NOW = 1_700_000_000_000


def launched(
    *, timeout_ms: int | None = None, step_timeouts: tuple[int | None, ...] = (None,)
) -> Run:
    """A run of ``command`` steps, queued."""
    event = RunLaunched(
        run_id=RUN_ID,
        mode=Mode.SINGLE if len(step_timeouts) == 1 else Mode.CHAIN,
        session_id="s",
        cwd="/",
        label=None,
        parent_run_id=None,
        timeout_ms=timeout_ms,
        steps=tuple(
            PlannedStep(id=f"step-{n}", agent="command", label=None, timeout_ms=timeout)
            for n, timeout in enumerate(step_timeouts)
        ),
    )
    return lifecycle.launched(event, NOW)[0]


def started(adopted: bool = False) -> RunnerStarted:
    return RunnerStarted(runner=RUNNER, adopted=adopted)


def spawned(step: int = 0, attempt: int = 1) -> AgentSpawned:
    return AgentSpawned(step=step, attempt=attempt, agent=AGENT)


def exited(code: int | None = 0, signal: int | None = None, step: int = 0) -> AgentExited:
    if signal is not None:
        code = None
    return AgentExited(step=step, attempt=1, exit=AgentExit(code=code, signal=signal))


def drained(step: int = 0, complete: bool = True) -> OutputDrained:
    return OutputDrained(
        step=step, attempt=1, stdout_bytes=3, stderr_bytes=0, complete=complete, preview="ok"
    )


def proven(step: int = 0, proof: Proof = OBSERVED) -> TreeEnded:
    return TreeEnded(step=step, attempt=1, proof=proof)


def stop(grace_ms: int = 3000, cause: StopCause = StopCause.USER) -> StopRequested:
    return StopRequested(
        cause=cause, client="test", reason=None, grace_ms=grace_ms, command_id="1-stop"
    )


def play(run: Run, *events: Event, now: int = NOW) -> tuple[Run, list[Effect]]:
    """``run`` after ``events``, one millisecond apart, and every effect but the log's."""
    effects: list[Effect] = []
    for offset, event in enumerate(events, 1):
        run, more = lifecycle.step(run, event, now + offset)
        effects += [effect for effect in more if not isinstance(effect, AppendEvent)]
    return run, effects


def unleveled(run: Run) -> Run:
    """``run`` without what merely counts, for comparing states reached on different ways."""
    return replace(run, seq=0, updated_at=0, adoptions=0)
