"""What the server has told, kept for whoever looks: the newest state of each run, notices, output.

Everybody who looks has a box, and takes from it when it likes.  No box grows with what is not
taken: of a run only the newest state is kept, of notices the newest ones, and output that is not
taken is forgotten, since it can be read again.

This module must never wait, nor ask the server anything.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final
from weakref import WeakSet

from sidecar.core.errors import Bug
from sidecar.wire.notifications import (
    RunNoticeNotification,
    RunOutputNotification,
    RunStatusNotification,
)
from sidecar.wire.params import LogStream
from sidecar.wire.reading import from_object
from sidecar.wire.views import RunView

NOTICES_MAX: Final = 1000
"""Notices that are kept for one box: far more than a person would read."""

OVER_MAX: Final = 1000
"""Runs that are over of which is known what was told last, so that nobody is told it again."""

OUTPUT_MAX: Final = 1024 * 1024
"""Characters of output that are kept for one box: some pages, so that a reader that is only a
little late need not ask for them."""


class Statuses:
    """A box of runs that have changed: of each the newest state, the longest waiting first."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake
        self._newest: dict[str, RunView] = {}

    def put(self, run: RunView) -> None:
        """A run changed."""
        self._newest[run.run_id] = run
        self.wake()

    def take(self) -> RunView | None:
        """The next run, if there is one."""
        for run_id in self._newest:
            return self._newest.pop(run_id)
        return None


class Notices:
    """A box of notices."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake
        self._kept: deque[RunNoticeNotification] = deque(maxlen=NOTICES_MAX)

    def put(self, notice: RunNoticeNotification) -> None:
        """Something was noticed."""
        self._kept.append(notice)
        self.wake()

    def take(self) -> RunNoticeNotification | None:
        """The next notice, if there is one."""
        return self._kept.popleft() if self._kept else None


class Feed:
    """A box of pieces of one log.

    ``position`` is where its reader is; ``is_behind`` says that the log has to be read, since
    something was told that is not in the box, or may be the end.
    """

    def __init__(
        self, run_id: str, stream: LogStream, position: int, wake: Callable[[], None]
    ) -> None:
        self.run_id = run_id
        self.stream = stream
        self.position = position
        self.is_behind = True
        self.wake = wake
        self._pieces: deque[RunOutputNotification] = deque()
        self._held = 0

    def put(self, piece: RunOutputNotification) -> None:
        """There is more of the log."""
        self._pieces.append(piece)
        self._held += len(piece.text)
        if self._held > OUTPUT_MAX:
            self._pieces.clear()
            self._held = 0
            self.is_behind = True
        self.wake()

    def take(self) -> RunOutputNotification | None:
        """The piece that comes next, if it is here; what was read already is left out."""
        while self._pieces:
            piece = self._pieces.popleft()
            self._held -= len(piece.text)
            if piece.next_offset <= self.position:
                continue
            if piece.offset == self.position:
                return piece
            self.is_behind = True  # a gap, or an overlap that ends within the piece
            return None
        return None

    def fall_behind(self) -> None:
        """What is in the box may not be all."""
        self.is_behind = True
        self.wake()


class Hub:
    """All boxes of one client, and the runs that it knows to be live."""

    def __init__(self) -> None:
        self._live: dict[str, RunView] = {}
        self._over: dict[str, int] = {}
        """The revision that was told last, the run that ended last at the end."""
        self._statuses: WeakSet[Statuses] = WeakSet()
        self._notices: WeakSet[Notices] = WeakSet()
        self._feeds: list[Feed] = []

    @property
    def live(self) -> tuple[RunView, ...]:
        """The runs that were told and are not over, as far as is known here."""
        return tuple(self._live.values())

    def open_statuses(self, wake: Callable[[], None]) -> Statuses:
        """A box that begins with the live runs; it is there for as long as somebody holds it."""
        box = Statuses(wake)
        for run in self._live.values():
            box.put(run)
        self._statuses.add(box)
        return box

    def open_notices(self, wake: Callable[[], None]) -> Notices:
        """A box of what is noticed from now on; it is there for as long as somebody holds it."""
        box = Notices(wake)
        self._notices.add(box)
        return box

    def open_feed(self, feed: Feed) -> None:
        """This feed gets what is told of its log."""
        self._feeds.append(feed)

    def close_feed(self, feed: Feed) -> None:
        """It gets nothing any more."""
        self._feeds.remove(feed)

    def feeds_of(self, run_id: str) -> tuple[Feed, ...]:
        """Those of one run."""
        return tuple(feed for feed in self._feeds if feed.run_id == run_id)

    def hear(self, method: str, params: Any) -> None:
        """A notification came; one that is not known, or not understood, is let pass."""
        try:
            match method:
                case "run/status":
                    self.see(from_object(RunStatusNotification, params).run)
                case "run/output":
                    self._hear_output(from_object(RunOutputNotification, params))
                case "run/notice":
                    notice = from_object(RunNoticeNotification, params)
                    for box in self._notices:
                        box.put(notice)
                case _:
                    pass
        except Bug:  # of a newer server: a notification is only a hint
            pass

    def see(self, run: RunView) -> None:
        """This is how a run is, or was: what is older than what is known says nothing."""
        known = self._live.get(run.run_id)
        told = known.revision if known is not None else self._over.get(run.run_id, 0)
        if run.revision <= told:
            return
        is_over = run.ended_at is not None
        if is_over:
            self._live.pop(run.run_id, None)
            self._over[run.run_id] = run.revision
            if len(self._over) > OVER_MAX:
                del self._over[next(iter(self._over))]
        else:
            self._live[run.run_id] = run
        for box in self._statuses:
            box.put(run)
        if is_over:
            for feed in self.feeds_of(run.run_id):
                feed.fall_behind()

    def forget(self, run_id: str) -> None:
        """A run does not exist any more."""
        self._live.pop(run_id, None)

    def wake(self) -> None:
        """Everybody should look: the server is lost, or the client was closed."""
        for box in self._boxes():
            box.wake()

    def _boxes(self) -> Iterator[Statuses | Notices | Feed]:
        yield from self._statuses
        yield from self._notices
        yield from self._feeds

    def _hear_output(self, piece: RunOutputNotification) -> None:
        for feed in self.feeds_of(piece.run_id):
            if feed.stream is piece.stream:
                feed.put(piece)
