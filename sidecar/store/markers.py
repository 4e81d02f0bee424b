"""The active index: one empty file per run that is not proven over, named after it.

Made before the run becomes visible and removed by proof, so that a list of it never misses a run
that lives, and costs only those.

This module must never look into a run; a marker says that somebody has to, and nothing else.
"""

import os

from sidecar.core.ids import is_run_id
from sidecar.store import atomic
from sidecar.store.layout import Layout


def active_ids(layout: Layout) -> list[str]:
    """The marked runs, oldest first; none if there is no state directory.

    Raises ``StorageError``: that the index cannot be read does not mean that it is empty.
    """
    try:
        dir_fd = atomic.open_dir(layout.active)
        try:
            names = os.listdir(dir_fd)
        finally:
            os.close(dir_fd)
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise atomic.storage_error("list the active runs in", layout.active, exc) from exc
    return sorted(filter(is_run_id, names))


def add(layout: Layout, run_id: str) -> None:
    """Marks a run; durable once the directory is synced.  Raises ``StorageError``."""
    os.close(atomic.open_for_writing(layout.marker(run_id), appending=False))


def remove(layout: Layout, run_id: str) -> None:
    """Unmarks a run; one that has no marker is fine.  Raises ``StorageError``."""
    path = layout.marker(run_id)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as exc:
        raise atomic.storage_error("remove the marker", path, exc) from exc
