"""The output of one attempt: two pipes, two logs, and when enough of it has come.

Owns the log descriptors.  After the agent's exit its output may be held open by others; what is
there is taken until it was silent for 2 s, or 8 s have passed in all (``core.policy``).  While the
storage refuses, nothing is given up: the bytes are in the pipe, and the ending waits for them.  A
log that something else stands in the place of is tried again as well, but no ending waits for it.

This module must never look into the output, and never wait.  Times are monotonic milliseconds.
"""

import contextlib
import errno
import os
from collections.abc import Iterator

from sidecar.core import policy
from sidecar.core.errors import StorageError
from sidecar.procs import pump
from sidecar.store import attempts, layout

# What may pass by itself; a link or a missing directory does not.
_PASSING = frozenset(errno.errorcode[number] for number in pump.STORAGE_ERRNOS)

_STREAMS = (("stdout", layout.STDOUT_LOG), ("stderr", layout.STDERR_LOG))


class _Stream:
    """One pipe and its log; the log is opened when the storage lets."""

    def __init__(self, source_fd: int, path: str) -> None:
        self.source_fd = source_fd
        self.state = pump.OPEN
        self.is_lost = False
        """Whether the log cannot be opened for a reason that will not pass."""
        self._path = path
        self._log_fd = -1
        self._pump: pump.Pump | None = None

    @property
    def size(self) -> int:
        return self._pump.size if self._pump is not None else 0

    def step(self) -> None:
        """Moves what is there; ``state`` tells how that went."""
        if self.state == pump.EOF:
            return
        if self._pump is None:
            try:
                self._log_fd = attempts.open_log(self._path)
            except StorageError as exc:
                self.state = pump.BLOCKED
                self.is_lost = exc.errno_name not in _PASSING
                return
            self.is_lost = False
            self._pump = pump.Pump(self.source_fd, self._log_fd)
        self.state = self._pump.step()

    def move(self, path: str) -> None:
        """Goes on in a new log, at the old offsets: what was before is a hole."""
        size = self.size
        self.close()
        self._path, self._pump, self.is_lost = path, None, False
        with contextlib.suppress(StorageError, OSError):  # then it is tried again like any log
            self._log_fd = attempts.open_log(path)
            os.ftruncate(self._log_fd, size)
            self._pump = pump.Pump(self.source_fd, self._log_fd)

    def close(self) -> None:
        if self._log_fd != -1:
            os.close(self._log_fd)
            self._log_fd = -1


class Output:
    """Both streams of an attempt."""

    def __init__(self, attempt_dir: str, stdout_fd: int, stderr_fd: int) -> None:
        fds = (stdout_fd, stderr_fd)
        self._streams = [
            _Stream(fd, os.path.join(attempt_dir, name))
            for fd, (_, name) in zip(fds, _STREAMS, strict=True)
        ]
        self._grown_at = 0
        self._draining_since: int | None = None
        self._retry_at: int | None = None
        self.is_done = False
        """Whether nothing more is taken: everything is in the logs, or draining was given up."""

    @property
    def stdout_bytes(self) -> int:
        """The size of the stdout log."""
        return self._streams[0].size

    @property
    def stderr_bytes(self) -> int:
        """The size of the stderr log."""
        return self._streams[1].size

    @property
    def total(self) -> int:
        """Both logs together."""
        return self.stdout_bytes + self.stderr_bytes

    @property
    def is_complete(self) -> bool:
        """Whether both streams came to their end."""
        return all(stream.state == pump.EOF for stream in self._streams)

    @property
    def _is_blocked(self) -> bool:
        return any(stream.state == pump.BLOCKED for stream in self._streams)

    @property
    def _is_waited_for(self) -> bool:
        """Whether a stream is blocked that the ending has to wait for."""
        return any(stream.state == pump.BLOCKED and not stream.is_lost for stream in self._streams)

    def descriptors(self) -> Iterator[int]:
        """What to poll; a blocked or finished stream would only spin."""
        if not self.is_done:
            for stream in self._streams:
                if stream.state == pump.OPEN:
                    yield stream.source_fd

    def drain(self, now: int) -> None:
        """The agent is gone: from now on the silence is measured."""
        if self._draining_since is None:
            self._draining_since = now
            self._grown_at = max(self._grown_at, now)

    def next_at(self) -> int | None:
        """When ``step`` has something to do without any descriptor being ready."""
        if self.is_done:
            return None
        limit = None if self._is_waited_for else self._drain_limit()
        times = (self._retry_at if self._is_blocked else None, limit)
        return min((at for at in times if at is not None), default=None)

    def _drain_limit(self) -> int | None:
        if self._draining_since is None:
            return None
        if self.is_complete:
            return self._draining_since
        return min(
            self._grown_at + policy.DRAIN_SILENCE_MS,
            self._draining_since + policy.DRAIN_TOTAL_MS,
        )

    def step(self, now: int) -> bool:
        """Takes what is there.  True the one time that draining comes to its end."""
        if self.is_done:
            return False
        before = self.total
        for stream in self._streams:
            stream.step()
        if self.total > before:
            self._grown_at = now
        if self._is_blocked:
            self._retry_at = now + policy.STORAGE_RETRY_MS
        if self._is_waited_for:
            return False
        limit = self._drain_limit()
        if limit is None or not (self.is_complete or now >= limit):
            return False
        self.is_done = True
        return True

    def move(self, attempt_dir: str) -> None:
        """Goes on in logs in another directory."""
        for stream, (_, name) in zip(self._streams, _STREAMS, strict=True):
            stream.move(os.path.join(attempt_dir, name))

    def close(self) -> None:
        """Closes the logs; the pipes belong to the warden's handle."""
        self.is_done = True
        for stream in self._streams:
            stream.close()
