"""What ``run/events`` shows: one view for each event of ``core.events``, told apart by ``kind``.

Events are a run's history for people, debuggers and auditors.  To follow a run, take its status:
it is the fold of its events, and always whole.

This module must never show more than the event holds; prompts and environments are in neither.
"""

from sidecar.core import events
from sidecar.core.plan import Mode
from sidecar.core.states import RunState, StopCause
from sidecar.wire.fields import View
from sidecar.wire.views import FailureView, ProofView


class ProcessView(View, frozen=True, kw_only=True):
    """One process for ever: pid, start time in clock ticks since boot, and which boot."""

    pid: int
    start_ticks: int
    boot_id: str


class PlannedStepView(View, frozen=True, kw_only=True):
    """A step before it starts."""

    id: str
    agent: str
    label: str | None = None
    timeout_ms: int | None = None


class AnyEvent(View, frozen=True, kw_only=True, tag_field="kind"):
    """What every event has: its place in the history, and when it was written."""

    seq: int
    at: int


class AttemptEvent(AnyEvent, frozen=True, kw_only=True):
    """What every event about one attempt has."""

    step: int
    attempt: int


class RunLaunchedEvent(AnyEvent, frozen=True, kw_only=True, tag=events.RunLaunched.kind):
    """The launcher made the run durable; always the first event."""

    run_id: str
    mode: Mode
    session_id: str
    cwd: str
    label: str | None = None
    parent_run_id: str | None = None
    timeout_ms: int | None = None
    steps: tuple[PlannedStepView, ...]


class RunnerStartedEvent(AnyEvent, frozen=True, kw_only=True, tag=events.RunnerStarted.kind):
    """A runner leads the run: the first one, or one that took over (``adopted``)."""

    runner: ProcessView
    adopted: bool


class AgentSpawnedEvent(AttemptEvent, frozen=True, kw_only=True, tag=events.AgentSpawned.kind):
    """The agent was started."""

    agent: ProcessView


class SpawnFailedEvent(AttemptEvent, frozen=True, kw_only=True, tag=events.SpawnFailed.kind):
    """The agent could not be started; nothing of it ever ran."""

    error: FailureView


class OutputSeenEvent(AttemptEvent, frozen=True, kw_only=True, tag=events.OutputSeen.kind):
    """The logs have grown: totals."""

    stdout_bytes: int
    stderr_bytes: int


class StopRequestedEvent(AnyEvent, frozen=True, kw_only=True, tag=events.StopRequested.kind):
    """Somebody asks for the end of the run."""

    cause: StopCause
    client: str | None = None
    reason: str | None = None
    grace_ms: int
    command_id: str | None = None


class DeadlinePassedEvent(AnyEvent, frozen=True, kw_only=True, tag=events.DeadlinePassed.kind):
    """Time is up: for one step, or (``step`` left out) for the run."""

    step: int | None = None
    timeout_ms: int


class AgentExitedEvent(AttemptEvent, frozen=True, kw_only=True, tag=events.AgentExited.kind):
    """The agent's own process is gone: one of ``exitCode`` and ``signal``."""

    exit_code: int | None = None
    signal: int | None = None


class OutputDrainedEvent(AttemptEvent, frozen=True, kw_only=True, tag=events.OutputDrained.kind):
    """The logs are complete, or (not ``complete``) were given up."""

    stdout_bytes: int
    stderr_bytes: int
    complete: bool
    answer_preview: str | None = None


class TreeEndedEvent(AttemptEvent, frozen=True, kw_only=True, tag=events.TreeEnded.kind):
    """Nothing of the attempt's process tree is left, or the proof of that cannot be had."""

    proof: ProofView


class WardenLostEvent(AttemptEvent, frozen=True, kw_only=True, tag=events.WardenLost.kind):
    """The warden vanished before its proof."""


class RunnerLostEvent(AttemptEvent, frozen=True, kw_only=True, tag=events.RunnerLost.kind):
    """The attempt was ended because its runner had vanished."""

    error: FailureView


class ResultStoredEvent(AnyEvent, frozen=True, kw_only=True, tag=events.ResultStored.kind):
    """The result is durable; the terminal status follows."""

    state: RunState
    reason: str
    error: FailureView | None = None


EventView = (
    RunLaunchedEvent
    | RunnerStartedEvent
    | AgentSpawnedEvent
    | SpawnFailedEvent
    | OutputSeenEvent
    | StopRequestedEvent
    | DeadlinePassedEvent
    | AgentExitedEvent
    | OutputDrainedEvent
    | TreeEndedEvent
    | WardenLostEvent
    | RunnerLostEvent
    | ResultStoredEvent
)
