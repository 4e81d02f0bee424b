"""How a warden tells what it found: first to its record, then to its runner.

The record outlives both, so a finding that matters is durable before anybody hears it. If the disk
refuses, the finding is held in memory and tried again, and the runner is told all the same: the
truth must not wait for a full disk, only its copy may.

It must never decide what is told, and import only what the boot path may.
"""

import errno
import fcntl
import posix

from sidecar.procs import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sidecar.procs.lines import Fact

RECORD = "warden"

# A prober takes the lock, shared, for a moment; it is gone again long before these are used up.
_LOCK_TRIES = 200
_LOCK_PAUSE_MS = 5

_NO_LOCKS = frozenset((errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS))
_NO_LINKS = frozenset((errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK))


class Teller:
    """A warden's record and its end of the socket.

    ``unwritten`` says that the record is behind; call ``flush`` now and then until it is not.
    """

    def __init__(self, sock_fd: int) -> None:
        """Begin without a record: until ``open_record`` only the runner is told."""
        self.sock_fd = sock_fd
        self._record_fd = -1
        self._unwritten = b""
        self._unsynced = False
        self._unsent = b""
        self._unread = b""
        self._nobody_hears = False
        self.is_deaf = False
        """Whether the runner's end is closed: nothing more will be heard, all that was said has."""

    @property
    def unwritten(self) -> bool:
        """Whether something told is not durable in the record yet."""
        return self._record_fd != -1 and (bool(self._unwritten) or self._unsynced)

    @property
    def unsent(self) -> bool:
        """Whether something told is still to be sent."""
        return bool(self._unsent) and not self._nobody_hears

    def open_record(self, attempt_fd: int, first: "Fact") -> None:
        """Make the record, locked and with its first line, visible at once or not at all.

        Raises ``OSError``: ``EEXIST`` if another warden has, or had, this attempt.
        """
        draft = f"{RECORD}.{posix.getpid()}.new"
        flags = posix.O_RDWR | posix.O_CREAT | posix.O_EXCL | posix.O_APPEND
        flags |= posix.O_NOFOLLOW | posix.O_CLOEXEC
        record_fd = posix.open(draft, flags, 0o600, dir_fd=attempt_fd)
        try:
            _lock(record_fd)
            _write_whole(record_fd, lines.encode(first))
            _publish(draft, attempt_fd)
        except OSError:
            posix.unlink(draft, dir_fd=attempt_fd)
            posix.close(record_fd)
            raise
        self._record_fd = record_fd

    def close_record(self) -> None:
        """Let the lock fall: all is said, and whoever waits for this warden need not any more."""
        if self._record_fd != -1:
            posix.close(self._record_fd)
            self._record_fd = -1

    def tell(self, fact: "Fact", *, durable: bool) -> None:
        """Record a fact, ``durable`` with fdatasync, then send it; never blocks on the runner."""
        line = lines.encode(fact)
        if self._record_fd != -1:
            self._unwritten += line
            self._unsynced = self._unsynced or durable
            self.flush()
        self._unsent += line
        self.send()

    def note(self, fact: "Fact") -> None:
        """Record a fact that is no news to any runner."""
        if self._record_fd != -1:
            self._unwritten += lines.encode(fact)
            self.flush()

    def flush(self) -> bool:
        """Bring the record up to date; whether it is. What the disk refuses stays for later."""
        try:
            while self._unwritten:
                n_bytes = posix.write(self._record_fd, self._unwritten)
                self._unwritten = self._unwritten[n_bytes:]
            if self._unsynced:
                _sync(self._record_fd)
                self._unsynced = False
        except OSError:
            return False  # whatever it is, the finding must not be lost to it: the caller bounds it
        return True

    def send(self) -> None:
        """Send what the socket takes."""
        while self.unsent:
            try:
                n_bytes = posix.write(self.sock_fd, self._unsent)
            except BlockingIOError:
                return
            except OSError:
                # Whoever listened has gone; what it said before, maybe bye, is still to be heard.
                self._nobody_hears = True
                return
            self._unsent = self._unsent[n_bytes:]

    def hear(self) -> list[list[str]]:
        """Read what the runner says, as words; sets ``is_deaf`` once it can say no more."""
        while True:
            try:
                data = posix.read(self.sock_fd, 4096)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.is_deaf = True
                break
            self._unread += data
        *said, self._unread = self._unread.split(b"\n")
        return [line.decode("ascii", "replace").split(" ") for line in said]


def _sync(fd: int) -> None:
    sync = getattr(posix, "fdatasync", posix.fsync)  # not every system has the cheaper one
    sync(fd)


def _lock(record_fd: int) -> None:
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(record_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            import select  # hardly ever needed, and an agent is waiting to be started

            select.poll().poll(_LOCK_PAUSE_MS)
        except OSError as refused:
            if refused.errno in _NO_LOCKS:
                return  # liveness is unknown on such a file system, and unknown is not dead
            raise
        else:
            return
    raise BlockingIOError(errno.EAGAIN, "the record is locked by another")


def _write_whole(fd: int, line: bytes) -> None:
    if posix.write(fd, line) != len(line):
        raise OSError(errno.ENOSPC, posix.strerror(errno.ENOSPC))


def _publish(draft: str, attempt_fd: int) -> None:
    # A link, because it refuses to replace: of two wardens for one attempt one learns of the other.
    try:
        posix.link(draft, RECORD, src_dir_fd=attempt_fd, dst_dir_fd=attempt_fd)
    except OSError as refused:
        if refused.errno not in _NO_LINKS:
            raise
        posix.rename(draft, RECORD, src_dir_fd=attempt_fd, dst_dir_fd=attempt_fd)
    else:
        posix.unlink(draft, dir_fd=attempt_fd)
