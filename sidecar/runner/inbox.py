"""What anybody asks of the run: the inbox, and the bell that says "look".

The bell is a hint; the directory is looked at when it rings, at the start, and every 5 s.
A command stays in the inbox until it has taken effect.  This module must never act on one.
"""

from sidecar.core import policy
from sidecar.core.commands import Posted
from sidecar.core.events import Event, StopRequested
from sidecar.store.doorbell import RunBell
from sidecar.store.inbox import Inbox


class InboxSource:
    """Turns commands into events, each once."""

    def __init__(self, run_dir: str) -> None:
        self._inbox = Inbox(run_dir)
        self._bell = RunBell(run_dir)
        self._taken: set[str] = set()
        self.next_at: int | None = 0

    @property
    def fd(self) -> int | None:
        """The bell's descriptor, if there is a bell."""
        return self._bell.fileno()

    def turn(self, now: int, *, is_woken: bool) -> list[Event]:
        """The new commands, in order, if it is time to look."""
        if is_woken:
            self._bell.receive()
        elif self.next_at is None or now < self.next_at:
            return []
        self.next_at = now + policy.INBOX_SCAN_MS
        return [self._event_of(posted) for posted in self._inbox.pending() if self._is_new(posted)]

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
        """Takes the bell down."""
        self._bell.close()
