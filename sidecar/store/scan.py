"""The slow scan: which runs changed since one last looked, at the cost of the active ones only.

Doorbells make this fast, the scan makes it right: it alone finds every change of an active run,
on any file system, however many datagrams were lost.

This module must never read a document, and one run that cannot be looked at must never hide
another.
"""

from collections.abc import Iterable

from sidecar.store import markers
from sidecar.store.layout import Layout
from sidecar.store.rundir import RunDir, Stamp


class ActiveScan:
    """One observer's view of the active runs."""

    __slots__ = ("_layout", "_stamps")

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._stamps: dict[str, Stamp] = {}

    def poll(self, also: Iterable[str] = ()) -> list[str]:
        """The ids of the runs that appeared, changed or vanished since the last poll, in order.

        ``also`` names runs that are watched although they are over (somebody may dismiss them).
        Raises ``StorageError`` if the active runs cannot be listed; nothing is forgotten then.
        """
        stamps = {
            run_id: self._stamp(run_id) for run_id in {*markers.active_ids(self._layout), *also}
        }
        before, self._stamps = self._stamps, stamps
        return sorted(
            run_id for run_id in {*before, *stamps} if before.get(run_id) != stamps.get(run_id)
        )

    def _stamp(self, run_id: str) -> Stamp:
        try:
            return RunDir(self._layout.run_dir(run_id)).stamp()
        except OSError as exc:
            # A stamp of its own: told once, when it begins and when it ends.
            return ((exc.errno or 0, 0, 0),)
