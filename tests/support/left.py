"""What must be gone once all runs of a state directory are over and everybody has gone home.

Names on disk are spelled out here, not imported: they are promises to files of older versions.
"""

from pathlib import Path

from tests.support.procs import assert_no_processes
from tests.support.wait import DEADLINE_S, wait_until

# A marker says that a run is not proven over; a staging directory, that a launch is under way.
MUST_BE_EMPTY = ("active", "staging")


def assert_nothing_left(state_dir: Path, *, deadline_s: float = DEADLINE_S) -> None:
    """Wait until no process, no marker, no half-built run and no half-written file is left."""
    assert_no_processes(state_dir, deadline_s=deadline_s)
    wait_until(
        lambda: not leftovers(state_dir),
        what=lambda: f"nothing left, but there is {', '.join(leftovers(state_dir))}",
        deadline_s=deadline_s,
    )


def leftovers(state_dir: Path) -> list[str]:
    """Everything below ``state_dir`` that only a live process has a use for, as relative paths."""
    found = [
        entry
        for name in MUST_BE_EMPTY
        if (state_dir / name).is_dir()
        for entry in (state_dir / name).iterdir()
    ]
    found += state_dir.rglob("*.tmp")
    found += state_dir.glob("runs/*/bell")
    return sorted(str(entry.relative_to(state_dir)) for entry in found)
