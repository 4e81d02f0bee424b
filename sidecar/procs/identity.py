"""Is this pid still that process: raw start ticks and the boot they belong to, nothing derived.

A wall clock can be set, a start tick cannot: identity is (pid, start ticks, boot id), compared as
they are. A zombie is dead for every question. Identity is for signals and for people; that a run is
alive is the lease's word alone.

It must never send a signal that does anything, and import only what the boot path may.
"""

import posix

STAT_SIZE = 4096
# Behind the name; the start ticks are the last one that is looked at.
_FIELDS_USED = 20

ZOMBIE_STATES = frozenset((b"Z", b"X", b"x"))

ALIVE = "alive"
DEAD = "dead"
UNKNOWN = "unknown"


class Stat:
    """What ``/proc/PID/stat`` says of one process at one moment; ``ticks`` since the boot."""

    __slots__ = ("parent", "pgrp", "pid", "session", "state", "ticks")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        """Take the fields behind the name, that is from field 3 of proc(5) on."""
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        self.pgrp = int(fields[2])
        self.session = int(fields[3])
        self.ticks = int(fields[19])

    @property
    def is_zombie(self) -> bool:
        """Whether it is over and only its exit status is left."""
        return self.state in ZOMBIE_STATES


def stat_of(pid: int) -> Stat | None:
    """Look at a process; ``None`` if there is none. Raises ``OSError`` if looking is refused."""
    try:
        fd = posix.open(f"/proc/{pid}/stat", posix.O_RDONLY | posix.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        data = posix.read(fd, STAT_SIZE)
    except ProcessLookupError:
        return None  # it was reaped between the two calls
    finally:
        posix.close(fd)
    return parse_stat(pid, data)


def parse_stat(pid: int, data: bytes) -> Stat | None:
    """Take a stat line apart; ``None`` if it is none.

    The name, field 2, is whatever the process likes, brackets and blanks included; the last closing
    bracket is its end, because nothing behind it can hold one.
    """
    fields = data[data.rfind(b")") + 1 :].split(None, _FIELDS_USED)
    try:
        return Stat(pid, fields)
    except (IndexError, ValueError):
        return None


def start_ticks(pid: int) -> int | None:
    """Field 22 of ``/proc/PID/stat`` as it is; ``None`` if there is no such process to look at."""
    try:
        stat = stat_of(pid)
    except OSError:
        return None
    return None if stat is None else stat.ticks


def boot_id() -> str:
    """Name the boot that start ticks count from; empty where there is no name."""
    try:
        fd = posix.open("/proc/sys/kernel/random/boot_id", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return posix.read(fd, 64).decode("ascii", "replace").strip()
    finally:
        posix.close(fd)


def state_of(pid: int, ticks: int, boot: str) -> str:
    """Say whether the process recorded as (pid, start ticks, boot id) is alive, dead or unknown.

    A pid that now belongs to another process, and any pid of another boot, is a dead one. What may
    not be looked at is ``unknown``, and unknown is never treated as dead.
    """
    here = boot_id()
    if not here or not boot:
        return UNKNOWN
    if here != boot:
        return DEAD
    try:
        stat = stat_of(pid)
    except OSError:
        return UNKNOWN
    if stat is None:
        return _state_of_unseen(pid)
    return DEAD if stat.is_zombie or stat.ticks != ticks else ALIVE


def _state_of_unseen(pid: int) -> str:
    # /proc may be hiding the processes of others (hidepid): only the kernel's own no is a no.
    try:
        posix.kill(pid, 0)
    except ProcessLookupError:
        return DEAD
    except OSError:
        return UNKNOWN
    return UNKNOWN
