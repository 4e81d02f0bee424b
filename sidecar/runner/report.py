"""The result of a run, put together from its final state and its logs.

Owns what of an agent's output goes into result.json: the beginning of the answer, the end of
stderr, as plain text.  The logs themselves stay whole.  This module must never decide an outcome.
"""

from sidecar.core import policy, text
from sidecar.core.result import RunResult, StepResult
from sidecar.core.states import PROOF_NOT_STARTED, Attempt, Outcome, Run, Step, run_proof
from sidecar.store.rundir import RunDir


def build(run_dir: RunDir, run: Run, outcome: Outcome, now: int) -> RunResult:
    """The result of ``run``, ended at ``now`` (ms since the epoch) with ``outcome``."""
    return RunResult(
        run_id=run.run_id,
        outcome=outcome,
        ended_at=now,
        duration_ms=max(0, now - run.started_at) if run.started_at is not None else 0,
        proof=run_proof(run),
        steps=tuple(_step(run_dir, item) for item in run.steps),
    )


def preview(run_dir: RunDir, step: int, attempt: int) -> str:
    """The last line of an attempt's stdout that a person could read."""
    tail = run_dir.output(
        step, attempt, "stdout", -policy.STDERR_TAIL_BYTES, policy.STDERR_TAIL_BYTES
    )
    return text.last_line(tail.data)


def runner_log_tail(run_dir: RunDir) -> str:
    """The last words of the runner before this one, as one plain line; mostly none."""
    return text.one_line(
        text.decode(run_dir.runner_log_tail(policy.RUNNER_LOG_TAIL_BYTES)),
        policy.RUNNER_LOG_TAIL_BYTES,
    )


def _step(run_dir: RunDir, item: Step) -> StepResult:
    attempt = item.attempt
    answer, truncated = _answer(run_dir, item.index, attempt)
    return StepResult(
        index=item.index,
        id=item.id,
        agent=item.agent,
        label=item.label,
        state=item.state,
        reason=item.outcome.reason if item.outcome else None,
        failure=item.outcome.failure if item.outcome else None,
        exit=attempt.exit if attempt else None,
        answer=answer,
        answer_truncated=truncated,
        stdout_bytes=attempt.stdout_bytes if attempt else 0,
        stderr_bytes=attempt.stderr_bytes if attempt else 0,
        stderr_tail=_stderr_tail(run_dir, item.index, attempt),
        proof=attempt.proof if attempt else PROOF_NOT_STARTED,
    )


def _answer(run_dir: RunDir, step: int, attempt: Attempt | None) -> tuple[str, bool]:
    """The beginning of the answer.  The answer of a command is its stdout."""
    if attempt is None or not attempt.stdout_bytes:
        return "", False
    page = run_dir.output(step, attempt.number, "stdout", 0, policy.ANSWER_MAX_BYTES)
    truncated = page.size > len(page.data)
    data = page.data[: text.complete_prefix(page.data)] if truncated else page.data
    return text.plain(text.decode(data)), truncated


def _stderr_tail(run_dir: RunDir, step: int, attempt: Attempt | None) -> str:
    if attempt is None or not attempt.stderr_bytes:
        return ""
    size = policy.STDERR_TAIL_BYTES
    return text.plain(text.decode(run_dir.output(step, attempt.number, "stderr", -size, size).data))
