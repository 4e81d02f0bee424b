"""Core types to views, and a launch's params to what ``control`` is asked: by hand, field by field.

Core types do not know that they can be shown, so a change of either side is felt here.  All text
that an agent, a caller or a file may have written passes through ``core.text`` on its way out: no
panel is ever driven by it, and every view can be encoded as JSON.

This module must never decide anything about a run.
"""

import base64
import re
from typing import Any, Protocol

import msgspec

from sidecar.core import dismissal as hiding
from sidecar.core import policy, text
from sidecar.core.asked import Asked
from sidecar.core.dismissal import NEVER, Dismissal
from sidecar.core.plan import Mode, StepRequest
from sidecar.core.result import RunResult, StepResult
from sidecar.core.states import (
    PROOF_NOT_STARTED,
    PROOF_PENDING,
    Attempt,
    AttemptState,
    Failure,
    Outcome,
    Proof,
    Run,
    Step,
    StepState,
    run_proof,
)
from sidecar.wire.fields import View
from sidecar.wire.params import Encoding, RunLaunchParams, StepParams
from sidecar.wire.results import RunResultResult, StepResultView
from sidecar.wire.views import (
    AgentView,
    FailureView,
    LimitsView,
    OutputBytesView,
    ProblemView,
    ProofView,
    RunView,
    StepView,
    StoppedByView,
    StoppingView,
    UsageView,
)

NOT_MEASURED = UsageView(turns=0, tools=0)
"""A command has no turns and no tools."""


_SURROGATE = re.compile("[\ud800-\udfff]")


class Agent(Protocol):
    """What is known of an agent, whoever found it out."""

    @property
    def name(self) -> str: ...
    @property
    def available(self) -> bool: ...
    @property
    def version(self) -> str | None: ...
    @property
    def why_not(self) -> str | None: ...
    @property
    def steer(self) -> bool: ...
    @property
    def interrupt(self) -> bool: ...
    @property
    def resume(self) -> bool: ...
    @property
    def permissions(self) -> bool: ...


