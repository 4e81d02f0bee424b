"""What clients say: the params of every request, and the options of ``initialize``.

A default stands here and nowhere else, so that schema, documentation and behaviour agree.  What
the contract knows and this version does not offer is a ``NotYet`` field: refused by its name.

This module must never check what only the rest of the system can know (whether a run exists, what
a command may be): that is refused, with its field, by ``core.plan`` and by ``control``.
"""

from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from sidecar.core import policy
from sidecar.core.states import RunState
from sidecar.wire.fields import (
    GraceMs,
    Label,
    NotYet,
    Offset,
    Params,
    ParamsPart,
    RunRef,
    Seq,
    StepIndex,
    TimeoutMs,
    WaitMs,
    doc,
    doc_later,
)

# --- closed sets ---------------------------------------------------------------------------------


class Scope(StrEnum):
    """Which runs ``run/list`` looks at."""

    ACTIVE = "active"
    SESSION = "session"
    ALL = "all"


class Until(StrEnum):
    """What ends a ``run/wait``."""

    ANY = "any"
    ALL = "all"


class Stream(StrEnum):
    """What of a step ``run/output`` reads."""

    STDOUT = "stdout"
    STDERR = "stderr"
    ANSWER = "answer"


class LogStream(StrEnum):
    """What of a run ``run/subscribe`` follows."""

    STDOUT = "stdout"
    STDERR = "stderr"


class Encoding(StrEnum):
    """How ``run/output`` gives bytes."""

    TEXT = "text"
    BASE64 = "base64"


# --- initialize ----------------------------------------------------------------------------------


class InitializationOptions(Params, frozen=True, kw_only=True):
    """``initializationOptions`` of ``initialize``."""

    state_dir: Annotated[
        str | None,
        doc("Where runs are kept, instead of SIDECAR_STATE_DIR or the user's state directory."),
    ] = None
    session_id: Annotated[
        str | None,
        doc("The session; without it that of the first workspace folder, without one 'default'."),
    ] = None
    status_interval_ms: Annotated[
        WaitMs, doc("run/status of one run comes at most once in this time.")
    ] = policy.STATUS_INTERVAL_MS
    recover: Annotated[
        bool, doc("Tell at once, by run/status, of the session's runs that are still active.")
    ] = True
    progress_cancel: Annotated[
        Literal["stop"] | None,
        doc_later("What cancelling $/progress does to its run; without it nothing.", "interrupt"),
    ] = None
    messages: Annotated[bool, doc("Use window/showMessage for what a person should see.")] = False


# --- run/launch ----------------------------------------------------------------------------------


class StepParams(ParamsPart, frozen=True, kw_only=True):
    """One step: an agent and what it is to do."""

    agent: Annotated[str, doc("Which agent: a name of agent/list.")]
    label: Annotated[Label | None, doc("What people call the step.")] = None
    prompt: Annotated[
        str | None, doc("What the agent is told; a command finds it on stdin, then end of file.")
    ] = None
    command: Annotated[
        tuple[str, ...] | None,
        doc("Agent command: the argument vector, started without a shell."),
    ] = None
    shell: Annotated[
        str | None, doc("Agent command: one string for /bin/sh -c, instead of command.")
    ] = None
    cwd: Annotated[
        str | None, doc("Working directory; a relative one within the run's, which is the default.")
    ] = None
    env: Annotated[dict[str, str], doc("Added to the run's environment, for this step only.")] = (
        msgspec.field(default_factory=dict)
    )
    timeout_ms: Annotated[
        TimeoutMs | None, doc("The step ends as failed (deadline) after this time.")
    ] = None
    model: NotYet = None
    fallback_models: NotYet = None
    turns: NotYet = None
    tools: NotYet = None
    permissions: NotYet = None
    as_: NotYet = msgspec.field(default=None, name="as")
    schema: NotYet = None
    output_file: NotYet = None
    acceptance: NotYet = None
    options: NotYet = None

    # People paste logs: what may be secret is not in a representation.
    def __repr__(self) -> str:
        return f"StepParams(agent={self.agent!r}, label={self.label!r})"


class RunLaunchParams(Params, frozen=True, kw_only=True):
    """A launch: what to run, and within which limits."""

    step: Annotated[
        StepParams,
        doc("What to run. Exactly one of step, chain and parallel; this version has step."),
    ]
    chain: NotYet = None
    parallel: NotYet = None
    run_id: Annotated[
        str | None, doc("The id to give the run, a new UUID version 7; usually left out.")
    ] = None
    label: Annotated[Label | None, doc("What people call the run.")] = None
    session_id: Annotated[str | None, doc("The run's session, instead of the client's.")] = None
    cwd: Annotated[
        str | None,
        doc("Working directory, absolute or from ~/; without it the first workspace folder."),
    ] = None
    env: Annotated[
        dict[str, str], doc("Added to the environment of the server, for every step.")
    ] = msgspec.field(default_factory=dict)
    timeout_ms: Annotated[
        TimeoutMs | None, doc("The run ends as failed (deadline) this long after its start.")
    ] = None
    parent_run_id: Annotated[
        str | None, doc("The run that this one belongs to, and ends with; usually inherited.")
    ] = None
    client_token: Annotated[
        str | None, doc("The same token in the same session is the same run: for retries.")
    ] = None
    concurrency: NotYet = None
    max_agents: NotYet = None
    usage: NotYet = None

    def __repr__(self) -> str:
        return f"RunLaunchParams(label={self.label!r}, step={self.step!r})"


