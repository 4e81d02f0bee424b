"""The output of an attempt whose logs cannot be opened: waited for, or given up, never spun on."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.core import policy
from sidecar.core.errors import StorageError
from sidecar.runner.output import Output
from sidecar.store import attempts


class Piped:
    """An ``Output`` and the writing ends of its pipes."""

    def __init__(self, attempt_dir: Path) -> None:
        self.pipes = [os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) for _ in range(2)]
        self.output = Output(str(attempt_dir), self.pipes[0][0], self.pipes[1][0])

    def close(self) -> None:
        self.output.close()
        for fd in (*self.pipes[0], *self.pipes[1]):
            os.close(fd)


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[Piped]:
    found = Piped(tmp_path)
    yield found
    found.close()


def test_no_end_waits_for_a_log_that_something_else_stands_in_the_place_of(
    piped: Piped, tmp_path: Path
) -> None:
    (tmp_path / "stdout.log").symlink_to(tmp_path / "elsewhere")
    os.write(piped.pipes[0][1], b"never to be kept")
    output = piped.output
    assert not output.step(0)
    assert output.next_at() == policy.STORAGE_RETRY_MS
    output.drain(1000)
    assert not output.step(1000)
    assert not output.step(1000 + policy.DRAIN_SILENCE_MS - 1)
    next_at = output.next_at()
    assert next_at is not None
    assert next_at >= 1000 + policy.DRAIN_SILENCE_MS
    assert output.step(1000 + policy.DRAIN_SILENCE_MS)
    assert not output.is_complete
    assert not (tmp_path / "elsewhere").exists()


def test_every_end_waits_for_a_disk_that_is_full_for_now(
    piped: Piped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> int:
        raise StorageError("full", errno_name="ENOSPC")

    output = piped.output
    os.write(piped.pipes[0][1], b"kept")
    output.drain(0)
    with monkeypatch.context() as full:
        full.setattr(attempts, "open_log", refuse)
        for now in (0, policy.DRAIN_TOTAL_MS, 10 * policy.DRAIN_TOTAL_MS):
            assert not output.step(now)
            assert output.next_at() == now + policy.STORAGE_RETRY_MS
    assert output.step(11 * policy.DRAIN_TOTAL_MS)
    assert (tmp_path / "stdout.log").read_bytes() == b"kept"
