"""A log from some byte on, page by page, without a gap: read as far as it goes, then as it is told.

Two sources, one order: pages that are asked for, and pieces that are told to whoever subscribed.
A piece is taken only if it begins where the last page ended; whatever else is told (a piece too
late, a gap, the end of the run, another server) only means that the log has to be read on.

This module must never keep more of a log than one page.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Final

from sidecar.client.hub import Feed, Hub
from sidecar.client.link import Link
from sidecar.core.errors import SidecarError
from sidecar.wire.notifications import RunOutputNotification
from sidecar.wire.params import (
    Encoding,
    LogStream,
    RunGetParams,
    RunOutputParams,
    RunSubscribeParams,
    RunUnsubscribeParams,
    Stream,
)
from sidecar.wire.results import (
    RunGetResult,
    RunOutputResult,
    RunSubscribeResult,
    RunUnsubscribeResult,
)

PAGE_BYTES: Final = 256 * 1024
"""Four times what one notification has, so that a reader that is late catches up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part of which log, and how."""

    run_id: str
    stream: Stream = Stream.STDOUT
    offset: int = 0
    follow: bool = False
    raw: bool = False
    encoding: Encoding = Encoding.TEXT

    @property
    def log(self) -> LogStream:
        """The log that tells of news; the answer of a command is its stdout."""
        return LogStream.STDERR if self.stream is Stream.STDERR else LogStream.STDOUT

    @property
    def takes_pieces(self) -> bool:
        """Whether what is told has the form that is wanted."""
        return self.encoding is Encoding.TEXT and not self.raw and self.stream is not Stream.ANSWER


async def pages(link: Link, wanted: Wanted) -> AsyncGenerator[RunOutputResult, None]:
    """The pages of the log, each beginning where the one before ended; empty ones are left out.

    Ends where the log ends now, or, to ``follow``, once it is complete.  Raises what the server
    refuses with, ``ServerLost``, and ``ClientClosed`` if the client is closed meanwhile.
    """
    if wanted.follow:
        # A prefix may fit more runs tomorrow, and what is told names runs in full.
        got = await link.ask(RunGetParams(run_id=wanted.run_id), RunGetResult)
        wanted = replace(wanted, run_id=got.run.run_id)
    woken = asyncio.Event()
    feed = Feed(wanted.run_id, wanted.log, wanted.offset, woken.set)
    if wanted.follow:
        link.hub.open_feed(feed)
    try:
        async with aclosing(_pages(link, wanted, feed, woken)) as found:
            async for page in found:
                yield page
    finally:
        if wanted.follow:
            link.hub.close_feed(feed)
            await _unsubscribe(link, feed)


async def _pages(
    link: Link, wanted: Wanted, feed: Feed, woken: asyncio.Event
) -> AsyncGenerator[RunOutputResult, None]:
    subscribed_to = 0
    while True:
        if feed.is_behind:
            feed.is_behind = False
            page = await link.ask(_request(wanted, feed.position), RunOutputResult)
            feed.position = page.next_offset
            feed.is_behind = feed.is_behind or page.truncated
            if page.next_offset > page.offset:
                yield page
            if page.eof or not (wanted.follow or page.truncated):
                return
            continue
        piece = feed.take()
        if piece is not None and wanted.takes_pieces:
            feed.position = piece.next_offset
            yield _page_of(piece)
        elif piece is not None or feed.is_behind:
            feed.is_behind = True
        elif subscribed_to != link.generation or link.is_lost or link.is_closed:
            subscribed_to = link.generation
            await link.ask(_subscription(link.hub, feed), RunSubscribeResult)
            feed.is_behind = True  # it may have ended before that, and then nothing is told
        else:
            await woken.wait()
            woken.clear()


def _request(wanted: Wanted, position: int) -> RunOutputParams:
    return RunOutputParams(
        run_id=wanted.run_id,
        stream=wanted.stream,
        offset=position,
        limit=PAGE_BYTES,
        raw=wanted.raw,
        encoding=wanted.encoding,
    )


def _subscription(hub: Hub, feed: Feed) -> RunSubscribeParams:
    """One for all who follow this run, since a run has one subscription, which this replaces."""
    feeds = hub.feeds_of(feed.run_id)
    streams = {other.stream for other in feeds}
    return RunSubscribeParams(
        run_id=feed.run_id,
        stream=feed.stream if len(streams) == 1 else None,
        from_offset=min(other.position for other in feeds if other.position >= 0),
    )


async def _unsubscribe(link: Link, feed: Feed) -> None:
    if link.hub.feeds_of(feed.run_id) or link.is_closed or link.is_lost:
        return
    # If the run or the server is gone, nothing is told any more either way.
    with suppress(SidecarError):
        await link.ask(RunUnsubscribeParams(run_id=feed.run_id), RunUnsubscribeResult)


def _page_of(piece: RunOutputNotification) -> RunOutputResult:
    return RunOutputResult(
        text=piece.text,
        offset=piece.offset,
        next_offset=piece.next_offset,
        eof=False,
        truncated=False,
    )