# --- one run -------------------------------------------------------------------------------------


class RunParams(Params, frozen=True, kw_only=True):
    """The params of whatever is about one run."""

    run_id: RunRef


class ActingParams(RunParams, frozen=True, kw_only=True):
    """The params of whatever changes one run."""

    any_session: Annotated[
        bool, doc("Yes, even if the run belongs to another session (else other-session).")
    ] = False


class RunGetParams(RunParams, frozen=True, kw_only=True):
    """Which run to show."""


class RunResultParams(RunParams, frozen=True, kw_only=True):
    """Whose result to give."""


class RunStopParams(ActingParams, frozen=True, kw_only=True):
    """Which run to end, and how."""

    step: Annotated[StepIndex | None, doc("The step to end: 0, the only one.")] = None
    reason: Annotated[
        Annotated[str, msgspec.Meta(max_length=policy.STOP_REASON_MAX)] | None,
        doc("Why, for people; kept in the run's stoppedBy."),
    ] = None
    grace_ms: Annotated[
        GraceMs,
        doc("From TERM to KILL. Of several stops the shortest grace holds; 0 kills at once."),
    ] = policy.GRACE_MS
    wait_ms: Annotated[
        WaitMs,
        doc("Answer only once the run is over, proof included, or after this time."),
    ] = 0


class RunDismissParams(ActingParams, frozen=True, kw_only=True):
    """Which run to hide."""


class RunUndismissParams(ActingParams, frozen=True, kw_only=True):
    """Which run to show again."""


class RunRemoveParams(ActingParams, frozen=True, kw_only=True):
    """Whose files to delete."""


class RunEventsParams(RunParams, frozen=True, kw_only=True):
    """Which part of a run's history to give."""

    after_seq: Annotated[Seq, doc("Only events with a higher seq.")] = 0
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=policy.EVENTS_LIMIT_MAX)], doc("At most so many.")
    ] = policy.EVENTS_LIMIT


class RunOutputParams(RunParams, frozen=True, kw_only=True):
    """Which part of a log to give."""

    step: StepIndex = 0
    stream: Annotated[
        Stream, doc_later("Which log; the answer of a command is its stdout.", "transcript")
    ] = Stream.STDOUT
    offset: Annotated[
        Offset, doc("Byte to begin at; a negative one counts from the present end.")
    ] = 0
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=policy.OUTPUT_LIMIT_MAX)],
        doc("At most so many bytes of the log; of text, at least one whole character."),
    ] = policy.OUTPUT_LIMIT
    raw: Annotated[bool, doc("Leave control characters and escape sequences in the text.")] = False
    encoding: Annotated[
        Encoding,
        doc("base64 gives the very bytes, whatever they are; raw is then without meaning."),
    ] = Encoding.TEXT


class RunSubscribeParams(RunParams, frozen=True, kw_only=True):
    """Whose output to follow."""

    output: Annotated[bool, doc("False ends the subscription, like run/unsubscribe.")] = True
    stream: Annotated[LogStream | None, doc("Only this log; without it both.")] = None
    from_offset: Annotated[
        Offset,
        doc("Byte of each log to begin at; a negative one counts from its present end."),
    ] = 0


class RunUnsubscribeParams(RunParams, frozen=True, kw_only=True):
    """Whose output to follow no longer."""


# --- many runs, and none -------------------------------------------------------------------------


class RunListParams(Params, frozen=True, kw_only=True):
    """Which runs to list."""

    scope: Annotated[
        Scope,
        doc(
            "active: the runs of all sessions that are not over, or not proven gone. session: this "
            "session's runs, over or not. all: every run of the user."
        ),
    ] = Scope.ACTIVE
    states: Annotated[tuple[RunState, ...] | None, doc("Only runs in one of these states.")] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=policy.LIST_LIMIT_MAX)], doc("At most so many.")
    ] = policy.LIST_LIMIT
    cursor: Annotated[str | None, doc("nextCursor of the page before.")] = None
    include_dismissed: Annotated[bool, doc("Dismissed runs too.")] = False


class RunWaitParams(Params, frozen=True, kw_only=True):
    """Which runs to wait for, and how long."""

    run_ids: Annotated[
        tuple[RunRef, ...] | None, doc("Without it: the session's runs that are active now.")
    ] = None
    until: Annotated[Until, doc("Until one of them is over, or all.")] = Until.ALL
    timeout_ms: Annotated[
        WaitMs, doc("Answer after this time at the latest, with timedOut; 0 only looks.")
    ] = policy.WAIT_DEFAULT_MS
    on_attention: Annotated[bool, doc("Answer as soon as one of them needs a person.")] = False


class AgentListParams(Params, frozen=True, kw_only=True):
    """Nothing to say."""


class ServerStatusParams(Params, frozen=True, kw_only=True):
    """Nothing to say."""
