"""The client's stream in the event loop: what comes in is handed on, what goes out waits its turn.

What is queued for a client that does not read is bounded by the people who queue, not here: they
ask ``has_room`` before they make something that can wait, and ``is_full`` before they take more
work that must be answered. Both are told when it is their turn again.

This module must never know what a message is.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from sidecar.server import stdio

READ_BYTES: Final = 256 * 1024
BURST_BYTES: Final = 1024 * 1024
"""So much is written before others in the loop get their turn."""

JOIN_BYTES: Final = 64 * 1024
"""Small frames go out together, up to what a pipe holds."""

ROOM_BYTES: Final = 256 * 1024
"""With more than this unsent the client is behind: nothing that can wait is made for it."""

FULL_BYTES: Final = 16 * 1024 * 1024
"""With more than this unsent no further requests are read: a thousand large answers, so that a
client that first writes everything and then reads is served, and one that never reads is not."""

HANG_UP_PROBE_S: Final = 0.25
"""How often a source that is not read is asked whether anybody is still there."""


class Inlet:
    """Hands what can be read to ``on_data``, and says once, by ``on_end``, that it was all."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        source: stdio.Source,
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._source = source
        self._on_data = on_data
        self._on_end = on_end
        self._reading = False
        self._over = False
        self._probe: asyncio.TimerHandle | None = None

    @property
    def is_paused(self) -> bool:
        """Whether reading stands still."""
        return not self._reading

    def resume(self) -> None:
        """Read, from now on."""
        if self._over or self._reading:
            return
        self._reading = True
        if self._probe is not None:
            self._probe.cancel()
            self._probe = None
        if self._source.pollable:
            self._loop.add_reader(self._source.fd, self._ready)
        else:
            self._loop.call_soon(self._ready_again)

    def pause(self) -> None:
        """Read no more for now.  That the other side went away is still noticed."""
        if self._over or not self._reading:
            return
        self._reading = False
        if self._source.pollable:
            self._loop.remove_reader(self._source.fd)
            self._probe = self._loop.call_later(HANG_UP_PROBE_S, self._look_for_hang_up)

    def close(self) -> None:
        """Read no more, ever."""
        self.pause()
        self._over = True
        if self._probe is not None:
            self._probe.cancel()

    def _ready_again(self) -> None:
        if self._reading and not self._over:
            self._ready()
            self._loop.call_soon(self._ready_again)

    def _ready(self) -> None:
        data = self._source.read(READ_BYTES)
        if data:
            self._on_data(data)
        elif data is not None:
            self._end()

    def _look_for_hang_up(self) -> None:
        if stdio.is_hung_up(self._source.fd):
            self._end()
        else:
            self._probe = self._loop.call_later(HANG_UP_PROBE_S, self._look_for_hang_up)

    def _end(self) -> None:
        if not self._over:
            self.close()
            self._on_end()


class Outlet:
    """Sends frames in the order given, each whole, as fast as the client takes them."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sink: stdio.Sink,
        on_lost: Callable[[OSError], None],
    ) -> None:
        self._loop = loop
        self._sink = sink
        self._on_lost = on_lost
        self._queue: deque[bytes] = deque()
        self._sent_of_first = 0
        self._scheduled = False
        self._watching = False
        self._lost = False
        self._room_wanted: list[Callable[[], None]] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self.unsent = 0
        """Bytes that wait for the client."""

    def has_room(self) -> bool:
        """Whether the client keeps up, so that something that can wait may be made now."""
        return self.unsent < ROOM_BYTES

    def is_full(self) -> bool:
        """Whether no further work should be taken from the client."""
        return self.unsent >= FULL_BYTES

    def when_room(self, callback: Callable[[], None]) -> None:
        """Call back, once, as soon as there is room again; however often it was asked for."""
        if callback not in self._room_wanted:
            self._room_wanted.append(callback)

    async def room(self) -> None:
        """Return once there is room."""
        while not self.has_room():
            there_is = asyncio.Event()
            self.when_room(there_is.set)
            await there_is.wait()

    def send(self, frame: bytes) -> None:
        """Queue a frame; it is dropped if the client is gone."""
        if self._lost:
            return
        self._queue.append(frame)
        self.unsent += len(frame)
        self._idle.clear()
        if not self._scheduled and not self._watching:
            # At the end of this turn of the loop, together with whatever else comes in it.
            self._scheduled = True
            self._loop.call_soon(self._flush)

    async def drained(self, deadline_s: float) -> None:
        """Return once nothing is left to send, or nobody to send it to, or the time is up."""
        try:
            async with asyncio.timeout(deadline_s):
                await self._idle.wait()
        except TimeoutError:
            pass  # the client does not read; what it did not take it will not miss

    def close(self) -> None:
        """Send no more."""
        self._give_up()
        self._sink.close()

    def _flush(self) -> None:
        self._scheduled = False
        left = BURST_BYTES
        while self._queue and left > 0:
            try:
                sent = self._sink.write(self._piece())
            except OSError as exc:
                self._give_up()
                self._on_lost(exc)
                return
            if sent == 0:
                self._watch()
                break
            self._consume(sent)
            left -= sent
        else:
            self._unwatch()
            if self._queue:
                self._scheduled = True
                self._loop.call_soon(self._flush)
        if not self._queue:
            self._idle.set()
        if self._room_wanted and self.has_room():
            wanted, self._room_wanted = self._room_wanted, []
            for callback in wanted:
                callback()

    def _piece(self) -> bytes | memoryview:
        first = self._queue[0]
        if self._sent_of_first:
            return memoryview(first)[self._sent_of_first :]
        if len(first) >= JOIN_BYTES or len(self._queue) == 1:
            return first
        size = 0
        small = []
        for frame in self._queue:
            size += len(frame)
            if size > JOIN_BYTES:
                break
            small.append(frame)
        return b"".join(small)

    def _consume(self, sent: int) -> None:
        self.unsent -= sent
        sent += self._sent_of_first
        while self._queue and sent >= len(self._queue[0]):
            sent -= len(self._queue.popleft())
        self._sent_of_first = sent

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            self._loop.add_writer(self._sink.fd, self._flush)

    def _unwatch(self) -> None:
        if self._watching:
            self._watching = False
            self._loop.remove_writer(self._sink.fd)

    def _give_up(self) -> None:
        self._unwatch()
        self._lost = True
        self._queue.clear()
        self.unsent = 0
        self._idle.set()
