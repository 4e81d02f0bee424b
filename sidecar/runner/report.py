"""The result of a run, put together from its final state and its logs.

Owns what of an agent's output goes into result.json: the beginning of the answer, the end of
stderr, as plain text.  The logs themselves stay whole.  An agent may do to its logs what it likes:
of one that is not to be read any more there is nothing to tell, and the run ends all the same.

This module must never decide an outcome.
"""

from sidecar.core import policy, text
from sidecar.core.errors import DamagedRun, StorageError
from sidecar.core.result import RunResult, StepResult
from sidecar.core.states import PROOF_NOT_STARTED, Attempt, Outcome, Run, Step, run_proof
from sidecar.store.rundir import OutputBytes, RunDir, Stream

_NOTHING = OutputBytes(data=b"", offset=0, next_offset=0, size=0)


def build(run_dir: RunDir, run: Run, outcome: Outcome, now: int) -> RunResult:
    """The result of ``run``, ended at ``now`` (ms since the epoch) with ``outcome``.

    Raises ``StorageError`` while a log cannot be read for the moment: the result waits for it.
    """
    return RunResult(
        run_id=run.run_id,
        outcome=outcome,
        ended_at=now,
        duration_ms=max(0, now - run.started_at) if run.started_at is not None else 0,
        proof=run_proof(run),
        steps=tuple(_step(run_dir, item) for item in run.steps),
    )


def preview(run_dir: RunDir, step: int, attempt: int) -> str:
    """The last line of an attempt's stdout that a person could read; never raises."""
    size = policy.STDERR_TAIL_BYTES
    try:
        return text.last_line(_read(run_dir, step, attempt, "stdout", -size, size).data)
    except StorageError:
        return ""  # no descriptors for the moment: not worth that an ending waits


def log_size(run_dir: RunDir, step: int, attempt: int, stream: Stream) -> int:
    """How many bytes an attempt's log holds.  Raises ``StorageError``."""
    return _read(run_dir, step, attempt, stream, 0, 0).size


def runner_log_tail(run_dir: RunDir) -> str:
    """The last words of the runner before this one, as one plain line; mostly none."""
    try:
        tail = run_dir.runner_log_tail(policy.RUNNER_LOG_TAIL_BYTES)
    except (DamagedRun, StorageError):
        return ""  # they only explain
    return text.one_line(text.decode(tail), policy.RUNNER_LOG_TAIL_BYTES)


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
    page = _read(run_dir, step, attempt.number, "stdout", 0, policy.ANSWER_MAX_BYTES)
    truncated = page.size > len(page.data)
    data = page.data[: text.complete_prefix(page.data)] if truncated else page.data
    return text.plain(text.decode(data)), truncated


def _stderr_tail(run_dir: RunDir, step: int, attempt: Attempt | None) -> str:
    if attempt is None or not attempt.stderr_bytes:
        return ""
    size = policy.STDERR_TAIL_BYTES
    page = _read(run_dir, step, attempt.number, "stderr", -size, size)
    return text.plain(text.decode(page.data))


def _read(  # noqa: PLR0913 - a page has an address: attempt, stream, offset, length
    run_dir: RunDir, step: int, attempt: int, stream: Stream, offset: int, limit: int
) -> OutputBytes:
    try:
        return run_dir.output(step, attempt, stream, offset, limit)
    except DamagedRun:
        return _NOTHING  # a link, or without the right to be read: nothing that will pass
