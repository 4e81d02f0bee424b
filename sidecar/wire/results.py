"""What requests are answered with, and what ``initialize`` tells of this server.

This module must never define what is inside a run: that is ``wire.views``.
"""

from typing import Annotated

from sidecar.core.states import RunState, StepState
from sidecar.wire.event_views import EventView
from sidecar.wire.fields import RunId, View, doc
from sidecar.wire.params import Encoding
from sidecar.wire.views import (
    AgentView,
    FailureView,
    OutputBytesView,
    ProblemView,
    ProofView,
    RunView,
)


class RunAnswer(View, frozen=True, kw_only=True):
    """A result that is one run."""

    run: RunView


class Nothing(View, frozen=True, kw_only=True):
    """A result that says only that it was done."""


class RunLaunchResult(RunAnswer, frozen=True, kw_only=True):
    """The run, durable and visible to every server."""


class RunGetResult(RunAnswer, frozen=True, kw_only=True):
    """The run as it is now."""


class RunStopResult(RunAnswer, frozen=True, kw_only=True):
    """The run with ``stopping``; over, if it was over or ``waitMs`` was enough."""


class RunDismissResult(RunAnswer, frozen=True, kw_only=True):
    """The run with ``dismissedAt``."""


class RunUndismissResult(RunAnswer, frozen=True, kw_only=True):
    """The run without ``dismissedAt``."""


class RunListResult(View, frozen=True, kw_only=True):
    """A page of runs, newest first."""

    runs: tuple[RunView, ...]
    next_cursor: Annotated[str | None, doc("For the next page; left out on the last.")] = None
    problems: Annotated[
        tuple[ProblemView, ...] | None, doc("What was found that cannot be listed.")
    ] = None


class RunWaitResult(View, frozen=True, kw_only=True):
    """The runs that were waited for, over or not, in the order in which they were named."""

    runs: tuple[RunView, ...]
    timed_out: Annotated[bool, doc("The time passed first.")]


class RunEventsResult(View, frozen=True, kw_only=True):
    """A page of a run's history."""

    events: tuple[EventView, ...]
    last_seq: Annotated[
        int, doc("seq of the last event of this page, else afterSeq: the next page's afterSeq.")
    ]


class RunOutputResult(View, frozen=True, kw_only=True):
    """A page of a log.  All offsets are bytes of the log, whatever became of the text."""

    text: Annotated[str, doc("The page; plain text unless raw or base64 was asked for.")]
    offset: Annotated[int, doc("Where the page begins.")]
    next_offset: Annotated[int, doc("Where it ends: the next page's offset.")]
    eof: Annotated[bool, doc("The log is complete, and this page ends where it ends.")]
    truncated: Annotated[bool, doc("The page was cut by limit: there is more already.")]
    encoding: Annotated[Encoding | None, doc("base64, if that was asked for.")] = None


class StepResultView(View, frozen=True, kw_only=True):
    """How a step ended, and what its agent answered."""

    index: int
    id: str
    agent: str
    label: str | None = None
    state: StepState
    reason: Annotated[str | None, doc("How the step ended; see Reasons.")] = None
    error: Annotated[FailureView | None, doc("If it failed.")] = None
    exit_code: Annotated[int | None, doc("If the agent exited.")] = None
    signal: Annotated[int | None, doc("If a signal ended the agent: its number.")] = None
    answer: Annotated[str, doc("The beginning of the answer, as plain text.")]
    answer_truncated: Annotated[bool, doc("The log holds more: run/output has it.")]
    output_bytes: OutputBytesView
    stderr_tail: Annotated[str, doc("The end of stderr, as plain text.")]
    proof: ProofView


class RunResultResult(View, frozen=True, kw_only=True):
    """The result of a run that is over."""

    run_id: RunId
    state: RunState
    reason: Annotated[str, doc("How the run ended; see Reasons.")]
    error: Annotated[FailureView | None, doc("If it failed.")] = None
    ended_at: Annotated[int, doc("When it was over.")]
    duration_ms: Annotated[int, doc("From its start; 0 if it never started.")]
    proof: ProofView
    steps: tuple[StepResultView, ...]


class RunSubscribeResult(Nothing, frozen=True, kw_only=True):
    """The output follows by notification."""


class RunUnsubscribeResult(Nothing, frozen=True, kw_only=True):
    """No output of that run follows; also if there was no subscription."""


class RunRemoveResult(Nothing, frozen=True, kw_only=True):
    """The files are gone."""


class AgentListResult(View, frozen=True, kw_only=True):
    """The agents, looked for now."""

    agents: tuple[AgentView, ...]


class CountsView(View, frozen=True, kw_only=True):
    """How many there are."""

    active: Annotated[int, doc("Runs in the list of active ones, of all sessions.")]
    session: Annotated[int, doc("Those of this session.")]
    subscriptions: Annotated[int, doc("Logs that this client follows.")]


class QueuesView(View, frozen=True, kw_only=True):
    """What waits."""

    requests: Annotated[int, doc("Requests that are not answered yet.")]
    notifications: Annotated[int, doc("Notifications that the client has not taken yet.")]
    output_bytes: Annotated[int, doc("Bytes that the client has not taken yet.")]


class MemoryView(View, frozen=True, kw_only=True):
    """What the server needs."""

    rss_bytes: Annotated[int, doc("Resident now.")]
    peak_rss_bytes: Annotated[int | None, doc("Resident at most so far.")] = None


class ServerStatusResult(View, frozen=True, kw_only=True):
    """The server, for bug reports and health checks."""

    pid: int
    version: Annotated[str, doc("Of sidecar.")]
    protocol_version: Annotated[str, doc("Of what is described here.")]
    started_at: Annotated[int, doc("When the server began.")]
    uptime_ms: Annotated[int, doc("How long ago that was.")]
    state_dir: Annotated[str, doc("Where the runs are kept.")]
    session_id: Annotated[str, doc("The session of this client.")]
    counts: CountsView
    queues: QueuesView
    memory: MemoryView


class SidecarCapabilities(View, frozen=True, kw_only=True):
    """``capabilities.experimental.sidecar`` in the result of ``initialize``."""

    protocol_version: Annotated[str, doc("Of what is described here.")]
    methods: Annotated[tuple[str, ...], doc("Every method that is answered.")]
    notifications: Annotated[tuple[str, ...], doc("Every notification that may be sent.")]
    agents: Annotated[tuple[AgentView, ...], doc("What is known without starting a program.")]
