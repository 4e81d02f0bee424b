"""What one client has been told of runs, and what it is owed: the newest state of each, once.

A sans-IO ledger between whoever sees runs change and whoever writes to the client. It holds at most
one state per run, however fast runs change and however slowly the client reads, and gives it out
when its time has come: no run is told of twice in one interval, unless it ended; no revision twice,
none backwards; the end always, and once.

A run that was first seen while a launch was under way may be the one launched: it is held back
until the answers are out, so that a client never hears of a run before it knows the id.

This module must never read a clock or a file, and never know how a run looks on the wire.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from sidecar.control.context import Snapshot

LOST_REASONS = frozenset({"runner-lost", "warden-lost"})
"""Endings that tell of a repair: what led the run had vanished."""

OVER_WATCHED: Final = 200
"""Runs that are over, and whose hiding by others is noticed without any doorbell."""


class Occasion(StrEnum):
    """Why a state is told."""

    CHANGE = "change"
    REPAIR = "repair"
    """Also a change, and one that a person should hear of: something of ours had vanished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One state that the client is to be told now."""

    snapshot: Snapshot
    occasion: Occasion


@dataclass(slots=True)
class _Known:
    """What the client knows of a run: ``sent_at`` is None until it was told by us."""

    revision: int = 0
    sent_at: int | None = None
    adoptions: int = 0
    is_over: bool = False
    dismissed_at: int | None = None


@dataclass(slots=True)
class _Held:
    """A run that is held back, and the launches whose answers have to come first."""

    launches: set[int] = field(default_factory=set)


class Publisher:
    """The ledger of one client.  Times are ms of any clock that never goes back."""

    def __init__(self, *, session_id: str, interval_ms: int) -> None:
        self._session_id = session_id
        self._interval_ms = interval_ms
        self._known: dict[str, _Known] = {}
        self._pending: dict[str, Snapshot] = {}
        self._held: dict[str, _Held] = {}
        self._launches: set[int] = set()
        self._launch_count = 0
        self._followed: set[str] = set()

    @property
    def waiting(self) -> int:
        """How many runs have a state that the client was not told yet."""
        return len(self._pending)

    def concerns(self, snapshot: Snapshot) -> bool:
        """Whether this client hears of that run."""
        run = snapshot.run
        return run.session_id == self._session_id or run.run_id in self._followed

    def knows(self, run_id: str) -> bool:
        """Whether the client was told of this run."""
        return run_id in self._known

    def is_followed(self, run_id: str) -> bool:
        """Whether ``follow`` was called for it."""
        return run_id in self._followed

    def watched(self) -> frozenset[str]:
        """The runs of which the client has not been told the end, and those that ended last, which
        somebody may hide."""
        live = [run_id for run_id, known in self._known.items() if not known.is_over]
        over = [run_id for run_id, known in self._known.items() if known.is_over]
        return frozenset(live) | frozenset(over[-OVER_WATCHED:]) | self._followed

    def follow(self, run_id: str) -> None:
        """Tell of this run too, although it may belong to another session."""
        self._followed.add(run_id)

    def unfollow(self, run_id: str) -> None:
        """The opposite of ``follow``."""
        self._followed.discard(run_id)

    def see(self, snapshot: Snapshot) -> None:
        """A run was seen in this state; older ones, and those of others, are passed over."""
        run_id = snapshot.run.run_id
        if not self.concerns(snapshot):
            return
        known = self._known.get(run_id)
        if known is not None and snapshot.revision <= known.revision:
            return
        pending = self._pending.get(run_id)
        if pending is not None and snapshot.revision <= pending.revision:
            return
        if known is not None and known.is_over and known.dismissed_at == snapshot.dismissed_at:
            # Hidden and shown again before it was told: an end is told once.
            known.revision = snapshot.revision
            self._pending.pop(run_id, None)
            return
        is_new = (known is None or known.revision == 0) and pending is None
        if is_new and self._launches:
            self._held[run_id] = _Held(set(self._launches))
        self._pending[run_id] = snapshot

    def assume(self, snapshot: Snapshot) -> None:
        """The client knows this state, or does not want to be told; only later ones are news."""
        run_id = snapshot.run.run_id
        known = self._known.setdefault(run_id, _Known(adoptions=snapshot.run.adoptions))
        if snapshot.revision >= known.revision:
            self._note(known, snapshot)
        pending = self._pending.get(run_id)
        if pending is not None and pending.revision <= known.revision:
            del self._pending[run_id]

    def recover(self, snapshot: Snapshot) -> None:
        """A run that was there before this client; what was repaired before it came is no news."""
        self._known.setdefault(snapshot.run.run_id, _Known(adoptions=snapshot.run.adoptions))
        self.see(snapshot)

    def forget(self, run_id: str) -> None:
        """The run does not exist any more."""
        self._pending.pop(run_id, None)
        self._known.pop(run_id, None)
        self._held.pop(run_id, None)

    # --- launches --------------------------------------------------------------------------------

    def launch_begins(self) -> int:
        """A launch of this client is under way; its number is for ``launch_ends``."""
        self._launch_count += 1
        self._launches.add(self._launch_count)
        return self._launch_count

    def launch_ends(self, launch: int, snapshot: Snapshot | None) -> None:
        """The launch was answered, with the run in this state, or with an error."""
        self._launches.discard(launch)
        for run_id, held in list(self._held.items()):
            held.launches.discard(launch)
            if not held.launches:
                del self._held[run_id]
        if snapshot is not None:
            self._held.pop(snapshot.run.run_id, None)
            # The end is always told by notification, also where the answer told it already.
            if not snapshot.run.is_over and self.concerns(snapshot):
                self.assume(snapshot)

    # --- telling ---------------------------------------------------------------------------------

    def take(self, now_ms: int) -> Iterator[News]:
        """What is due, one after the other; each counts as told once it is given out.

        The client may fall behind between two: whoever iterates just stops.
        """
        for run_id, snapshot in list(self._pending.items()):
            if run_id not in self._held and self._due_at(snapshot) <= now_ms:
                del self._pending[run_id]
                yield self._told(snapshot, now_ms)

    def next_due(self) -> int | None:
        """When something will be due, if nothing else happens."""
        return min(
            (
                self._due_at(snapshot)
                for run_id, snapshot in self._pending.items()
                if run_id not in self._held
            ),
            default=None,
        )

    def _due_at(self, snapshot: Snapshot) -> int:
        known = self._known.get(snapshot.run.run_id)
        if known is None or known.sent_at is None:
            return 0
        if snapshot.run.is_over and not known.is_over:
            return known.sent_at  # somebody waits for it, and it comes only once
        return known.sent_at + self._interval_ms

    def _told(self, snapshot: Snapshot, now_ms: int) -> News:
        run = snapshot.run
        known = self._known.setdefault(run.run_id, _Known())
        is_lost = run.is_over and run.outcome is not None and run.outcome.reason in LOST_REASONS
        repaired = run.adoptions > known.adoptions or (is_lost and not known.is_over)
        self._note(known, snapshot)
        known.sent_at = now_ms
        return News(snapshot=snapshot, occasion=Occasion.REPAIR if repaired else Occasion.CHANGE)

    @staticmethod
    def _note(known: _Known, snapshot: Snapshot) -> None:
        known.revision = snapshot.revision
        known.adoptions = snapshot.run.adoptions
        known.is_over = snapshot.run.is_over
        known.dismissed_at = snapshot.dismissed_at
