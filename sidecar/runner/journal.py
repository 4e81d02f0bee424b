"""The runner's pen: events, status, result, in the one order that a crash may cut anywhere.

Owns everything that is written for a run while it is led.  Within one ``flush`` the order is:
event lines, then the newest status, then what waits behind them (result, finished commands, the
marker).  So a status never names an event that is not in the log, and a terminal status never
comes before its result.

A refused write (full disk, no descriptors, read-only) loses nothing: what is due stays due, in
memory, newest payload only, and is tried again; whoever watches is told by a doorbell what it
waits for.  This module must never decide what to write, and never touch a process.
"""

from collections import deque
from collections.abc import Callable

from sidecar.core import policy
from sidecar.core.effects import (
    AppendEvent,
    FinishCommand,
    Leave,
    ReleaseMarker,
    StoreResult,
    Urgency,
    WriteStatus,
)
from sidecar.core.errors import StorageError
from sidecar.core.events import Recorded
from sidecar.core.states import Outcome, Run
from sidecar.procs import clock
from sidecar.runner import report
from sidecar.store import markers
from sidecar.store.doorbell import Bells
from sidecar.store.inbox import Inbox
from sidecar.store.layout import Layout
from sidecar.store.rundir import LeasedRunDir

Behind = StoreResult | FinishCommand | ReleaseMarker | Leave
Written = AppendEvent | WriteStatus | Behind


class Journal:
    """What is due to be written for one run.

    ``newest`` gives the run as it is now; it is asked at the moment of writing, so that a delayed
    write carries the newest payload.  ``stored`` is called
    with the outcome once the result is durable, ``done`` with each effect once it is on disk.
    Times are monotonic milliseconds.
    """

    def __init__(
        self,
        *,
        layout: Layout,
        run_dir: LeasedRunDir,
        newest: Callable[[], Run],
        stored: Callable[[Outcome], None],
        done: Callable[[Written], None],
    ) -> None:
        self._layout = layout
        self._run_dir = run_dir
        self._newest = newest
        self._stored = stored
        self._done = done
        self._bells = Bells(layout)
        self._inbox = Inbox(run_dir.path)
        self._lines: deque[Recorded] = deque()
        self._status: Urgency | None = None
        self._status_due: int | None = None
        self._behind: deque[Behind] = deque()
        self._retry_at: int | None = None
        self._trouble: str | None = None
        self.left = False

    def take(self, effect: Written, now: int) -> None:
        """Notes ``effect``; ``flush`` performs it."""
        match effect:
            case AppendEvent():
                self._lines.append(effect.recorded)
            case WriteStatus(urgency=urgency):
                if urgency is not Urgency.COALESCED:
                    self._status_due = now
                elif self._status_due is None:
                    self._status_due = now + policy.STATUS_COALESCE_MS
                if self._status is None or urgency is Urgency.DURABLE:
                    self._status = urgency
            case StoreResult() | FinishCommand() | ReleaseMarker() | Leave():
                self._behind.append(effect)

    @property
    def is_lost(self) -> bool:
        """Whether the last write found something missing on its way."""
        return self._trouble == "ENOENT"

    def move(self, run_dir: LeasedRunDir) -> None:
        """Goes on in a run directory that was made anew."""
        self._run_dir = run_dir
        self._inbox = Inbox(run_dir.path)
        self._retry_at = None

    @property
    def due_at(self) -> int | None:
        """When ``flush`` has something to do, if ever."""
        if self._retry_at is not None:
            return self._retry_at
        if self._lines or self._behind:
            return 0
        return self._status_due

    def flush(self, now: int) -> None:
        """Writes what is due, as far as the storage lets."""
        if self._retry_at is not None and now < self._retry_at:
            return
        try:
            self._write(now)
        except StorageError as exc:
            self._retry_at = now + policy.STORAGE_RETRY_MS
            if self._trouble != exc.errno_name:
                self._trouble = exc.errno_name
                self.ring(f"storage:{exc.errno_name}")
            return
        self._retry_at = None
        if self._trouble is not None:
            self._trouble = None
            self.ring("storage:ok")

    def ring(self, kind: str) -> None:
        """Wakes whoever watches; a hint, never the truth."""
        run = self._newest()
        self._bells.ring(kind, run.run_id, run.seq)

    def _write(self, now: int) -> None:
        while self._lines:
            self._run_dir.append(self._lines[0])
            self._done(AppendEvent(recorded=self._lines.popleft()))
        self._write_status(now)
        while self._behind:
            self._perform(self._behind[0])
            self._done(self._behind.popleft())

    def _write_status(self, now: int) -> None:
        """The newest state.  Commands and results behind it pull a coalesced write forward."""
        if self._status is None or self._status_due is None:
            return
        if now < self._status_due and not self._behind:
            return
        written = WriteStatus(urgency=self._status)
        self._run_dir.write_status(self._newest(), durable=self._status is Urgency.DURABLE)
        self._status = None
        self._status_due = None
        self._done(written)
        self.ring("status")

    def _perform(self, effect: Behind) -> None:
        match effect:
            case StoreResult(outcome=outcome):
                result = report.build(self._run_dir, self._newest(), outcome, clock.wall_ms())
                self._run_dir.write_result(result)
                self._stored(outcome)
            case FinishCommand(command_id=command_id):
                self._inbox.finish(command_id)
            case ReleaseMarker():
                markers.remove(self._layout, self._newest().run_id)
            case Leave():
                self.left = True
