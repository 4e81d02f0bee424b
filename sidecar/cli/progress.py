"""What is said while runs are waited for: each end as it comes, and for a person what is awaited.

This module must never wait itself.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from sidecar.cli import wording
from sidecar.cli.terminal import Terminal
from sidecar.control.context import Snapshot
from sidecar.core.ids import RUN_ID_LENGTH


class Progress:
    """Tells stdout of each run that is over, and a terminal on stderr how many are not."""

    def __init__(
        self,
        terminal: Terminal,
        snapshots: Sequence[Snapshot],
        now_ms: Callable[[], int],
        *,
        quiet: bool,
    ) -> None:
        """``quiet``: stdout is for something else."""
        self._terminal = terminal
        self._now_ms = now_ms
        self._is_quiet = quiet
        self._newest = {snapshot.run.run_id: snapshot for snapshot in snapshots}
        self._id_length = RUN_ID_LENGTH
        if terminal.out.is_terminal:
            self._id_length = wording.id_length(list(self._newest))

    def begin(self) -> None:
        """Tells of those that are over already."""
        for snapshot in self._newest.values():
            self._tell(snapshot)
        self._show_rest()

    def changed(self, snapshot: Snapshot) -> None:
        """Takes in a newer state."""
        self._newest[snapshot.run.run_id] = snapshot
        self._tell(snapshot)
        self._show_rest()

    def _tell(self, snapshot: Snapshot) -> None:
        run = snapshot.run
        if run.is_over and not self._is_quiet:
            self._terminal.err.clear()
            shown_id = run.run_id[: self._id_length]
            self._terminal.out.say(wording.ending(run, shown_id, self._now_ms()))

    def _show_rest(self) -> None:
        live = [snapshot.run for snapshot in self._newest.values() if not snapshot.run.is_over]
        if not live:
            return
        counts = Counter(wording.state(run).text for run in live)
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        self._terminal.err.hint_at(f"waiting for {told} (Ctrl-C leaves them alone)")
