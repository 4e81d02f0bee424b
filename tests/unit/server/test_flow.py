"""The stream in the loop: whole frames in order, bounded by who asks first, ends noticed."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from sidecar.server import flow, stdio
from sidecar.server.flow import Inlet, Outlet
from tests.support.wait import wait_until_async


@dataclass
class Pipe:
    """A pipe and what came of it."""

    read_fd: int
    write_fd: int
    data: bytearray = field(default_factory=bytearray)
    ended: bool = False
    lost: list[OSError] = field(default_factory=list)

    def take(self, size: int = 1 << 20) -> bytes:
        """What the client reads; nothing if there is nothing."""
        os.set_blocking(self.read_fd, False)
        try:
            return os.read(self.read_fd, size)
        except BlockingIOError:
            return b""

    def end(self) -> None:
        self.ended = True


@pytest.fixture
async def pipe() -> AsyncIterator[Pipe]:
    """Give a pipe whose ends are closed at the end, unless they were before."""
    made = Pipe(*os.pipe())
    yield made
    for fd in (made.read_fd, made.write_fd):
        try:
            os.close(fd)
        except OSError:
            continue


def new_outlet(pipe: Pipe) -> Outlet:
    # A descriptor of its own, so that the pipe's may be closed by anybody.
    sink = stdio.sink_of(os.dup(pipe.write_fd))
    return Outlet(asyncio.get_running_loop(), sink, pipe.lost.append)


def new_inlet(pipe: Pipe) -> Inlet:
    source = stdio.source_of(os.dup(pipe.read_fd))
    return Inlet(asyncio.get_running_loop(), source, pipe.data.extend, pipe.end)


async def test_frames_go_out_whole_and_in_order(pipe: Pipe) -> None:
    outlet = new_outlet(pipe)
    frames = [bytes([65 + number % 26]) * (number * 997 % 200_000) for number in range(60)]
    for frame in frames:
        outlet.send(frame)
    got = bytearray()
    expected = b"".join(frames)
    while len(got) < len(expected):
        got += pipe.take()
        await asyncio.sleep(0)
    assert bytes(got) == expected
    await outlet.drained(5)
    assert outlet.unsent == 0
    outlet.close()


async def test_a_client_that_does_not_read_stops_who_asks(pipe: Pipe) -> None:
    outlet = new_outlet(pipe)
    sent = 0
    while outlet.has_room():
        outlet.send(b"x" * 10_000)
        sent += 10_000
        await asyncio.sleep(0)
    assert sent < flow.ROOM_BYTES * 2
    assert not outlet.is_full()
    room: list[bool] = []
    outlet.when_room(lambda: room.append(outlet.has_room()))
    await asyncio.sleep(0)
    assert room == []
    got = 0
    while got < sent:
        got += len(pipe.take())
        await asyncio.sleep(0)
    await wait_until_async(lambda: room == [True], what="to be told that there is room, once")
    outlet.close()


async def test_who_waits_for_room_gets_it(pipe: Pipe) -> None:
    outlet = new_outlet(pipe)
    outlet.send(b"x" * flow.FULL_BYTES)
    assert outlet.is_full()
    waiting = asyncio.create_task(outlet.room())
    got = 0
    while got < flow.FULL_BYTES:
        assert not outlet.has_room() or got > 0
        got += len(pipe.take())
        await asyncio.sleep(0)
    await asyncio.wait_for(waiting, 5)
    outlet.close()


async def test_a_client_that_is_gone_is_told_once_and_costs_nothing(pipe: Pipe) -> None:
    outlet = new_outlet(pipe)
    os.close(pipe.read_fd)
    outlet.send(b"x" * 1_000_000)
    await wait_until_async(lambda: pipe.lost, what="to be told that nobody reads")
    outlet.send(b"x" * 1_000_000)
    assert outlet.unsent == 0
    assert len(pipe.lost) == 1
    await outlet.drained(5)
    outlet.close()


async def test_what_comes_in_is_handed_on_until_the_end(pipe: Pipe) -> None:
    inlet = new_inlet(pipe)
    inlet.resume()
    os.write(pipe.write_fd, b"one")
    await wait_until_async(lambda: bytes(pipe.data) == b"one", what="the first bytes")
    os.write(pipe.write_fd, b"two")
    os.close(pipe.write_fd)
    await wait_until_async(lambda: pipe.ended, what="the end")
    assert bytes(pipe.data) == b"onetwo"


async def test_while_paused_nothing_is_read_and_a_hang_up_is_noticed(pipe: Pipe) -> None:
    inlet = new_inlet(pipe)
    inlet.resume()
    inlet.pause()
    os.write(pipe.write_fd, b"unread")
    for _ in range(5):
        await asyncio.sleep(0)
    assert not pipe.data
    inlet.resume()
    await wait_until_async(lambda: pipe.data, what="what was left in the pipe")
    inlet.pause()
    os.close(pipe.write_fd)
    await wait_until_async(lambda: pipe.ended, what="the hang-up")


async def test_a_file_is_read_to_its_end() -> None:
    pipe = Pipe(os.open(os.devnull, os.O_RDONLY), -1)
    inlet = new_inlet(pipe)
    inlet.resume()
    await wait_until_async(lambda: pipe.ended, what="the end of a null device")
    os.close(pipe.read_fd)
