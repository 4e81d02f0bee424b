"""What the server shows: runs with their steps, and everything that is found inside them.

A run has the same shape in every result and notification.  A field that is not known is left out;
it is never null, and never a default that looks like a fact.  Clients ignore fields, and members
of closed sets, that they do not know: both may be added without a new protocol version.

This module must never compute anything: core types become views in ``wire.convert``.
"""

from typing import Annotated

from sidecar.core.plan import Mode
from sidecar.core.states import ProofState, RunState, StepState, StopCause
from sidecar.wire.fields import RunId, View, doc


class FailureView(View, frozen=True, kw_only=True):
    """Why something failed."""

    code: Annotated[str, doc("Stable, kebab-case; see Reasons.")]
    message: Annotated[str, doc("For people; may change.")]


class StoppingView(View, frozen=True, kw_only=True):
    """A stop that was accepted: the run is being ended, and is still live."""

    cause: StopCause
    requested_at: Annotated[int, doc("When the stop was accepted.")]
    client: Annotated[str | None, doc("Who asked: the name of the editor or program.")] = None
    reason: Annotated[str | None, doc("What they said.")] = None
    grace_ms: Annotated[int, doc("From TERM to KILL.")]


class StoppedByView(View, frozen=True, kw_only=True):
    """Who or what ended a run before its time."""

    cause: StopCause
    client: Annotated[str | None, doc("Who asked: the name of the editor or program.")] = None
    reason: Annotated[str | None, doc("What they said.")] = None


class ProofView(View, frozen=True, kw_only=True):
    """What is known of the absence of a process tree."""

    state: ProofState
    mechanism: Annotated[str | None, doc("If observed: how (subreaper, process-group).")] = None
    verified_at: Annotated[int | None, doc("If observed: when.")] = None
    killed: Annotated[
        int | None, doc("If observed: how many processes did not end without KILL.")
    ] = None
    reason: Annotated[str | None, doc("If unknown: why, kebab-case.")] = None
    detail: Annotated[str | None, doc("If unknown: more, for people.")] = None


class UsageView(View, frozen=True, kw_only=True):
    """What was used up, as far as the agent tells; a command tells nothing."""

    turns: Annotated[int, doc("Turns of the conversation; 0 for a command.")]
    tools: Annotated[int, doc("Tools that were used; 0 for a command.")]


class LimitsView(View, frozen=True, kw_only=True):
    """What was allowed."""

    timeout_ms: Annotated[int | None, doc("The deadline, counted from startedAt.")] = None


class OutputBytesView(View, frozen=True, kw_only=True):
    """How long the logs are."""

    stdout: Annotated[int, doc("Bytes.")]
    stderr: Annotated[int, doc("Bytes.")]


class StepView(View, frozen=True, kw_only=True):
    """One step; attempt, process and output are those of its newest attempt."""

    index: Annotated[int, doc("Its place in the plan, from 0.")]
    id: Annotated[str, doc("Its name within the run.")]
    agent: Annotated[str, doc("Which agent does it.")]
    label: Annotated[str | None, doc("What people call it.")] = None
    state: StepState
    attempt: Annotated[int, doc("Number of the newest attempt, from 1; 0: none yet.")]
    pid: Annotated[
        int | None,
        doc("Of the agent. Once it has ended, the number may belong to somebody else."),
    ] = None
    started_at: Annotated[int | None, doc("When it began.")] = None
    ended_at: Annotated[int | None, doc("When it was over, proof included.")] = None
    exit_code: Annotated[int | None, doc("If the agent exited.")] = None
    signal: Annotated[int | None, doc("If a signal ended the agent: its number.")] = None
    reason: Annotated[str | None, doc("How the step ended; see Reasons.")] = None
    error: Annotated[FailureView | None, doc("If it failed.")] = None
    limits: Annotated[LimitsView | None, doc("What was allowed to it.")] = None
    answer_preview: Annotated[
        str | None, doc("The last line of the answer, for lists; only when the output is complete.")
    ] = None
    output_bytes: Annotated[OutputBytesView, doc("How long its logs are.")]
    last_output_at: Annotated[int | None, doc("When output was last seen.")] = None
    output_incomplete: Annotated[
        bool | None,
        doc("true if somebody still held the output open when it was given up."),
    ] = None
    proof: Annotated[ProofView, doc("What is known of its processes.")]


class RunView(View, frozen=True, kw_only=True):
    """A run."""

    run_id: RunId
    revision: Annotated[int, doc("Grows with every visible change; see Revisions.")]
    state: RunState
    stopping: Annotated[StoppingView | None, doc("While it is being ended.")] = None
    stopped_by: Annotated[StoppedByView | None, doc("Once it has been ended.")] = None
    reason: Annotated[str | None, doc("How the run ended; see Reasons.")] = None
    error: Annotated[FailureView | None, doc("If it failed.")] = None
    mode: Annotated[Mode, doc("The shape of its plan; single in this version.")]
    label: Annotated[str | None, doc("What people call it.")] = None
    session_id: Annotated[str, doc("The session that it belongs to.")]
    cwd: Annotated[str, doc("Its working directory, absolute.")]
    parent_run_id: Annotated[str | None, doc("The run that it belongs to, and ends with.")] = None
    created_at: Annotated[int, doc("When it was launched.")]
    started_at: Annotated[int | None, doc("When its runner took over.")] = None
    ended_at: Annotated[int | None, doc("When its result was durable.")] = None
    updated_at: Annotated[int, doc("When it last changed, dismissals included.")]
    usage: UsageView
    limits: Annotated[LimitsView | None, doc("What was allowed to the whole run.")] = None
    steps: Annotated[tuple[StepView, ...], doc("In the order of the plan.")]
    proof: Annotated[ProofView, doc("For the whole run: the weakest of its attempts'.")]
    dismissed_at: Annotated[int | None, doc("Since when it is hidden, if it is.")] = None
    resumable: Annotated[bool, doc("Whether run/resume would work; never in this version.")]


class AgentView(View, frozen=True, kw_only=True):
    """An agent, and what can be done with a live run of it."""

    name: Annotated[str, doc("What a step calls it.")]
    available: Annotated[bool, doc("Whether it can be launched here.")]
    version: Annotated[str | None, doc("Of the agent's program, if it is known.")] = None
    reason: Annotated[str | None, doc("Why it is not available.")] = None
    steer: Annotated[bool, doc("It takes messages while it runs.")]
    interrupt: Annotated[bool, doc("It can be paused.")]
    resume: Annotated[bool, doc("Its conversation can be continued by a new run.")]
    permissions: Annotated[bool, doc("It asks before it does something risky.")]


class ProblemView(View, frozen=True, kw_only=True):
    """Something in the state directory that cannot be shown as a run; it is left alone."""

    path: Annotated[str, doc("Where.")]
    error: Annotated[str, doc("What is wrong, for people.")]
    code: Annotated[
        str | None,
        doc("corrupt, foreign, future-format, unreadable; left out if the disk refused just now."),
    ] = None
