"""flock(2), tried or awaited for a bounded time.

The kernel drops such a lock when its last holder is gone, whatever ended it, so nothing here ever
has to judge whether a lock is stale.

This module must never wait without a bound: a stopped process may hold any lock for ever.
"""

import fcntl
import os
import select
import time

from sidecar.store import atomic

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PAUSE_MS = 1
_LONGEST_PAUSE_MS = 20


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Whether the lock was to be had at once.  Raises ``OSError`` where there are no locks."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_within(fd: int, wait_ms: int, *, shared: bool = False) -> bool:
    """Whether the lock was to be had within ``wait_ms``.  Raises ``OSError``, as above."""
    ends_at = time.monotonic() + wait_ms / 1000
    pause_ms = _PAUSE_MS
    while not try_lock(fd, shared=shared):
        if time.monotonic() >= ends_at:
            return False
        pause(pause_ms)
        pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
    return True


def open_locked(path: str, wait_ms: int, *, dir_fd: int | None = None) -> int | None:
    """A descriptor of the file ``path``, made if it is missing, once it is locked; ``None`` if that
    takes longer than ``wait_ms``.  Raises ``OSError``, also for a link."""
    fd = os.open(path, _FLAGS, atomic.FILE_MODE, dir_fd=dir_fd)
    try:
        atomic.make_private(fd)
        if lock_within(fd, wait_ms):
            kept, fd = fd, -1
            return kept
    finally:
        if fd >= 0:
            os.close(fd)
    return None


def pause(pause_ms: int) -> None:
    """Lets ``pause_ms`` pass.  The kernel tells nobody when a lock becomes free."""
    select.poll().poll(pause_ms)


def is_still_at(fd: int, path: str) -> bool:
    """Whether ``path`` still names the open file: a lock on one that was replaced locks nobody."""
    try:
        named = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(fd), named)
