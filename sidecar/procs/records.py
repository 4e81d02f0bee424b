"""Reading a warden's record, as adopt does when nobody can be asked any more.

Whether the warden lives is its lock's word, looked at before the lines are read: if the lock is
free, nobody writes any more and what is read is final. A torn last line was never said.

Reading never repairs. This module must stay out of the warden's own import path.
"""

import errno
import fcntl
import os
from dataclasses import dataclass, replace
from typing import assert_never

from sidecar.procs import lines


@dataclass(frozen=True, slots=True, kw_only=True)
class WardenRecord:
    """What a warden has put on record; of facts that were recorded twice, the last one.

    ``is_alive`` is ``None`` where the file system has no locks: unknown, and never treated as dead.
    Times are ms since the epoch. ``exit`` is ``("code"|"signal", n, at)``.
    """

    is_alive: bool | None
    warden: tuple[int, int, str] | None = None
    """pid, start ticks, boot id."""
    agent: tuple[int, int] | None = None
    """pid, start ticks."""
    started_at: int | None = None
    spawn_failed: tuple[int, int, str] | None = None
    """errno, at, detail."""
    runner_vanished_at: int | None = None
    exit: tuple[str, int, int] | None = None
    has_exited_unprompted: bool = False
    """Whether the exit was recorded before the runner was missed: by order, not by clock."""
    proof: "lines.ProofObserved | lines.ProofUnknown | None" = None


def read_record(path: str) -> WardenRecord | None:
    """Read the record at ``path``; ``None`` if there is none, so no warden ever was.

    Raises ``OSError`` if it is there and cannot be read.
    """
    try:
        # Not to wait for a writer, should there be a FIFO of that name.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        is_alive = _is_locked(fd)
        facts, _torn = lines.split(_read_all(fd))
    finally:
        os.close(fd)
    return fold(facts, is_alive=is_alive)


def fold(facts: "list[lines.Fact]", *, is_alive: bool | None) -> WardenRecord:
    """Put the facts of a record together."""
    record = WardenRecord(is_alive=is_alive)
    for fact in facts:
        match fact:
            case ("spawning", pid, ticks, boot, _):
                record = replace(record, warden=(pid, ticks, boot))
            case ("running", pid, ticks, at):
                record = replace(record, agent=(pid, ticks), started_at=at)
            case ("spawn-failed", number, at, detail):
                record = replace(record, spawn_failed=(number, at, detail))
            case ("runner-vanished", at):
                record = replace(record, runner_vanished_at=at)
            case ("exited", how, number, at):
                unprompted = record.runner_vanished_at is None
                ending = (how, number, at)
                record = replace(record, exit=ending, has_exited_unprompted=unprompted)
            case ("proof", "observed", _, _, _) | ("proof", "unknown", _, _, _):
                record = replace(record, proof=fact)
            case _:
                assert_never(fact)
    return record


def _is_locked(fd: int) -> bool | None:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as refused:
        if refused.errno in {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}:
            return None
        raise
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _read_all(fd: int) -> bytes:
    data = b""
    while part := os.read(fd, 65_536):
        data += part
    return data
