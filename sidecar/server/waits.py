"""Who waits for runs to be over: each is told by whoever sees runs change, and reads nothing again.

This module must never read a run itself, but for its state when the waiting begins.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sidecar.control import read, waiting
from sidecar.control.context import Context, Snapshot
from sidecar.control.waiting import Until
from sidecar.server.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The runs in the order in which they were named, without those that were removed meanwhile;
    and whether the time was up first."""

    snapshots: tuple[Snapshot, ...]
    timed_out: bool


@dataclass(slots=True, eq=False)
class _Waiter:
    """One that waits, and the newest state that it knows of each of its runs."""

    until: Until
    run_ids: list[str]
    newest: dict[str, Snapshot] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def see(self, snapshot: Snapshot) -> None:
        known = self.newest.get(snapshot.run.run_id)
        if known is None or snapshot.revision > known.revision:
            self.newest[snapshot.run.run_id] = snapshot
            self.judge()

    def judge(self) -> None:
        # Before the first look is complete nobody can tell.
        if self.newest.keys() >= set(self.run_ids):
            over = [self.newest[run_id].run.is_over for run_id in self.run_ids]
            if waiting.is_satisfied(over, self.until):
                self.done.set()


class Waits:
    """Everybody of one client who waits."""

    def __init__(self, ctx: Context, workers: Workers) -> None:
        self._ctx = ctx
        self._workers = workers
        self._waiters: dict[str, set[_Waiter]] = {}

    def see(self, snapshot: Snapshot) -> None:
        """A run was seen in this state."""
        for waiter in tuple(self._waiters.get(snapshot.run.run_id, ())):
            waiter.see(snapshot)

    def gone(self, run_id: str) -> None:
        """A run was removed, which only those that are over can be."""
        for waiter in self._waiters.pop(run_id, set()):
            waiter.run_ids.remove(run_id)
            waiter.judge()

    def is_waited_for(self, run_id: str) -> bool:
        """Whether anybody wants to know of this run."""
        return run_id in self._waiters

    def awaited(self) -> frozenset[str]:
        """The runs that anybody waits for."""
        return frozenset(self._waiters)

    async def wait(self, run_ids: Iterable[str], until: Until, timeout_ms: int) -> Waited:
        """Wait until one of the runs is over, or all; there may be none to wait for.

        Raises as ``control.read.get`` does.
        """
        waiter = _Waiter(until=until, run_ids=list(run_ids))
        for run_id in waiter.run_ids:
            self._waiters.setdefault(run_id, set()).add(waiter)
        try:
            # Listening comes first: what changes while they are read is seen.
            for snapshot in await self._workers.read(_read_all, self._ctx, tuple(waiter.run_ids)):
                waiter.see(snapshot)
            waiter.judge()
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await waiter.done.wait()
            except TimeoutError:
                pass  # told by ``timed_out``
        finally:
            self._forget(waiter)
        return Waited(
            snapshots=tuple(waiter.newest[run_id] for run_id in waiter.run_ids),
            timed_out=not waiter.done.is_set(),
        )

    def _forget(self, waiter: _Waiter) -> None:
        for run_id in waiter.run_ids:
            others = self._waiters.get(run_id, set())
            others.discard(waiter)
            if not others:
                self._waiters.pop(run_id, None)


def _read_all(ctx: Context, run_ids: Sequence[str]) -> list[Snapshot]:
    return [read.snapshot_of(ctx, run_id) for run_id in run_ids]
