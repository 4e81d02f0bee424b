"""The voice of the server: gives out what the publisher owes, in the words of the wire.

It stops as soon as the client falls behind, and goes on when there is room, or something is due.
"""

import asyncio
from typing import Final

from lsprotocol import types as lsp

from sidecar.control.context import Snapshot
from sidecar.core import text
from sidecar.core.states import Run, RunState
from sidecar.server.connection import Connection
from sidecar.server.options import Greeting
from sidecar.server.progress import RunProgress
from sidecar.server.protocol import SidecarProtocol
from sidecar.server.publish import News, Occasion, Publisher
from sidecar.wire import convert
from sidecar.wire.fields import View
from sidecar.wire.notifications import (
    NoticeKind,
    RunNoticeNotification,
    RunOutputNotification,
    RunStatusNotification,
)

STORAGE_TOLD_S: Final = 60.0
"""The same storage trouble of a run is told again only after this time: it is retried twice a
second, and nobody frees a disk faster."""


class Teller:
    """All notifications to one client."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connection: Connection,
        protocol: SidecarProtocol,
        greeting: Greeting,
        session_id: str,
    ) -> None:
        self._loop = loop
        self._connection = connection
        self._protocol = protocol
        self._messages = greeting.options.messages
        self._session_id = session_id
        self._timer: asyncio.TimerHandle | None = None
        self._storage_told: dict[tuple[str, str], float] = {}
        self._is_open = False
        self._progress: RunProgress | None = None
        if greeting.has_progress:
            self._progress = RunProgress(
                loop,
                protocol,
                connection.outlet.has_room,
                cancellable=greeting.options.progress_cancel is not None,
            )
        self.publisher = Publisher(
            session_id=session_id, interval_ms=greeting.options.status_interval_ms
        )

    def open(self) -> None:
        """What was there before the client is known: begin with that."""
        self._is_open = True
        self.tell()

    def tell(self) -> None:
        """Give out what is due and what the client has room for."""
        if not self._is_open:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        outlet = self._connection.outlet
        if not outlet.has_room():
            outlet.when_room(self.tell)
            return
        now_ms = self._now_ms()
        for news in self.publisher.take(now_ms):
            self._tell_one(news)
            if not outlet.has_room():
                outlet.when_room(self.tell)
                return
        due = self.publisher.next_due()
        if due is not None:
            self._timer = self._loop.call_later(max(0, due - now_ms) / 1000, self.tell)

    def tell_output(self, output: RunOutputNotification) -> None:
        """Tell of new output that the client asked for."""
        self._notify("run/output", output)

    def tell_storage(self, run_id: str, errno_name: str) -> None:
        """Tell that a run cannot write; it goes on, and its writes are tried again."""
        now = self._loop.time()
        if now - self._storage_told.get((run_id, errno_name), -STORAGE_TOLD_S) < STORAGE_TOLD_S:
            return
        self._storage_told[run_id, errno_name] = now
        self._notice(
            run_id,
            NoticeKind.STORAGE,
            f"the run's state cannot be written ({errno_name}); it is tried again until it can",
        )

    def show_progress(self, snapshot: Snapshot) -> None:
        """The client knows this state of a run, however it was told."""
        if self._progress is not None and snapshot.run.session_id == self._session_id:
            self._progress.see(snapshot)

    def run_of_progress(self, token: object) -> str | None:
        """The run whose progress has this token."""
        return self._progress.run_of(token) if self._progress is not None else None

    def close(self) -> None:
        """Say nothing more, but that all progress ends."""
        self._is_open = False
        if self._timer is not None:
            self._timer.cancel()
        if self._progress is not None:
            self._progress.close("goes on in the background")

    def _tell_one(self, news: News) -> None:
        snapshot = news.snapshot
        run = snapshot.run
        view = convert.run_view(run, snapshot.dismissal)
        self._notify("run/status", RunStatusNotification(run=view))
        if news.occasion is Occasion.REPAIR:
            self._notice(run.run_id, NoticeKind.REPAIRED, _repaired(run))
        self.show_progress(snapshot)
        if self._messages and run.is_over and snapshot.dismissed_at is None:
            kind = lsp.MessageType.Info
            if run.state is RunState.FAILED:
                kind = lsp.MessageType.Error
            self._show(kind, f"{_name(run)}: {_ended(run)}")

    def _notice(self, run_id: str, kind: NoticeKind, message: str) -> None:
        self._notify(
            "run/notice",
            RunNoticeNotification(run_id=run_id, kind=kind, message=message),
        )
        if self._messages:
            self._show(lsp.MessageType.Warning, f"run {run_id[:8]}: {message}")

    def _notify(self, method: str, params: View) -> None:
        self._connection.notify(method, convert.to_object(params))

    def _show(self, kind: lsp.MessageType, message: str) -> None:
        self._protocol.notify(
            lsp.WINDOW_SHOW_MESSAGE, lsp.ShowMessageParams(type=kind, message=message)
        )

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)


def _repaired(run: Run) -> str:
    if run.is_over:
        return f"what led the run had vanished; it was ended: {_ended(run)}"
    return "what led the run had vanished; another runner has taken over"


def _ended(run: Run) -> str:
    reason = run.outcome.reason if run.outcome is not None else ""
    return f"{run.state} ({reason})" if reason else str(run.state)


def _name(run: Run) -> str:
    step = run.steps[0] if run.steps else None
    return text.one_line(run.label or (step.agent if step is not None else "") or run.run_id)
