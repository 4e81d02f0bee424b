"""Waiting for runs to be over: any of some, or all.

Only the runs that were meant when the waiting began count.  ``is_satisfied`` is the whole decision,
for whoever does the waiting in another way.

This module must never poll faster than the slow scan: between doorbells it sleeps.
"""

import contextlib
import select
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from sidecar.control import read
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Context, Snapshot
from sidecar.control.watch import Watch
from sidecar.core import policy
from sidecar.core.errors import InvalidParams, NotFound, StorageError


class Until(StrEnum):
    """How many of the runs have to be over."""

    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The runs as they were last seen, in the order in which they were named.

    ``gone`` are the ids of those that were removed meanwhile: they are over, and unknown.
    """

    snapshots: tuple[Snapshot, ...]
    gone: tuple[str, ...]
    timed_out: bool


def is_satisfied(is_over: Iterable[bool], until: Until) -> bool:
    """Whether a wait for these runs has an end; a wait for none has one at once."""
    known = list(is_over)
    match until:
        case Until.ANY:
            return any(known) or not known
        case Until.ALL:
            return all(known)
        case _:
            assert_never(until)


def meant(ctx: Context, refs: Sequence[str]) -> tuple[Snapshot, ...]:
    """The runs that a wait for ``refs`` is for, each once: those, or for none the live ones of the
    caller's session.  Raises as ``read.get`` does."""
    if refs:
        named = [read.get(ctx, ref) for ref in refs]
        return tuple({snapshot.run.run_id: snapshot for snapshot in named}.values())
    live: list[Snapshot] = []
    cursor = None
    while True:
        page = read.list_runs(ctx, limit=policy.LIST_LIMIT_MAX, cursor=cursor)
        live += [
            snapshot
            for snapshot in page.snapshots
            if snapshot.run.session_id == ctx.caller.session_id and not snapshot.run.is_over
        ]
        cursor = page.next_cursor
        if cursor is None:
            return tuple(live)


def wait(  # noqa: PLR0913 - what to wait for, how long, and whom to tell
    ctx: Context,
    refs: Sequence[str],
    until: Until | str = Until.ANY,
    timeout_ms: int | None = None,
    *,
    caretaker: Caretaker | None = None,
    changed: Callable[[Snapshot], None] | None = None,
) -> Waited:
    """Blocks until ``until`` of the runs are over, or ``timeout_ms`` (a default if absent) passed.

    ``changed`` is called with each newer state that was seen.  With a ``caretaker`` a run whose
    leader vanished while nobody else looks is adopted.  Raises ``InvalidParams``, and as
    ``read.get`` does, also if a run turns out damaged meanwhile.
    """
    wanted = _until(until)
    timeout_ms = policy.WAIT_DEFAULT_MS if timeout_ms is None else timeout_ms
    if timeout_ms < 0:
        raise InvalidParams(f"out of range: {timeout_ms}", field="timeoutMs")
    ends_at = _now_ms() + timeout_ms
    known = _Known(ctx, meant(ctx, refs), changed)
    if is_satisfied(known.are_over(), wanted):
        return known.waited(timed_out=False)
    with contextlib.closing(Watch(ctx)) as watch:
        # The first scan names them all: nothing that changed before the bell hung is missed.
        known.refresh(_scanned(watch, known))
        next_scan = _now_ms() + policy.SCAN_MS
        while not is_satisfied(known.are_over(), wanted):
            now = _now_ms()
            if now >= ends_at:
                return known.waited(timed_out=True)
            if now >= next_scan:
                known.refresh(_scanned(watch, known))
                if caretaker is not None:
                    caretaker.tend(now)
                next_scan = now + policy.SCAN_MS
                continue
            _sleep(watch, min(ends_at, next_scan) - now)
            known.refresh(watch.drain().status)
        return known.waited(timed_out=False)


class _Known:
    """What is known of the runs that are waited for."""

    def __init__(
        self,
        ctx: Context,
        snapshots: Iterable[Snapshot],
        changed: Callable[[Snapshot], None] | None,
    ) -> None:
        self._ctx = ctx
        self._changed = changed
        self._gone: list[str] = []
        self._newest = {snapshot.run.run_id: snapshot for snapshot in snapshots}

    @property
    def ids(self) -> tuple[str, ...]:
        """The runs that can still change."""
        return tuple(
            run_id for run_id, snapshot in self._newest.items() if not snapshot.run.is_over
        )

    def are_over(self) -> list[bool]:
        """For each run whether it is over; one that was removed is."""
        over = [snapshot.run.is_over for snapshot in self._newest.values()]
        return over + [True] * len(self._gone)

    def refresh(self, woken: frozenset[str]) -> None:
        """Reads again those of the waited-for runs that are in ``woken``."""
        for run_id in self.ids:
            if run_id not in woken:
                continue
            try:
                snapshot = read.snapshot_of(self._ctx, run_id)
            except NotFound:
                del self._newest[run_id]
                self._gone.append(run_id)
                continue
            except StorageError:
                continue  # refused for the moment; the scan comes again
            if snapshot.revision > self._newest[run_id].revision:
                self._newest[run_id] = snapshot
                if self._changed is not None:
                    self._changed(snapshot)

    def waited(self, *, timed_out: bool) -> Waited:
        """The answer."""
        return Waited(
            snapshots=tuple(self._newest.values()), gone=tuple(self._gone), timed_out=timed_out
        )


def _scanned(watch: Watch, known: _Known) -> frozenset[str]:
    try:
        return watch.scan(known.ids)
    except StorageError:
        return frozenset(known.ids)  # the list is refused for the moment, not the runs


def _sleep(watch: Watch, ms: int) -> None:
    """Until the bell rings, at most ``ms``."""
    poll = select.poll()
    fd = watch.fileno()
    if fd is not None:
        poll.register(fd, select.POLLIN)
    poll.poll(max(1, ms))


def _until(until: str) -> Until:
    try:
        return Until(until)
    except ValueError:
        raise InvalidParams(
            f"no such condition: {until[:64]!r}", field="until", hint=", ".join(Until)
        ) from None


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
