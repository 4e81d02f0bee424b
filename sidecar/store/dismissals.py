"""Hiding runs: dismissed.json, the one document of a run that several processes may change.

Each change is read, counted and written under a lock of its own, so that two windows that dismiss
at once lose nothing, and the revision that clients see never stands still for a change.

This module must never touch anything else of a run, which may be live again for its leader.
"""

import contextlib
import os
from dataclasses import replace

from sidecar.core.dismissal import NEVER, Dismissal
from sidecar.core.errors import DamagedRun, NotFound, StorageError
from sidecar.store import atomic, codec, locks
from sidecar.store.layout import DISMISSED, DISMISSED_LOCK

LOCK_WAIT_MS = 5000
"""A change takes a millisecond; whoever holds the lock this long is stopped, or on a hung disk."""

_MAX_BYTES = 64 * 1024


def write(run_dir: str, dismissal: Dismissal) -> Dismissal:
    """Stores ``dismissal`` with its place in the count of changes, and returns what is stored.

    ``changes`` of the argument is not used: the stored count plus one is.  What says the same as
    the stored one changes nothing.  Raises ``NotFound`` if the run is gone, ``DamagedRun`` if a
    newer version wrote the last word, ``StorageError``.
    """
    path = f"{run_dir}/{DISMISSED}"
    try:
        dir_fd = atomic.open_dir(run_dir)
    except FileNotFoundError as exc:
        run_id = os.path.basename(run_dir)
        raise NotFound(f"no such run: {run_id}", field="runId", run_id=run_id) from exc
    except OSError as exc:
        raise atomic.read_error(run_dir, exc) from exc
    try:
        lock_fd = locks.open_locked(DISMISSED_LOCK, LOCK_WAIT_MS, dir_fd=dir_fd)
        if lock_fd is None:
            raise StorageError(
                f"somebody keeps this locked: {run_dir}/{DISMISSED_LOCK}", errno_name="EAGAIN"
            )
        try:
            stored = _stored(path)
            same = (stored.dismissed, stored.at_seq) == (dismissal.dismissed, dismissal.at_seq)
            if same or not (stored.dismissed or dismissal.dismissed):
                return stored
            changed = replace(dismissal, changes=stored.changes + 1)
            data = codec.encode_dismissal(changed)
            atomic.replace_at(dir_fd, DISMISSED, data, durable=True)
        finally:
            os.close(lock_fd)
    except OSError as exc:
        raise atomic.storage_error("write", path, exc) from exc
    finally:
        os.close(dir_fd)
    return changed


def _stored(path: str) -> Dismissal:
    try:
        return codec.decode_dismissal(atomic.read_file(path, max_bytes=_MAX_BYTES), path)
    except FileNotFoundError:
        return NEVER
    except DamagedRun as exc:
        if exc.damage == "future-format":
            raise
        with contextlib.suppress(OSError):  # if it cannot be kept aside, writing will tell why
            os.replace(path, f"{path}.damaged")
        return NEVER
