"""Hiding a run from lists.  It ends nothing, and lives in a file of its own.

``changes`` counts every dismissal and its undoing, so that the revision that clients see (status
seq + changes) grows with each.  ``at_seq`` is the status that was dismissed: a run that changed
since is shown again.

This module must never know who shows what; it only answers whether a run is hidden.
"""

from dataclasses import dataclass

from sidecar.core.states import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissal:
    """The newest word on hiding a run; ``at`` is ms since the epoch."""

    dismissed: bool
    changes: int
    at: int
    at_seq: int


NEVER = Dismissal(dismissed=False, changes=0, at=0, at_seq=0)


def hidden_since(run: Run, dismissal: Dismissal) -> int | None:
    """When the run was hidden, if it is hidden now."""
    if dismissal.dismissed and run.seq == dismissal.at_seq:
        return dismissal.at
    return None


def revision(run: Run, dismissal: Dismissal) -> int:
    """Grows with every visible change of the run."""
    return run.seq + dismissal.changes
