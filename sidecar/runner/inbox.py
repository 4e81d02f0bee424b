"""What anybody asks of the run: the inbox, and the bell that says "look".

The bell is a hint; the directory is looked at when it rings, at the start, and every 5 s.
A command stays in the inbox until it has taken effect.  This module must never act on one.
"""

import os

from sidecar.core import policy
from sidecar.core.commands import Posted
from sidecar.core.errors import StorageError
from sidecar.core.events import Event, StopRequested
from sidecar.store.doorbell import RunBell
from sidecar.store.inbox import Inbox


class InboxSource:
    """Turns commands into events, each once."""

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._inbox = Inbox(run_dir)
        self._bell = _hang_up(run_dir)
        self._taken: set[str] = set()
        self.next_at: int | None = 0
        self.is_lost = False
        """Whether the last look found no run directory."""

    @property
    def fd(self) -> int | None:
        """The bell's descriptor, if there is a bell."""
        return None if self._bell is None else self._bell.fileno()

    def turn(self, now: int, *, is_woken: bool) -> list[Event]:
        """The new commands, in order, if it is time to look."""
        if self.next_at is None:
            return []
        if is_woken and self._bell is not None:
            self._bell.receive()
        if not is_woken and now < self.next_at:
            return []
        self.is_lost = not os.path.isdir(self._run_dir)
        self.next_at = now + policy.INBOX_SCAN_MS
        return [self._event_of(posted) for posted in self._inbox.pending() if self._is_new(posted)]

    def take_refused(self) -> list[str]:
        """Why files were refused since the last call, one line each."""
        refused, self._inbox.refused = self._inbox.refused, []
        return refused

    def _is_new(self, posted: Posted) -> bool:
        if posted.command_id in self._taken:
            return False
        self._taken.add(posted.command_id)
        return True

    def _event_of(self, posted: Posted) -> Event:
        command = posted.command
        return StopRequested(
            cause=command.cause,
            client=command.client,
            reason=command.reason,
            grace_ms=command.grace_ms,
            command_id=posted.command_id,
        )

    def close(self) -> None:
        """Takes the bell down and looks no more.  Idempotent."""
        self.next_at = None
        if self._bell is not None:
            self._bell.close()
            self._bell = None


def _hang_up(run_dir: str) -> RunBell | None:
    """A bell, if there can be one; the inbox is looked at without it too, only later."""
    try:
        return RunBell(run_dir)
    except StorageError:
        return None
