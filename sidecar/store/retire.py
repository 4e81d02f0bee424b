"""Deleting run directories: first out of sight by one rename, then file by file.

The rename into staging (a tombstone) is the moment at which a run stops to exist; whatever dies
afterwards leaves something that nobody takes for a run, and that ``staging.sweep`` deletes.

This module must never follow a link, and must never delete a run whose lease is not in its hand.
"""

import contextlib
import itertools
import os

from sidecar.core import policy
from sidecar.core.errors import DamagedRun, NotFound, RunLive
from sidecar.store import atomic, markers
from sidecar.store.layout import LEASE, Layout
from sidecar.store.lease import Lease

TOMBSTONE = ".gone-"

_LEAVING_PAUSE_MS = 25

_counter = itertools.count()


def remove(layout: Layout, run_id: str) -> None:
    """Deletes a run that is over, and its marker.

    Whether it is over, and proven gone, is the caller's to know.  Raises ``NotFound``; ``RunLive``
    if somebody leads it after all; ``DamagedRun`` if it has no lease by which that could be told;
    ``StorageError``.
    """
    run_dir = layout.run_dir(run_id)
    # A runner whose run is over still holds the lease for a moment: until its wardens have ended.
    tries = policy.LEAVE_WAIT_MS // _LEAVING_PAUSE_MS
    lease = Lease.take(run_dir, tries=tries, pause_ms=_LEAVING_PAUSE_MS)
    if lease is None:
        if not os.path.lexists(run_dir):
            raise NotFound(f"no such run: {run_id}", field="runId", run_id=run_id)
        if os.path.lexists(f"{run_dir}/{LEASE}"):
            raise RunLive(f"somebody leads this run: {run_id}", run_id=run_id)
        raise DamagedRun(f"without a lease: {run_dir}", path=run_dir, damage="corrupt")
    try:
        grave = bury(layout, run_dir, run_id)
    finally:
        lease.release()
    markers.remove(layout, run_id)
    delete_tree(grave)


def bury(layout: Layout, path: str, run_id: str) -> str:
    """Renames a run directory to a tombstone in staging, and returns its path.

    Raises ``NotFound`` if it is gone already, ``StorageError``.
    """
    grave = f"{layout.staging}/{TOMBSTONE}{run_id}.{os.getpid()}.{next(_counter)}"
    try:
        os.rename(path, grave)
    except FileNotFoundError:
        raise NotFound(f"no such run: {run_id}", field="runId", run_id=run_id) from None
    except OSError as exc:
        raise atomic.storage_error("move away", path, exc) from exc
    return grave


def delete_tree(path: str) -> None:
    """Deletes a directory and all below it.  What is gone already is fine.

    Raises ``StorageError``; then what is left can be deleted later.
    """
    try:
        fd = atomic.open_dir(path)
        try:
            _empty(fd)
        finally:
            os.close(fd)
        os.rmdir(path)
    except FileNotFoundError:
        return
    except OSError as exc:
        raise atomic.storage_error("delete", path, exc) from exc


def _empty(dir_fd: int) -> None:
    with os.scandir(dir_fd) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_dir in found:
        with contextlib.suppress(FileNotFoundError):  # somebody deletes the same tree
            if not is_dir:
                os.unlink(name, dir_fd=dir_fd)
                continue
            inner = atomic.open_dir_at(name, dir_fd)
            try:
                _empty(inner)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=dir_fd)
