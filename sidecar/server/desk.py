"""Everything that this server keeps for its client, from ``initialize`` on.

One place where what is seen of runs (by the watch, or by an answer of our own) is passed to all who
want to know, always in the same order: first what the client is told, then who waits. A client that
waits for a run has thus been told of its end before the answer comes.

This module must never read a run.
"""

import os
import resource
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sidecar
from sidecar.control.context import Context, Snapshot
from sidecar.control.launch import Launched
from sidecar.server.connection import Connection
from sidecar.server.feeds import Feeds
from sidecar.server.options import Greeting
from sidecar.server.publish import Publisher
from sidecar.server.teller import Teller
from sidecar.server.waits import Waits
from sidecar.server.workers import Workers
from sidecar.wire.methods import PROTOCOL_VERSION
from sidecar.wire.params import LogStream
from sidecar.wire.results import CountsView, MemoryView, QueuesView, ServerStatusResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a desk works with, and does not own."""

    connection: Connection
    workers: Workers
    expect: Callable[[Launched], None]
    """A launch of ours went through: its runner is our child."""

    started_at: int


class Desk:
    """The state of one client."""

    def __init__(self, ctx: Context, greeting: Greeting, means: Means, teller: Teller) -> None:
        self.ctx = ctx
        self.greeting = greeting
        self.workers = means.workers
        self.expect = means.expect
        self.teller = teller
        self.publisher: Publisher = teller.publisher
        self.waits = Waits(ctx, means.workers)
        self.feeds = Feeds(ctx, means.workers, means.connection.outlet, teller.tell_output)
        self._means = means

    # --- what is seen of runs --------------------------------------------------------------------

    def seen(self, snapshot: Snapshot) -> None:
        """A run is in this state."""
        self.publisher.see(snapshot)
        self.teller.tell()
        self.waits.see(snapshot)
        self.feeds.wake(snapshot.run.run_id)

    def begin(self, active: list[Snapshot]) -> None:
        """These runs were active when the client came; from now on it is told of changes."""
        for snapshot in active:
            if self.greeting.options.recover and not snapshot.run.is_over:
                self.publisher.recover(snapshot)
            else:
                self.publisher.assume(snapshot)
        self.teller.open()
        for snapshot in active:
            self.waits.see(snapshot)

    def storage_trouble(self, run_id: str, errno_name: str) -> None:
        """A run cannot write."""
        if self.publisher.knows(run_id):
            self.teller.tell_storage(run_id, errno_name)

    def gone(self, run_id: str) -> None:
        """A run does not exist any more."""
        self.publisher.forget(run_id)
        self.waits.gone(run_id)
        self.feeds.close(run_id)

    def wants(self, run_id: str) -> bool:
        """Whether anybody here is interested in this run, whatever its session."""
        return self.waits.is_waited_for(run_id) or self.publisher.is_followed(run_id)

    def interesting(self) -> frozenset[str]:
        """The runs that a scan has to look at although they may not be active any more."""
        return self.publisher.watched() | self.waits.awaited()

    # --- what handlers ask for -------------------------------------------------------------------

    def launch_ends(self, number: int, snapshot: Snapshot | None) -> None:
        """A launch was answered: what was held back for it may be told."""
        self.publisher.launch_ends(number, snapshot)
        if snapshot is not None:
            self.teller.show_progress(snapshot)
        self.teller.tell()

    def subscribe(self, run_id: str, streams: tuple[LogStream, ...], from_offset: int) -> None:
        """Follow the output of a run, and the run itself."""
        self.publisher.follow(run_id)
        self.feeds.open(run_id, streams, from_offset)

    def unsubscribe(self, run_id: str) -> None:
        """Follow it no longer."""
        self.publisher.unfollow(run_id)
        self.feeds.close(run_id)

    def status(self, active: Iterable[Snapshot]) -> ServerStatusResult:
        """How this server is, if these runs are active."""
        sessions = [found.run.session_id for found in active if not found.run.is_over]
        session_id = self.ctx.caller.session_id
        connection = self._means.connection
        now = self.ctx.now_ms()
        return ServerStatusResult(
            pid=os.getpid(),
            version=sidecar.__version__,
            protocol_version=PROTOCOL_VERSION,
            started_at=self._means.started_at,
            uptime_ms=max(0, now - self._means.started_at),
            state_dir=self.ctx.layout.state_dir,
            session_id=session_id,
            counts=CountsView(
                active=len(sessions),
                session=sessions.count(session_id),
                subscriptions=self.feeds.n_logs,
            ),
            queues=QueuesView(
                requests=connection.owed,
                notifications=self.publisher.waiting,
                output_bytes=connection.outlet.unsent,
            ),
            memory=_memory(),
        )

    def close(self) -> None:
        """The client is gone, or about to."""
        self.feeds.close_all()
        self.teller.close()


def _memory() -> MemoryView:
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        try:
            pages = int(os.read(fd, 100).split()[1])
        finally:
            os.close(fd)
    except (OSError, IndexError, ValueError):
        return MemoryView(rss_bytes=peak_kib * 1024, peak_rss_bytes=peak_kib * 1024)
    return MemoryView(rss_bytes=pages * resource.getpagesize(), peak_rss_bytes=peak_kib * 1024)
