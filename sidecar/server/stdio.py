"""Descriptors 0 and 1, taken over: from then on nobody but the connection can reach the client.

Whoever prints, or writes to descriptor 1 in C, or starts a child that does, ends on stderr; whoever
reads descriptor 0 finds the end of a file. The client's stream itself lives on private descriptors
that no child inherits.

Reading and writing must not block the loop, but ``O_NONBLOCK`` belongs to the open file, which
others may share (a shell and its terminal, a sibling with the same pipe), and an editor that is
killed could never take it back for us. So it is never set on what was inherited:

* a pipe or a terminal is opened anew through ``/proc/self/fd``: an open file of our own;
* a socket (node gives its children sockets) is asked per call, with ``MSG_DONTWAIT``;
* where neither works, each call is preceded by poll(2), and writes are of at most ``PIPE_BUF``
  bytes, which a pipe that polls writable takes without blocking (pipe(7));
* a regular file or a null device never blocks.

This module must never interpret what it moves, and never hold any of it.
"""

import fcntl
import os
import select
import socket
import stat
from collections.abc import Callable
from typing import Final, Protocol

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2


class Source(Protocol):
    """Where bytes come from, without ever blocking."""

    fd: int
    pollable: bool
    """Whether a selector can wait for it; what cannot be waited for is always ready."""

    def read(self, size: int) -> bytes | None:
        """Up to ``size`` bytes, ``b""`` at the end, ``None`` if there is nothing now."""
        ...

    def close(self) -> None:
        """Give the descriptor back."""
        ...


class Sink(Protocol):
    """Where bytes go, without ever blocking."""

    fd: int
    pollable: bool

    def write(self, data: bytes | memoryview) -> int:
        """How many bytes were taken, 0 if none now.  Raises ``OSError`` if nobody reads."""
        ...

    def close(self) -> None:
        """Give the descriptor back."""
        ...


def take_over() -> tuple[Source, Sink]:
    """Move the client's stream off descriptors 0 and 1, for good.

    Raises ``OSError`` (EBADF) if one of them is not open.
    """
    # Above the standard ones: the lowest free number may be that of one that is closed.
    source_fd = fcntl.fcntl(STDIN, fcntl.F_DUPFD_CLOEXEC, STDERR + 1)
    sink_fd = fcntl.fcntl(STDOUT, fcntl.F_DUPFD_CLOEXEC, STDERR + 1)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            os.fstat(STDERR)
        except OSError:
            os.dup2(null, STDERR)
        os.dup2(null, STDIN)
        os.dup2(STDERR, STDOUT)
    finally:
        os.close(null)
    return source_of(source_fd), sink_of(sink_fd)


def source_of(fd: int) -> Source:
    """``fd``, which is given away, as a source."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return SocketEnd(fd)
    if not _is_pollable(fd):
        return FileEnd(fd)
    own = _opened_anew(fd, os.O_RDONLY)
    return PollingEnd(fd) if own is None else OwnEnd(own)


def sink_of(fd: int) -> Sink:
    """``fd``, which is given away, as a sink."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return SocketEnd(fd)
    if not _is_pollable(fd):
        return FileEnd(fd)
    own = _opened_anew(fd, os.O_WRONLY)
    return PollingEnd(fd) if own is None else OwnEnd(own)


class FileEnd:
    """A regular file or a null device: reads and writes do not wait for anybody."""

    pollable = False

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def read(self, size: int) -> bytes | None:
        """See ``Source``."""
        return _quiet_end(lambda: os.read(self.fd, size))

    def write(self, data: bytes | memoryview) -> int:
        """See ``Sink``."""
        return os.write(self.fd, data)

    def close(self) -> None:
        """See ``Source``."""
        os.close(self.fd)


class OwnEnd(FileEnd):
    """A pipe or terminal behind an open file of our own, which is non-blocking."""

    pollable = True

    def read(self, size: int) -> bytes | None:
        """See ``Source``."""
        try:
            return super().read(size)
        except BlockingIOError:
            return None

    def write(self, data: bytes | memoryview) -> int:
        """See ``Sink``."""
        try:
            return super().write(data)
        except BlockingIOError:
            return 0


class PollingEnd(FileEnd):
    """A pipe or terminal that others may share, in the mode in which they left it."""

    pollable = True

    def read(self, size: int) -> bytes | None:
        """See ``Source``."""
        try:
            return super().read(size) if self._polls(select.POLLIN) else None
        except BlockingIOError:
            return None  # it was non-blocking already, and somebody else was faster

    def write(self, data: bytes | memoryview) -> int:
        """See ``Sink``."""
        try:
            return super().write(data[: select.PIPE_BUF]) if self._polls(select.POLLOUT) else 0
        except BlockingIOError:
            return 0

    def _polls(self, event: int) -> bool:
        poll = select.poll()
        poll.register(self.fd, event)
        # A hang-up counts too: the call that follows then tells of it, and does not block.
        return bool(poll.poll(0))


class SocketEnd:
    """A socket; whether to wait is said with each call."""

    pollable = True

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._socket = socket.socket(fileno=fd)

    def read(self, size: int) -> bytes | None:
        """See ``Source``."""
        try:
            return _quiet_end(lambda: self._socket.recv(size, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return None

    def write(self, data: bytes | memoryview) -> int:
        """See ``Sink``."""
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """See ``Source``."""
        self._socket.close()


def is_hung_up(fd: int) -> bool:
    """Whether the other side of ``fd`` will send nothing more, although something may be unread."""
    poll = select.poll()
    poll.register(fd, select.POLLRDHUP)
    return any(
        event & (select.POLLHUP | select.POLLRDHUP | select.POLLERR) for _, event in poll.poll(0)
    )


def _quiet_end(read: Callable[[], bytes]) -> bytes:
    """A terminal that was closed, or a peer that was killed, is an end like any other."""
    try:
        return read()
    except BlockingIOError:
        raise
    except OSError:
        return b""


def _is_pollable(fd: int) -> bool:
    with select.epoll() as epoll:
        try:
            epoll.register(fd, 0)
        except PermissionError:
            return False
    return True


def _opened_anew(fd: int, direction: int) -> int | None:
    """An open file of our own for what ``fd`` is, which is closed; or ``None``, and it is not.

    It may be refused: no /proc, another owner's pipe after a change of user, nobody left to read.
    """
    flags = direction | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        own = os.open(f"/proc/self/fd/{fd}", flags)
    except OSError:
        return None
    if not os.path.sameopenfile(own, fd):
        os.close(own)
        return None
    os.close(fd)
    return own
