"""Taking over an agent's output after its runner has vanished.

The warden holds duplicates of the pipes' read ends, so nothing was lost and the agent got no
SIGPIPE. It goes on where each log ends, until the end of the output or, once the tree is gone, for
as long as somebody outside of it may hold the pipes open (``core.policy``).

It must never run beside a living runner: a log has one writer. It imports only what the boot path
may.
"""

import posix

from sidecar.core import policy
from sidecar.procs import pump

# A full disk is worth waiting for, since the bytes exist nowhere else; but not for ever.
STORAGE_PATIENCE_MS = 600_000


class Drain:
    """Both outputs of one attempt; advanced by a loop that owns the clock."""

    def __init__(self, attempt_fd: int, stdout_fd: int, stderr_fd: int) -> None:
        """Take the directory of the logs and the read ends of the pipes; opens nothing yet."""
        self._streams = (
            _Stream(attempt_fd, "stdout.log", stdout_fd),
            _Stream(attempt_fd, "stderr.log", stderr_fd),
        )
        self._settled_at: int | None = None
        self._bound_from = 0
        self._silent_from = 0

    def readable_fds(self) -> list[int]:
        """What to wait for: pipes that may bring more and whose log takes it."""
        return [stream.fd for stream in self._streams if stream.state == pump.OPEN]

    def settle(self, now_ms: int) -> None:
        """Say that the tree is gone, or given up: from now on the end is bounded."""
        if self._settled_at is None:
            self._settled_at = self._bound_from = now_ms
            self._silent_from = max(self._silent_from, now_ms)

    def step(self, now_ms: int) -> None:
        """Move what is there."""
        for stream in self._streams:
            if stream.state != pump.EOF and stream.step():
                self._silent_from = now_ms
        if self._is_blocked():
            # Silence and patience count from when the log takes bytes again.
            self._bound_from = self._silent_from = now_ms

    def ends_at(self) -> int | None:
        """When it is over if nothing more comes: 0 at the end of both, ``None`` if unbounded."""
        if all(stream.state == pump.EOF for stream in self._streams):
            return 0
        if self._settled_at is None:
            return None
        if self._is_blocked():
            return self._settled_at + STORAGE_PATIENCE_MS
        return min(
            self._silent_from + policy.DRAIN_SILENCE_MS,
            self._bound_from + policy.DRAIN_TOTAL_MS,
        )

    def retry_at(self, now_ms: int) -> int | None:
        """When to try a log again that could not be written; ``None`` if both can."""
        return now_ms + policy.STORAGE_RETRY_MS if self._is_blocked() else None

    def _is_blocked(self) -> bool:
        return any(stream.state == pump.BLOCKED for stream in self._streams)


class _Stream:
    """One pipe, and its log once that could be opened."""

    __slots__ = ("_attempt_fd", "_name", "_pump", "fd", "state")

    def __init__(self, attempt_fd: int, name: str, fd: int) -> None:
        self.fd = fd
        self.state = pump.OPEN
        self._attempt_fd = attempt_fd
        self._name = name
        self._pump: pump.Pump | None = None

    def step(self) -> bool:
        """Whether bytes have moved."""
        if self._pump is None:
            self._open()
        if self._pump is None:
            return False
        size = self._pump.size
        self.state = self._pump.step()
        return self._pump.size > size

    def _open(self) -> None:
        # Not for appending: see Pump.
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC
        try:
            log_fd = posix.open(self._name, flags, 0o600, dir_fd=self._attempt_fd)
        except OSError as refused:
            # Of a log that cannot come back (its directory was removed) nothing can be saved.
            is_passing = refused.errno in pump.STORAGE_ERRNOS
            self.state = pump.BLOCKED if is_passing else pump.EOF
        else:
            self._pump = pump.Pump(self.fd, log_fd)
