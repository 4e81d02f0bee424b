"""A runner's end of its warden: what it may say, what it hears, and the descriptors it was given.

It must never wait, reap or decide: the runner's one loop polls ``sock_fd`` and the outputs, and
collects the warden's exit. It imports only what the boot path may.
"""

import posix

from sidecar.procs import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from sidecar.procs.lines import Fact
else:
    import _signal

_READ_SIZE = 65_536


class WardenHandle:
    """The runner's side of one attempt.

    ``pid`` is the warden's: a child of this process until it is reaped. ``sock_fd``, ``stdout_fd``
    and ``stderr_fd`` are non-blocking, ``stdin_fd`` (the agent's input, if the order says ``pipe``)
    too. ``is_over`` is set once the warden has closed its end of the socket, that is, has ended.
    """

    __slots__ = ("_unread", "is_over", "pid", "sock_fd", "stderr_fd", "stdin_fd", "stdout_fd")

    def __init__(
        self, pid: int, sock_fd: int, stdout_fd: int, stderr_fd: int, stdin_fd: int | None
    ) -> None:
        """Own the descriptors from now on."""
        self.pid = pid
        self.sock_fd = sock_fd
        self.stdout_fd = stdout_fd
        self.stderr_fd = stderr_fd
        self.stdin_fd = stdin_fd
        self.is_over = False
        self._unread = b""

    def send_end(self, grace_ms: int) -> bool:
        """Ask for the end of the tree; doing it again can only shorten the grace.

        All three say whether the warden's socket took the words; one that has ended takes none,
        and then the runner hears of that by ``is_over``.
        """
        return self._send(b"end %d\n" % max(0, grace_ms))

    def send_signal(self, number: int) -> bool:
        """Ask for one signal to the agent itself, and to nobody else."""
        return self._send(b"signal %d\n" % number)

    def bye(self) -> bool:
        """Say that nothing more is wanted: the warden ends, and nobody has vanished."""
        return self._send(b"bye\n")

    def read_messages(self) -> "list[Fact]":
        """Everything the warden has said since the last time; sets ``is_over`` at its end."""
        while not self.is_over:
            try:
                data = posix.read(self.sock_fd, _READ_SIZE)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""  # it ended without having heard all we said
            self.is_over = not data
            self._unread += data
        facts, self._unread = lines.split(self._unread)
        return facts

    def wake(self) -> None:
        """Let a warden go on that somebody has stopped: it would hear nothing, and end nothing.

        Only before the runner has reaped it: until then the pid is its own.
        """
        from sidecar.procs import tree  # behind the agent's start, for which nothing must wait

        tree.send_to_child(self.pid, _signal.SIGCONT)

    def close_stdin(self) -> None:
        """Let the agent's input end; may be done twice."""
        if self.stdin_fd is not None:
            posix.close(self.stdin_fd)
            self.stdin_fd = None

    def close(self) -> None:
        """Close every descriptor; once only. Without ``bye`` before, it means vanishing."""
        self.close_stdin()
        for fd in (self.sock_fd, self.stdout_fd, self.stderr_fd):
            posix.close(fd)

    def _send(self, line: bytes) -> bool:
        try:
            return posix.write(self.sock_fd, line) == len(line)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            return False
