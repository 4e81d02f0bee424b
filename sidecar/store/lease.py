"""The lease: who leads a run, told by the kernel.

An exclusive flock(2) on ``<run>/lease``, taken before the run is visible and handed on as an open
descriptor, so that there is no moment in which a live run is unheld.  It falls when the last
descriptor of it is closed, by whatever death.

Every descriptor made here is closed on exec.  A fork inherits it all the same, and must close it
first thing: a leaked lease makes a run immortal.  This module must never unlock by ``LOCK_UN``,
which would take the lock away from everybody who shares the descriptor, and must never make a
second lease file where the first one is missing: its holder may live.
"""

import os
from enum import StrEnum

from sidecar.core.errors import Bug
from sidecar.store import layout, locks
from sidecar.store.atomic import (
    FILE_MODE,
    make_private,
    open_dir,
    read_error,
    require_regular,
    storage_error,
)

_OPEN_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PROBE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_SPINS = 100
"""How often in a row a taker meets nobody but probers before it pauses; each holds for a few
microseconds."""


class Holding(StrEnum):
    """What can be said of a lease.  ``UNKNOWN`` is never treated as ``FREE``."""

    HELD = "held"
    FREE = "free"
    UNKNOWN = "unknown"
    """No locks on this file system, no rights, no descriptors left, or no lease file."""


class Lease:
    """The right to write a run's status, events and result.  Falls with ``release`` or death."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def create(cls, run_dir: str) -> "Lease":
        """Makes and takes the lease of a run directory that is being built.

        Raises ``StorageError``; also where the file system has no locks, since nothing could ever
        be said of such a run.
        """
        path = f"{run_dir}/{layout.LEASE}"
        fd = -1
        try:
            fd = _open(run_dir, _OPEN_FLAGS | os.O_CREAT | os.O_EXCL)
            make_private(fd)
            if _lock_despite_probers(fd):
                lease, fd = cls(fd), -1
                return lease
        except OSError as exc:
            raise storage_error("take the lease", path, exc) from exc
        finally:
            if fd >= 0:
                os.close(fd)
        raise Bug(f"somebody holds the lease of a run that is only being made: {path}")

    @classmethod
    def take(cls, run_dir: str, *, tries: int = 5, pause_ms: int = 5) -> "Lease | None":
        """The lease, or ``None`` if somebody else holds it or there is no lease file.

        A loser tries ``tries`` times in all, ``pause_ms`` apart, since a holder may be just about
        to vanish.  Probers, who hold a shared lock for a moment, never make it lose.  Raises
        ``StorageError`` or ``DamagedRun`` if the lease cannot be looked at.
        """
        path = f"{run_dir}/{layout.LEASE}"
        fd = -1
        try:
            fd = _open(run_dir, _OPEN_FLAGS)
            require_regular(fd)
            if _lock(fd, tries, pause_ms) and locks.is_still_at(fd, path):
                lease, fd = cls(fd), -1
                return lease
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise read_error(path, exc) from exc
        finally:
            if fd >= 0:
                os.close(fd)
        return None

    @classmethod
    def inherit(cls, fd: int) -> "Lease":
        """The lease that was handed over as descriptor ``fd``; never handed on by accident.

        Raises ``Bug`` if it is not held through this descriptor: locking it once more succeeds at
        once for whoever shares the lock, and for nobody else.
        """
        try:
            os.set_inheritable(fd, False)
            held = locks.try_lock(fd)
        except OSError as exc:
            raise Bug(f"descriptor {fd} is no lease: {exc.strerror}") from exc
        if not held:
            raise Bug(f"the lease on descriptor {fd} is held by somebody else")
        return cls(fd)

    @property
    def fd(self) -> int:
        """The descriptor that carries the lock, to be handed to a runner."""
        self.require_held()
        return self._fd

    def require_held(self) -> None:
        """Raises ``Bug`` if the lease was released."""
        if self._fd < 0:
            raise Bug("the lease was released")

    def release(self) -> None:
        """Closes this descriptor.  The lock stays with whoever it was handed to.  Idempotent."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


def probe(run_dir: str) -> Holding:
    """Whether anybody leads the run.  Never waits, never raises, and disturbs nobody."""
    try:
        fd = _open(run_dir, _PROBE_FLAGS)
    except OSError:
        return Holding.UNKNOWN  # whatever the reason: nothing was learnt
    try:
        require_regular(fd)
        return Holding.FREE if locks.try_lock(fd, shared=True) else Holding.HELD
    except OSError:
        return Holding.UNKNOWN  # no file of ours; ENOLCK, EOPNOTSUPP: no locks here
    finally:
        os.close(fd)


def _open(run_dir: str, flags: int) -> int:
    dir_fd = open_dir(run_dir)
    try:
        return os.open(layout.LEASE, flags, FILE_MODE, dir_fd=dir_fd)
    finally:
        os.close(dir_fd)


def _lock(fd: int, tries: int, pause_ms: int) -> bool:
    for number in range(tries):
        if number:
            locks.pause(pause_ms)
        if _lock_despite_probers(fd):
            return True
    return False


def _lock_despite_probers(fd: int) -> bool:
    """Whether the exclusive lock was to be had while nobody holds an exclusive one.

    If the exclusive lock is refused but a shared one is not, only probers (or other takers who
    are at this same point) are in the way, and they go away by themselves.
    """
    for _ in range(_SPINS):
        if locks.try_lock(fd):
            return True
        if not locks.try_lock(fd, shared=True):
            return False
    return locks.try_lock(fd)  # a refusal also gives the shared lock back, flock(2)
