"""Moving an agent's output from its pipe into its log, so that no death of ours can lose a byte.

Splice moves bytes inside the kernel: they are in the pipe or in the log, never only in us. Where a
file system refuses it, bytes are read, kept, and written, and a kill in between costs what is kept.
A log that cannot be written (full disk) leaves the bytes where they are: the agent waits, alive.

It must never wait, close a descriptor or look at what it moves, and import only what the boot path
may.
"""

import errno
import fcntl
import posix

OPEN = "open"
EOF = "eof"
BLOCKED = "blocked"

# What a storage may say for a while; anything else is a mistake of ours and is raised.
STORAGE_ERRNOS = frozenset(
    (
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.EROFS,
        errno.EFBIG,
        errno.ENOMEM,
        errno.ENOBUFS,
        errno.ESTALE,
        # Of a disk behind a network, or behind a process (FUSE), that is away.
        errno.ENOTCONN,
        errno.ETIMEDOUT,
        errno.EHOSTDOWN,
        errno.EREMOTEIO,
    )
)

STEP_LIMIT = 1 << 20
_READ_SIZE = 1 << 16


class Pump:
    """One pipe and its log.

    ``src_fd`` is non-blocking; ``log_fd`` must not be opened for appending, because the place of
    each byte is said explicitly, from the size that the log has now. ``size`` is the log's size;
    ``errno`` what the storage said last, 0 if nothing. Raises ``ValueError`` on an appending log.
    """

    __slots__ = ("_kept", "_log_fd", "_splices", "_src_fd", "errno", "size")

    def __init__(self, src_fd: int, log_fd: int, *, splices: bool = True) -> None:
        """Continue the log where it ends; ``splices=False`` reads and writes from the start."""
        if fcntl.fcntl(log_fd, fcntl.F_GETFL) & posix.O_APPEND:
            raise ValueError("a log that is only appended to cannot be pumped into")
        self.size = posix.fstat(log_fd).st_size
        self.errno = 0
        self._src_fd = src_fd
        self._log_fd = log_fd
        self._splices = splices and hasattr(posix, "splice")
        self._kept = b""

    def step(self, limit: int = STEP_LIMIT) -> str:
        """Move what is there, about ``limit`` bytes at most.

        Returns ``open`` (empty for now, or the limit is reached), ``eof`` (nobody can write any
        more and all is in the log) or ``blocked`` (see ``errno``; try again later).
        """
        self.errno = 0
        moved = 0
        while moved < limit:
            try:
                n_bytes = self._move(limit - moved)
            except BlockingIOError:
                return OPEN
            except OSError as refused:
                if refused.errno not in STORAGE_ERRNOS:
                    raise
                self.errno = refused.errno
                return BLOCKED
            if n_bytes == 0:
                return EOF
            moved += n_bytes
        return OPEN

    def _move(self, limit: int) -> int:
        if self._splices:
            try:
                n_bytes = posix.splice(self._src_fd, self._log_fd, limit, offset_dst=self.size)
            except OSError as refused:
                if refused.errno not in {errno.EINVAL, errno.ENOSYS}:
                    raise
                self._splices = False  # this file system cannot
            else:
                self.size += n_bytes
                return n_bytes
        if not self._kept:
            self._kept = posix.read(self._src_fd, min(limit, _READ_SIZE))
            if not self._kept:
                return 0
        n_bytes = posix.pwrite(self._log_fd, self._kept, self.size)
        self.size += n_bytes
        self._kept = self._kept[n_bytes:]
        return n_bytes
