"""The client's stream on private descriptors: whatever it is, never blocking, never changed."""

import fcntl
import os
import pty
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sidecar.server import stdio
from sidecar.server.stdio import Sink, Source

Pair = tuple[int, int]
"""Descriptors to read from and to write to; what is written to one is read from the other."""


def make_pipe() -> Pair:
    return os.pipe()


def make_sockets() -> Pair:
    one, two = socket.socketpair()
    return one.detach(), two.detach()


def make_terminal() -> Pair:
    ours, theirs = pty.openpty()
    return ours, theirs


@pytest.fixture
def closing() -> Iterator[Callable[[int], int]]:
    """Give a function that has a descriptor closed at the end, unless it was closed before."""
    with ExitStack() as stack:

        def close_later(fd: int) -> int:
            stack.callback(_close, fd)
            return fd

        yield close_later


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        return


def is_blocking(fd: int) -> bool:
    return not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK


def fill(sink: Sink) -> int:
    """Write until nothing is taken; how much was."""
    taken = 0
    while sent := sink.write(b"x" * 1000):
        taken += sent
    return taken


@pytest.mark.parametrize("make", [make_pipe, make_sockets])
def test_neither_side_blocks_and_what_others_share_stays_as_it_was(
    make: Callable[[], Pair], closing: Callable[[int], int]
) -> None:
    to_read, to_write = make()
    # Somebody else has the same open files, as a shell or a sibling has.
    shared = [closing(os.dup(to_read)), closing(os.dup(to_write))]
    source, sink = stdio.source_of(to_read), stdio.sink_of(to_write)
    assert source.read(10) is None
    taken = fill(sink)
    assert taken >= 4096
    assert [is_blocking(fd) for fd in shared] == [True, True]
    got = 0
    while data := source.read(100_000):
        got += len(data)
    assert got == taken
    assert sink.write(b"again") == 5
    assert source.read(10) == b"again"
    for fd in shared:
        os.close(fd)
    sink.close()
    assert source.read(10) == b""
    source.close()


@pytest.mark.parametrize("make", [make_pipe, make_sockets])
def test_nobody_reads_any_more(make: Callable[[], Pair]) -> None:
    to_read, to_write = make()
    sink = stdio.sink_of(to_write)
    os.close(to_read)
    with pytest.raises(BrokenPipeError):
        sink.write(b"x")
    sink.close()


def test_without_a_way_to_open_it_anew_it_still_never_blocks() -> None:
    to_read, to_write = make_pipe()
    source, sink = stdio.PollingEnd(to_read), stdio.PollingEnd(to_write)
    assert source.read(10) is None
    assert fill(sink) >= 4096
    assert is_blocking(to_read)
    assert is_blocking(to_write)
    while source.read(100_000):
        pass
    sink.close()
    assert source.read(10) == b""
    source.close()


def test_a_terminal_that_is_closed_is_an_end() -> None:
    ours, theirs = make_terminal()
    source = stdio.source_of(theirs)
    assert source.read(10) is None
    os.close(ours)
    assert source.read(10) == b""
    source.close()


def test_a_file_is_read_from_where_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"head tail")
    fd = os.open(path, os.O_RDONLY)
    os.read(fd, 5)
    source = stdio.source_of(fd)
    assert not source.pollable
    assert source.read(100) == b"tail"
    assert source.read(100) == b""
    source.close()


def test_a_null_device_is_an_end_at_once() -> None:
    source: Source = stdio.source_of(os.open(os.devnull, os.O_RDONLY))
    assert not source.pollable
    assert source.read(100) == b""
    source.close()


@pytest.mark.parametrize("make", [make_pipe, make_sockets])
def test_a_hang_up_is_seen_although_something_is_unread(
    make: Callable[[], Pair], closing: Callable[[int], int]
) -> None:
    to_read, to_write = make()
    closing(to_read)
    os.write(to_write, b"unread")
    assert not stdio.is_hung_up(to_read)
    os.close(to_write)
    assert stdio.is_hung_up(to_read)
