"""Everything that can happen to a run: a closed set, each a fact about the past.

Events are what events.jsonl holds; folding them with ``core.lifecycle.step`` gives the status.
Their ``kind`` strings and field names are part of the disk format and never change.

An event must never hold a prompt, a steering text or an environment value.
"""

from dataclasses import dataclass
from typing import ClassVar

from sidecar.core.ids import ProcId
from sidecar.core.plan import Mode
from sidecar.core.states import AgentExit, Failure, Outcome, Proof, StopCause


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """What the status may know of a step before it starts."""

    id: str
    agent: str
    label: str | None
    timeout_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLaunched:
    """The launcher made the run durable.  Always the first event."""

    kind: ClassVar[str] = "run-launched"
    run_id: str
    mode: Mode
    session_id: str
    cwd: str
    label: str | None
    parent_run_id: str | None
    timeout_ms: int | None
    steps: tuple[PlannedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerStarted:
    """A runner leads the run: the first one, or (``adopted``) one that took over."""

    kind: ClassVar[str] = "runner-started"
    runner: ProcId
    adopted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpawned:
    """The warden started the agent."""

    kind: ClassVar[str] = "agent-spawned"
    step: int
    attempt: int
    agent: ProcId


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnFailed:
    """The warden could not start the agent; nothing of it ever ran."""

    kind: ClassVar[str] = "spawn-failed"
    step: int
    attempt: int
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSeen:
    """The logs have grown; totals, not increments, so that a lost one costs nothing."""

    kind: ClassVar[str] = "output-seen"
    step: int
    attempt: int
    stdout_bytes: int
    stderr_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested:
    """Somebody asks for the end of the run.  ``command_id`` names the inbox file, if one did."""

    kind: ClassVar[str] = "stop-requested"
    cause: StopCause
    client: str | None
    reason: str | None
    grace_ms: int
    command_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlinePassed:
    """Time is up: for one step, or (``step`` absent) for the run."""

    kind: ClassVar[str] = "deadline-passed"
    step: int | None
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExited:
    """The agent's own process is gone; collected by its warden."""

    kind: ClassVar[str] = "agent-exited"
    step: int
    attempt: int
    exit: AgentExit


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDrained:
    """The logs are complete, or (not ``complete``) somebody held the output open too long."""

    kind: ClassVar[str] = "output-drained"
    step: int
    attempt: int
    stdout_bytes: int
    stderr_bytes: int
    complete: bool
    preview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnded:
    """Nothing of the attempt's process tree is left, or the proof of that cannot be had."""

    kind: ClassVar[str] = "tree-ended"
    step: int
    attempt: int
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class WardenLost:
    """The warden vanished before its proof; the runner inherits what is left of the tree."""

    kind: ClassVar[str] = "warden-lost"
    step: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerLost:
    """An attempt was ended because its runner had vanished (found by adopt)."""

    kind: ClassVar[str] = "runner-lost"
    step: int
    attempt: int
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultStored:
    """result.json is durable with this outcome: the point of no return."""

    kind: ClassVar[str] = "result-stored"
    outcome: Outcome


Event = (
    RunLaunched
    | RunnerStarted
    | AgentSpawned
    | SpawnFailed
    | OutputSeen
    | StopRequested
    | DeadlinePassed
    | AgentExited
    | OutputDrained
    | TreeEnded
    | WardenLost
    | RunnerLost
    | ResultStored
)

EVENT_TYPES: tuple[type[Event], ...] = (
    RunLaunched,
    RunnerStarted,
    AgentSpawned,
    SpawnFailed,
    OutputSeen,
    StopRequested,
    DeadlinePassed,
    AgentExited,
    OutputDrained,
    TreeEnded,
    WardenLost,
    RunnerLost,
    ResultStored,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event with its place in the log: ``seq`` counts from 1, ``at`` is ms since the epoch."""

    seq: int
    at: int
    event: Event
