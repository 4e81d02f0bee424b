"""Who waits for runs to be over: each is told by whoever sees runs change, and reads nothing again.

This module must never read a run itself, but for its state when the waiting begins.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sidecar.control import read
from sidecar.control.context import Context, Snapshot
from sidecar.server.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The runs in the order in which they were named, and whether the time was up first."""

    snapshots: tuple[Snapshot, ...]
    timed_out: bool


Enough = Callable[[Iterable[bool]], bool]
"""Of which runs are over: whether that is enough."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """One that waits, and the newest state that it knows of each of its runs."""

    newest: dict[str, Snapshot]
    enough: Enough
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def see(self, snapshot: Snapshot) -> None:
        known = self.newest.get(snapshot.run.run_id)
        if known is None or snapshot.revision > known.revision:
            self.newest[snapshot.run.run_id] = snapshot

    def judge(self, run_ids: Sequence[str]) -> None:
        if self.enough(self.newest[run_id].run.is_over for run_id in run_ids):
            self.done.set()


class Waits:
    """Everybody of one client who waits."""

    def __init__(self, ctx: Context, workers: Workers) -> None:
        self._ctx = ctx
        self._workers = workers
        self._waiters: dict[str, dict[_Waiter, Sequence[str]]] = {}

    def see(self, snapshot: Snapshot) -> None:
        """A run was seen in this state."""
        for waiter, run_ids in list(self._waiters.get(snapshot.run.run_id, {}).items()):
            waiter.see(snapshot)
            if all(run_id in waiter.newest for run_id in run_ids):
                waiter.judge(run_ids)

    def is_waited_for(self, run_id: str) -> bool:
        """Whether anybody wants to know of this run."""
        return run_id in self._waiters

    def awaited(self) -> frozenset[str]:
        """The runs that anybody waits for."""
        return frozenset(self._waiters)

    async def until_any(self, run_ids: Sequence[str], *, timeout_ms: int) -> Waited:
        """Wait until one of the runs is over; there may be none to wait for."""
        return await self._until(run_ids, lambda over: _any(over, run_ids), timeout_ms)

    async def until_all(self, run_ids: Sequence[str], *, timeout_ms: int) -> Waited:
        """Wait until all of the runs are over."""
        return await self._until(run_ids, all, timeout_ms)

    async def _until(self, run_ids: Sequence[str], enough: Enough, timeout_ms: int) -> Waited:
        waiter = _Waiter(newest={}, enough=enough)
        for run_id in run_ids:
            self._waiters.setdefault(run_id, {})[waiter] = run_ids
        try:
            # Listening comes first: what changes while they are read is seen.
            for snapshot in await self._workers.read(_read_all, self._ctx, run_ids):
                waiter.see(snapshot)
            waiter.judge(run_ids)
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await waiter.done.wait()
            except TimeoutError:
                pass  # told by ``timed_out``
        finally:
            for run_id in run_ids:
                self._waiters[run_id].pop(waiter, None)
                if not self._waiters[run_id]:
                    del self._waiters[run_id]
        return Waited(
            snapshots=tuple(waiter.newest[run_id] for run_id in run_ids),
            timed_out=not waiter.done.is_set(),
        )


def _any(over: Iterable[bool], run_ids: Sequence[str]) -> bool:
    return any(over) or not run_ids


def _read_all(ctx: Context, run_ids: Sequence[str]) -> list[Snapshot]:
    return [read.snapshot_of(ctx, run_id) for run_id in run_ids]
