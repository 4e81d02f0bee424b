"""Being woken when runs change: a doorbell, and behind it the slow scan that makes it right.

A ``Watch`` belongs to one owner, who polls ``fileno``, drains it when it is readable, and scans
every ``policy.SCAN_MS`` whatever happens.  What it answers are reasons to look; what there is to
see is in ``control.read``.

This module must never decide what a change means, and works, later, without any doorbell.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.core.errors import StorageError
from sidecar.store.doorbell import OUTPUT, STATUS, STORAGE, Bell
from sidecar.store.layout import open_state_dir
from sidecar.store.scan import ActiveScan


@dataclass(frozen=True, slots=True, kw_only=True)
class Woken:
    """What the doorbell said since the last look, by run id: whose status or output changed, and
    whose writes the system refuses (with the name of the errno)."""

    status: frozenset[str]
    output: frozenset[str]
    storage: tuple[tuple[str, str], ...]


NOTHING = Woken(status=frozenset(), output=frozenset(), storage=())


class Watch:
    """One owner's doorbell and scan.  Not for two threads at once."""

    def __init__(self, ctx: Context) -> None:
        """Never raises: where no bell can be hung up, the scan alone is right."""
        self._ctx = ctx
        self._scan = ActiveScan(ctx.layout)
        self._bell: Bell | None = None
        self._hang_up()

    def fileno(self) -> int | None:
        """The descriptor to poll for reading; ``None`` without a bell.  May change with a scan."""
        return None if self._bell is None else self._bell.fileno()

    def drain(self) -> Woken:
        """What was rung since the last call.  Never waits, never raises."""
        rings = self._bell.receive() if self._bell is not None else []
        if not rings:
            return NOTHING
        return Woken(
            status=frozenset(ring.run_id for ring in rings if ring.kind == STATUS),
            output=frozenset(ring.run_id for ring in rings if ring.kind == OUTPUT),
            storage=tuple(
                dict.fromkeys(
                    (ring.run_id, ring.kind.removeprefix(STORAGE))
                    for ring in rings
                    if ring.kind.startswith(STORAGE)
                )
            ),
        )

    def scan(self, also: Iterable[str] = ()) -> frozenset[str]:
        """The active runs, and those of ``also``, that changed, came or went since the last scan;
        the first one names them all.

        Raises ``StorageError`` if they cannot be listed for now; nothing is lost then.
        """
        if self._bell is None:
            self._hang_up()
        if not read.has_state_dir(self._ctx):
            return frozenset()
        return frozenset(self._scan.poll(also))

    def close(self) -> None:
        """Takes the bell down.  Idempotent."""
        if self._bell is not None:
            self._bell.close()
            self._bell = None

    def _hang_up(self) -> None:
        try:
            # Whoever waits for the first run of all needs a place to be rung at.
            open_state_dir(self._ctx.layout.state_dir)
            self._bell = Bell(self._ctx.layout)
        except StorageError:
            self._bell = None  # no sockets, no room, no rights: the next scan tries again
