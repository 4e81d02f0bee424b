"""``run/output`` notifications: logs that the client follows, page by page, as it keeps up.

Nothing of a log is kept here: a page is read when the client has room for it, so that one that
reads slowly is late and nothing else. A page never ends inside a character, an escape sequence or
a line end of two bytes, since either half would be shown as something else.

This module must never read a log on the loop.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.control.read import OutputPage
from sidecar.core import policy
from sidecar.core.errors import NotFound, SidecarError
from sidecar.server.diary import log
from sidecar.server.flow import Outlet
from sidecar.server.workers import Workers
from sidecar.wire import convert
from sidecar.wire.notifications import RunOutputNotification
from sidecar.wire.params import LogStream

BOTH: Final = (LogStream.STDOUT, LogStream.STDERR)

# What may grow into an escape sequence or a line end, at the end of a page.
_UNFINISHED = re.compile(rb"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,256}|[ -/]*)|\r)\Z")


@dataclass(slots=True)
class Feed:
    """One run's logs on their way to the client: where in each step's log it has come to."""

    run_id: str
    streams: tuple[LogStream, ...]
    from_offset: int
    at: dict[tuple[int, LogStream], int] = field(default_factory=dict)
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


class Feeds:
    """All logs that one client follows, at most one feed per run."""

    def __init__(
        self,
        ctx: Context,
        workers: Workers,
        outlet: Outlet,
        tell: Callable[[RunOutputNotification], None],
    ) -> None:
        self._ctx = ctx
        self._workers = workers
        self._outlet = outlet
        self._tell = tell
        self._feeds: dict[str, Feed] = {}

    @property
    def n_logs(self) -> int:
        """How many logs are followed."""
        return sum(len(feed.streams) for feed in self._feeds.values())

    def open(self, run_id: str, streams: tuple[LogStream, ...], from_offset: int) -> None:
        """Follow a run's logs from there, instead of whatever was followed of it."""
        self.close(run_id)
        feed = Feed(run_id=run_id, streams=streams, from_offset=from_offset)
        self._feeds[run_id] = feed
        feed.task = asyncio.create_task(self._follow(feed), name=f"output of {run_id}")

    def close(self, run_id: str) -> None:
        """Follow it no longer; nothing of it is told after this call."""
        feed = self._feeds.pop(run_id, None)
        if feed is not None and feed.task is not None:
            feed.task.cancel()

    def close_all(self) -> None:
        """Follow nothing any more."""
        for run_id in list(self._feeds):
            self.close(run_id)

    def wake(self, run_id: str) -> None:
        """There may be something new of this run."""
        feed = self._feeds.get(run_id)
        if feed is not None:
            feed.woken.set()

    async def _follow(self, feed: Feed) -> None:
        is_over = False
        while not is_over:
            feed.woken.clear()
            is_over = await self._catch_up(feed)
            if not is_over:
                await feed.woken.wait()
        if self._feeds.get(feed.run_id) is feed:
            del self._feeds[feed.run_id]

    async def _catch_up(self, feed: Feed) -> bool:
        """Tells all there is now.  True if nothing comes after it, ever."""
        while True:
            await self._outlet.room()
            try:
                pages, is_over = await self._workers.read(next_pages, self._ctx, feed)
            except NotFound:
                return True  # it was removed
            except SidecarError as exc:
                log.warning("output of %s cannot be read: %s", feed.run_id, exc)
                return False
            for stream, page in pages:
                feed.at[page.step, stream] = page.next_offset
                if page.data:
                    self._tell(_notification(stream, page))
            if not any(page.data for _, page in pages):
                return is_over


def next_pages(ctx: Context, feed: Feed) -> tuple[list[tuple[LogStream, OutputPage]], bool]:
    """The next page of each of the logs, which may be empty; whether nothing comes after them.

    Raises as ``control.read.get`` does.
    """
    pages = []
    for step in range(len(read.get(ctx, feed.run_id).run.steps)):
        for stream in feed.streams:
            at = feed.at.get((step, stream), feed.from_offset)
            page = read.output(ctx, feed.run_id, step, stream.value, at, policy.OUTPUT_NOTICE_MAX)
            pages.append((stream, page if page.eof else _settled(page)))
    return pages, all(page.eof for _, page in pages)


def _notification(stream: LogStream, page: OutputPage) -> RunOutputNotification:
    return RunOutputNotification(
        run_id=page.run_id,
        step=page.step,
        stream=stream,
        offset=page.offset,
        next_offset=page.next_offset,
        text=convert.shown_bytes(page.data),
    )


def _settled(page: OutputPage) -> OutputPage:
    """``page`` without an end that the next bytes may make something else of."""
    unfinished = _UNFINISHED.search(page.data, max(0, len(page.data) - 260))
    if unfinished is None:
        return page
    data = page.data[: unfinished.start()]
    return OutputPage(
        run_id=page.run_id,
        step=page.step,
        data=data,
        offset=page.offset,
        next_offset=page.offset + len(data),
        eof=page.eof,
        truncated=page.truncated,
    )
