"""Seeing runs change: the doorbell within the loop, the slow scan and the caretaking behind it.

One task owns the watch and the caretaker. Between scans it lies still and the doorbell wakes the
loop; while it scans, in a thread, the doorbell waits. A server whose runs are quiet wakes once in
``policy.SCAN_MS`` and at no other time.

The scan finds what no bell told: changes of all active runs, and of those that its clients know;
runs that came and went since the last one are found by their directories. So whatever datagrams
were lost, nothing is missed, only late.
"""

import asyncio
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from sidecar.control import read
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Context, Snapshot
from sidecar.control.watch import Watch
from sidecar.core import policy
from sidecar.core.errors import DamagedRun, NotFound, StorageError
from sidecar.server.desk import Desk
from sidecar.server.diary import log
from sidecar.store import index

BUSY_RUNS: Final = 4
"""So many runs in one ringing: a socket holds few datagrams (``net.unix.max_dgram_qlen`` is 10 on
many machines), so that others may have been lost, and one scans soon."""

SOON_S: Final = 0.2

ARRIVALS_MAX: Final = 1000
"""Of the newest runs so many are looked at for those that came and went between two scans."""

FOREIGN_MAX: Final = 10_000


@dataclass(slots=True)
class _Seen:
    """What one look found: states, runs that are gone, and those to look at again."""

    snapshots: list[Snapshot] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    again: set[str] = field(default_factory=set)


class _Arrivals:
    """Which run directories are new since the last look.  For one thread at a time."""

    def __init__(self, ctx: Context) -> None:
        self._layout = ctx.layout
        self._known: frozenset[str] | None = None
        self._stamp = 0
        self._is_fresh = True

    def look(self) -> frozenset[str]:
        """The new ones; none at the first look.  Raises ``StorageError``."""
        try:
            stamp = os.stat(self._layout.runs).st_mtime_ns
        except FileNotFoundError:
            self._known = frozenset()
            return frozenset()
        except OSError:
            return frozenset()  # not to be looked at now
        # The clock of a file system ticks coarsely: after a change one more look is due.
        is_due, self._is_fresh = stamp != self._stamp or self._is_fresh, stamp != self._stamp
        self._stamp = stamp
        if not is_due:
            return frozenset()
        found = frozenset(index.history_page(self._layout, ARRIVALS_MAX).ids)
        known, self._known = self._known, found
        if known is None:
            return frozenset()
        # Where newer ones were removed, older ones move up: they are no news.
        oldest = min(known) if len(known) == ARRIVALS_MAX else ""
        return frozenset(run_id for run_id in found - known if run_id > oldest)


class Watching:
    """The eyes of one server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, desk: Desk) -> None:
        self._loop = loop
        self._desk = desk
        self._is_closing = False
        self._caretaker = Caretaker(desk.ctx)
        self._arrivals = _Arrivals(desk.ctx)
        self._lost_runners: list[str] = []
        self._foreign: set[str] = set()
        self._again: set[str] = set()
        self._listening: int | None = None
        self._soon = asyncio.Event()
        self._complaints: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look; what is active already is told first.  Idempotent."""
        if self._task is None and not self._is_closing:
            self._task = asyncio.create_task(self._look_on(), name="watching")
            self._task.add_done_callback(self._fell)

    def runner_ended(self, run_id: str) -> None:
        """The runner of a run, a child of ours, is over: if the run is not, it is adopted soon."""
        self._lost_runners.append(run_id)

    async def closed(self, deadline_s: float) -> None:
        """Look no more, and take the doorbell down; a disk that hangs is waited for so long."""
        self._is_closing = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=deadline_s)

    async def _look_on(self) -> None:
        # Carried through although it is cancelled: a doorbell that was hung up is taken down.
        watch = await self._desk.workers.commit(Watch, self._desk.ctx)
        try:
            found = (await self._scan(watch)).snapshots
            if not self._is_closing:
                self._desk.begin(found)
            while not self._is_closing:
                self._listen(watch)
                await self._tend()
                await self._rest()
                self._stop_listening()
                self._take(await self._scan(watch))
        finally:
            self._stop_listening()
            watch.close()

    def _fell(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled() or self._is_closing:
            return
        # The loop boundary: one bug must not make a server blind for the rest of its life.
        log.error("a bug in watching; it begins anew", exc_info=task.exception())
        self._task = None
        self._loop.call_later(policy.SCAN_MS / 1000, self.start)

    async def _scan(self, watch: Watch) -> _Seen:
        try:
            return await self._desk.workers.commit(
                self._look, watch, self._desk.interesting(), frozenset(self._again)
            )
        except StorageError as exc:
            self._complain(exc.message)
            return _Seen()

    def _look(self, watch: Watch, also: frozenset[str], again: frozenset[str]) -> _Seen:
        """In a thread: what changed since the last scan."""
        changed = watch.scan(also) | again
        return _read_all(self._desk.ctx, changed | self._arrivals.look())

    async def _tend(self) -> None:
        lost, self._lost_runners = self._lost_runners, []
        for run_id in lost:
            self._caretaker.expect(run_id)
        now_ms = time.monotonic_ns() // 1_000_000
        tended = await self._desk.workers.read(self._caretaker.tend, now_ms)
        for problem in tended.problems:
            self._complain(f"{problem.path}: {problem.error}")

    async def _rest(self) -> None:
        """Until the next scan is due."""
        try:
            async with asyncio.timeout(policy.SCAN_MS / 1000):
                await self._soon.wait()
            await asyncio.sleep(SOON_S)
        except TimeoutError:
            pass  # nothing more happened than usual
        self._soon.clear()

    # --- the doorbell ----------------------------------------------------------------------------

    def _listen(self, watch: Watch) -> None:
        self._listening = watch.fileno()
        if self._listening is not None:
            self._loop.add_reader(self._listening, self._rung, watch)

    def _stop_listening(self) -> None:
        if self._listening is not None:
            self._loop.remove_reader(self._listening)
            self._listening = None

    def _rung(self, watch: Watch) -> None:
        woken = watch.drain()
        wanted = {
            run_id
            for run_id in woken.status
            if run_id not in self._foreign or self._desk.wants(run_id)
        }
        self._take(_read_all(self._desk.ctx, wanted))
        for run_id in woken.output:
            self._desk.feeds.wake(run_id)
        for run_id, errno_name in woken.storage:
            self._desk.storage_trouble(run_id, errno_name)
        if len(woken.status | woken.output) >= BUSY_RUNS:
            self._soon.set()

    def _take(self, seen: _Seen) -> None:
        self._again = seen.again
        for snapshot in seen.snapshots:
            if not self._desk.publisher.concerns(snapshot):
                if len(self._foreign) >= FOREIGN_MAX:
                    self._foreign.clear()
                self._foreign.add(snapshot.run.run_id)
            self._desk.seen(snapshot)
        for run_id in seen.gone:
            self._desk.gone(run_id)

    def _complain(self, what: str) -> None:
        """Once, however often it is found."""
        if what not in self._complaints and len(self._complaints) < FOREIGN_MAX:
            self._complaints.add(what)
            log.warning("%s", what)


def _read_all(ctx: Context, run_ids: Iterable[str]) -> _Seen:
    seen = _Seen()
    for run_id in sorted(run_ids):
        try:
            seen.snapshots.append(read.snapshot_of(ctx, run_id))
        except NotFound:
            seen.gone.append(run_id)
        except StorageError:
            seen.again.add(run_id)
        except DamagedRun:
            continue  # told by ``run/list`` and by the caretaker; there is no state to tell
    return seen
