"""``$/progress``: one bar per active run, for editors that can show it; begun once, ended once.

The client is asked for each token first. A run that ends before the client has granted it still
gets both, since some editors keep a token that was granted and never used.

Cancelling a bar does nothing to its run unless the client said at ``initialize`` that it should:
editors cancel progress for reasons of their own.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from lsprotocol import types as lsp

from sidecar.control.context import Snapshot
from sidecar.core import text
from sidecar.core.states import Run
from sidecar.server.diary import log
from sidecar.server.protocol import SidecarProtocol

REPORT_S: Final = 1.0
"""At most one report per run in this time."""

TITLE_MAX: Final = 80


@dataclass(slots=True)
class _Bar:
    """The bar of one run; ``latest`` is what it should show."""

    token: str
    latest: Snapshot
    begun: bool = False
    refused: bool = False
    reported_at: float = 0.0
    due: asyncio.TimerHandle | None = None


class RunProgress:
    """All bars of one client.  ``has_room`` says whether it keeps up with what it is told."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: SidecarProtocol,
        has_room: Callable[[], bool],
        *,
        cancellable: bool,
    ) -> None:
        self._loop = loop
        self._protocol = protocol
        self._has_room = has_room
        self._cancellable = cancellable
        self._bars: dict[str, _Bar] = {}

    def see(self, snapshot: Snapshot) -> None:
        """The client was told this state of a run."""
        run = snapshot.run
        bar = self._bars.get(run.run_id)
        if bar is None:
            if not run.is_over:
                self._ask(snapshot)
            return
        bar.latest = snapshot
        if bar.refused and run.is_over:
            del self._bars[run.run_id]
        elif bar.begun:
            self._show(bar)

    def run_of(self, token: object) -> str | None:
        """The run whose bar has this token."""
        return next((run_id for run_id, bar in self._bars.items() if bar.token == token), None)

    def close(self, message: str) -> None:
        """End every bar; its run goes on."""
        for bar in list(self._bars.values()):
            if bar.begun:
                self._end(bar, message)
        self._bars.clear()

    def _ask(self, snapshot: Snapshot) -> None:
        run_id = snapshot.run.run_id
        bar = self._bars[run_id] = _Bar(token=f"sidecar/{run_id}", latest=snapshot)
        asked = self._protocol.send_request(
            lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token=bar.token)
        )
        # Called at once when the answer is taken: what comes after it finds the bar begun.
        asked.add_done_callback(lambda future: self._answered(bar, future))

    def _answered(self, bar: _Bar, future: "Future[Any]") -> None:
        if future.cancelled() or self._bars.get(bar.latest.run.run_id) is not bar:
            return
        refusal = future.exception()
        if refusal is not None:
            log.info("the client granted no progress: %s", refusal)
            bar.refused = True
            return
        bar.begun = True
        bar.reported_at = self._loop.time()
        self._protocol.progress.begin(
            bar.token,
            lsp.WorkDoneProgressBegin(
                title=_title(bar.latest.run),
                cancellable=self._cancellable,
                message=_message(bar.latest.run),
            ),
        )
        if bar.latest.run.is_over:
            self._end(bar, _message(bar.latest.run))

    def _show(self, bar: _Bar) -> None:
        if bar.latest.run.is_over:
            self._end(bar, _message(bar.latest.run))
        elif bar.due is None:
            wait_s = max(0.0, bar.reported_at + REPORT_S - self._loop.time())
            bar.due = self._loop.call_later(wait_s, self._report, bar)

    def _report(self, bar: _Bar) -> None:
        bar.due = None
        # A client that does not read is not told the same thing again and again.
        if not self._has_room():
            return
        bar.reported_at = self._loop.time()
        self._protocol.progress.report(
            bar.token, lsp.WorkDoneProgressReport(message=_message(bar.latest.run))
        )

    def _end(self, bar: _Bar, message: str) -> None:
        if bar.due is not None:
            bar.due.cancel()
        self._protocol.progress.end(bar.token, lsp.WorkDoneProgressEnd(message=message))
        self._protocol.progress.tokens.pop(bar.token, None)
        self._bars.pop(bar.latest.run.run_id, None)


def _title(run: Run) -> str:
    step = run.steps[0] if run.steps else None
    name = run.label or (step.label or step.agent if step is not None else run.run_id)
    return text.one_line(name, TITLE_MAX) or run.run_id


def _message(run: Run) -> str:
    if run.is_over and run.outcome is not None:
        return f"{run.state}: {run.outcome.reason}"
    return "stopping" if run.stopping is not None else str(run.state)