class Problem(Protocol):
    """What was found where a run should be; ``damage`` unless the disk refused only now."""

    @property
    def path(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def damage(self) -> str | None: ...


# --- in ------------------------------------------------------------------------------------------


def asked(params: RunLaunchParams) -> Asked:
    """The launch that these params ask for; what they leave open stays open."""
    return Asked(
        mode=Mode.SINGLE,
        steps=(_step_request(params.step),),
        run_id=params.run_id,
        label=params.label,
        session_id=params.session_id,
        cwd=params.cwd,
        env=tuple(params.env.items()),
        timeout_ms=params.timeout_ms,
        parent_run_id=params.parent_run_id,
        client_token=params.client_token,
        meta=params.meta,
    )


def _step_request(params: StepParams) -> StepRequest:
    return StepRequest(
        agent=params.agent,
        label=params.label,
        prompt=params.prompt,
        command=params.command,
        shell=params.shell,
        cwd=params.cwd,
        env=tuple(params.env.items()),
        timeout_ms=params.timeout_ms,
    )


# --- out: runs -----------------------------------------------------------------------------------


def to_object(view: View) -> dict[str, Any]:
    """``view`` as what a JSON encoder takes: dicts, tuples, strings, numbers and booleans."""
    built: dict[str, Any] = msgspec.to_builtins(view)
    return built


def run_view(run: Run, dismissal: Dismissal = NEVER) -> RunView:
    """The run as clients see it.  How it ended is told only once that is durable."""
    ended = run.outcome if run.is_over else None
    return RunView(
        run_id=run.run_id,
        revision=hiding.revision(run, dismissal),
        state=run.state,
        stopping=None if run.is_over else _stopping_view(run),
        stopped_by=_stopped_by_view(run) if run.is_over else None,
        reason=ended.reason if ended is not None else None,
        error=outcome_error(ended),
        mode=run.mode,
        label=_label(run.label),
        session_id=text.plain(run.session_id),
        cwd=shown_path(run.cwd),
        parent_run_id=said(run.parent_run_id),
        created_at=run.created_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
        updated_at=max(run.updated_at, dismissal.at),
        usage=NOT_MEASURED,
        limits=_limits_view(run.timeout_ms),
        steps=tuple(step_view(step) for step in run.steps),
        proof=proof_view(run_proof(run)),
        dismissed_at=hiding.hidden_since(run, dismissal),
        resumable=False,
    )


def step_view(step: Step) -> StepView:
    """The step as clients see it: that of its newest attempt."""
    attempt = step.attempt or _no_attempt(step)
    return StepView(
        index=step.index,
        id=text.one_line(step.id),
        agent=text.one_line(step.agent),
        label=_label(step.label),
        state=step.state,
        attempt=attempt.number,
        pid=attempt.agent.pid if attempt.agent is not None else None,
        started_at=step.started_at,
        ended_at=step.ended_at,
        exit_code=attempt.exit.code if attempt.exit is not None else None,
        signal=attempt.exit.signal if attempt.exit is not None else None,
        reason=step.outcome.reason if step.outcome is not None else None,
        error=outcome_error(step.outcome),
        limits=_limits_view(step.timeout_ms),
        answer_preview=text.one_line(attempt.preview) or None,
        output_bytes=OutputBytesView(stdout=attempt.stdout_bytes, stderr=attempt.stderr_bytes),
        last_output_at=attempt.output_at,
        output_incomplete=None if attempt.output_complete else True,
        proof=proof_view(attempt.proof),
    )


def proof_view(proof: Proof) -> ProofView:
    """The proof as clients see it."""
    return ProofView(
        state=proof.state,
        mechanism=proof.mechanism,
        verified_at=proof.verified_at,
        killed=proof.killed,
        reason=proof.reason,
        detail=text.plain(proof.detail) if proof.detail is not None else None,
    )


def failure_view(failure: Failure) -> FailureView:
    """The failure as clients see it."""
    return FailureView(code=failure.code, message=text.plain(failure.message))


def outcome_error(outcome: Outcome | None) -> FailureView | None:
    """What failed, if the outcome is known and something did."""
    if outcome is None or outcome.failure is None:
        return None
    return failure_view(outcome.failure)


def said(words: str | None) -> str | None:
    """What somebody said of themselves or of their reasons, as one line."""
    return None if words is None else text.one_line(words, policy.STOP_REASON_MAX)


def shown_path(path: str) -> str:
    """``path`` as text.  What of its name is not UTF-8 (PEP 383) becomes U+FFFD."""
    return text.plain(_SURROGATE.sub("\ufffd", path))


def _no_attempt(step: Step) -> Attempt:
    """What can be told of the attempt of a step that has none."""
    proof = PROOF_PENDING if step.state is StepState.PENDING else PROOF_NOT_STARTED
    return Attempt(number=0, state=AttemptState.STARTING, started_at=0, proof=proof)


def _stopping_view(run: Run) -> StoppingView | None:
    if run.stopping is None:
        return None
    return StoppingView(
        cause=run.stopping.cause,
        requested_at=run.stopping.requested_at,
        client=said(run.stopping.client),
        reason=said(run.stopping.reason),
        grace_ms=run.stopping.grace_ms,
    )


def _stopped_by_view(run: Run) -> StoppedByView | None:
    if run.stopping is None:
        return None
    return StoppedByView(
        cause=run.stopping.cause,
        client=said(run.stopping.client),
        reason=said(run.stopping.reason),
    )


def _limits_view(timeout_ms: int | None) -> LimitsView | None:
    return None if timeout_ms is None else LimitsView(timeout_ms=timeout_ms)


def _label(label: str | None) -> str | None:
    return None if label is None else text.one_line(label, policy.LABEL_MAX)


# --- out: the rest -------------------------------------------------------------------------------


def result_view(result: RunResult) -> RunResultResult:
    """The result as clients see it."""
    return RunResultResult(
        run_id=result.run_id,
        state=result.outcome.state,
        reason=result.outcome.reason,
        error=outcome_error(result.outcome),
        ended_at=result.ended_at,
        duration_ms=result.duration_ms,
        proof=proof_view(result.proof),
        steps=tuple(_step_result_view(step) for step in result.steps),
    )


def _step_result_view(step: StepResult) -> StepResultView:
    return StepResultView(
        index=step.index,
        id=text.one_line(step.id),
        agent=text.one_line(step.agent),
        label=_label(step.label),
        state=step.state,
        reason=step.reason,
        error=failure_view(step.failure) if step.failure is not None else None,
        exit_code=step.exit.code if step.exit is not None else None,
        signal=step.exit.signal if step.exit is not None else None,
        answer=text.plain(step.answer),
        answer_truncated=step.answer_truncated,
        output_bytes=OutputBytesView(stdout=step.stdout_bytes, stderr=step.stderr_bytes),
        stderr_tail=text.plain(step.stderr_tail),
        proof=proof_view(step.proof),
    )


def problem_view(problem: Problem) -> ProblemView:
    """A run that cannot be shown, as clients see it."""
    return ProblemView(
        path=shown_path(problem.path), error=text.plain(problem.error), code=problem.damage
    )


def agent_view(agent: Agent) -> AgentView:
    """An agent as clients see it."""
    return AgentView(
        name=text.one_line(agent.name),
        available=agent.available,
        version=said(agent.version),
        reason=said(agent.why_not),
        steer=agent.steer,
        interrupt=agent.interrupt,
        resume=agent.resume,
        permissions=agent.permissions,
    )


def shown_bytes(data: bytes, *, raw: bool = False, encoding: Encoding = Encoding.TEXT) -> str:
    """``data`` of a log as the ``text`` of ``run/output``."""
    match encoding:
        case Encoding.BASE64:
            return base64.b64encode(data).decode("ascii")
        case Encoding.TEXT:
            return text.decode(data) if raw else text.plain(text.decode(data))
