"""How a run directory comes to be: built aside with its lease held, then shown by one rename.

A launcher that dies before the rename leaves a directory in staging whose lease is free; one that
gives up after it takes the run back.  Either way nothing is left that could be taken for a run.

The staging directory itself is locked, shared, for the two moments in which a launcher's state is
in between (a directory whose lease is not yet held; a marker whose run is not yet there), and
exclusively by whoever sweeps: so a sweep never takes one of these moments for a leftover.

This module must never write into a run that others can see, and must never wait without a bound.
"""

import contextlib
import errno
import os
from collections.abc import Iterator

from sidecar.core.errors import InvalidParams, NotFound, SidecarError, StorageError
from sidecar.core.ids import is_run_id
from sidecar.store import atomic, locks, markers, retire
from sidecar.store.layout import DONE, EVENTS, LEASE, REQUEST, STATUS, Layout
from sidecar.store.lease import Lease
from sidecar.store.rundir import LeasedRunDir

SWEEP_WAIT_MS = 5000
"""A sweep only renames while it keeps launchers waiting: milliseconds, however much there is to
delete."""

_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}


def stage(layout: Layout, run_id: str) -> tuple[LeasedRunDir, Lease]:
    """A new run directory in staging, and its lease.

    Raises ``InvalidParams`` if there is a run of this id, ``StorageError``; nothing is left then.
    """
    path = layout.staging_dir(run_id)
    with _between(layout):
        try:
            os.mkdir(path, atomic.DIR_MODE)
        except FileExistsError:
            raise _taken(run_id) from None
        except OSError as exc:
            raise atomic.storage_error("make a run directory", path, exc) from exc
        lease: Lease | None = None
        try:
            os.chmod(path, atomic.DIR_MODE)
            lease = Lease.create(path)
            # Looked at last: whoever committed this id before now is seen, or seen by ``commit``.
            if os.path.lexists(layout.run_dir(run_id)):
                raise _taken(run_id)  # noqa: TRY301 - what was made has to go again
            atomic.mkdir_private(path, *DONE.split("/"))
        except BaseException as exc:
            with contextlib.suppress(SidecarError):  # the first refusal is the one to tell
                retire.delete_tree(path)
            if lease is not None:
                lease.release()
            if isinstance(exc, OSError):
                raise atomic.storage_error("make a run directory", path, exc) from exc
            raise
    return LeasedRunDir(path, lease, staged=True), lease


def commit(
    layout: Layout, run_id: str, *, names: tuple[str, ...] = (REQUEST, EVENTS, STATUS)
) -> None:
    """Makes a staged run with the documents ``names`` visible, durably: first marker, then run.

    Raises ``InvalidParams`` if there is a run of this id after all, ``StorageError``; the caller
    then has to ``withdraw``.
    """
    atomic.sync_tree(layout.staging_dir(run_id), names)
    with _between(layout):
        markers.add(layout, run_id)
        atomic.sync_dir(layout.active)
        try:
            os.rename(layout.staging_dir(run_id), layout.run_dir(run_id))
        except OSError as exc:
            if exc.errno in _TAKEN:
                raise _taken(run_id) from exc
            raise atomic.storage_error("show the run", layout.run_dir(run_id), exc) from exc
    atomic.sync_dir(layout.runs)


def withdraw(layout: Layout, run_id: str) -> None:
    """Takes back a run that its launcher staged or committed, but could not start.

    Only for the launcher, who holds the lease.  Raises ``StorageError``; what it leaves is swept.
    """
    for path in (layout.staging_dir(run_id), layout.run_dir(run_id)):
        try:
            grave = retire.bury(layout, path, run_id)
        except NotFound:
            continue
        # Of a run that was not shown because another one has its id, the marker is that one's.
        if not os.path.lexists(layout.run_dir(run_id)):
            markers.remove(layout, run_id)
        retire.delete_tree(grave)
        return


def sweep(layout: Layout) -> list[str]:
    """Removes what dead launchers left: staged runs whose lease is free, tombstones, and markers
    without a run.  Returns the ids of the staged runs.

    Does nothing if a launch, or another sweep, is at a moment where it could be mistaken: the next
    sweep comes.  Raises ``StorageError`` if staging cannot be read; what cannot be removed stays.
    """
    swept = []
    graves = []
    try:
        dir_fd = atomic.open_dir(layout.staging)
        try:
            if not locks.try_lock(dir_fd):
                return []
            for name in sorted(os.listdir(dir_fd)):
                if name.startswith(retire.TOMBSTONE):
                    graves.append(f"{layout.staging}/{name}")
                elif is_run_id(name) and (grave := _bury_if_dead(layout, name)):
                    swept.append(name)
                    graves.append(grave)
            _remove_orphaned_markers(layout)
        finally:
            os.close(dir_fd)
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise atomic.storage_error("sweep", layout.staging, exc) from exc
    for grave in graves:
        with contextlib.suppress(StorageError):  # stays a tombstone; the next sweep tries again
            retire.delete_tree(grave)
    return swept


def _bury_if_dead(layout: Layout, run_id: str) -> str | None:
    path = layout.staging_dir(run_id)
    try:
        lease = Lease.take(path, tries=1)
        if lease is None and os.path.lexists(f"{path}/{LEASE}"):
            return None
        try:
            return retire.bury(layout, path, run_id)
        finally:
            if lease is not None:
                lease.release()
    except SidecarError:
        return None  # not to be judged now: no locks, no descriptors, or gone


def _remove_orphaned_markers(layout: Layout) -> None:
    for run_id in markers.active_ids(layout):
        # In this order: a run is renamed from the first to the second, never back.
        staged = os.path.lexists(layout.staging_dir(run_id))
        if not staged and not os.path.lexists(layout.run_dir(run_id)):
            markers.remove(layout, run_id)


def _taken(run_id: str) -> InvalidParams:
    return InvalidParams(
        f"there is a run of this id: {run_id}", field="runId", hint="leave it out to get a new one"
    )


@contextlib.contextmanager
def _between(layout: Layout) -> Iterator[None]:
    """Holds sweepers off for a moment."""
    try:
        dir_fd = atomic.open_dir(layout.staging)
    except OSError as exc:
        raise atomic.storage_error("use", layout.staging, exc) from exc
    try:
        try:
            locked = locks.lock_within(dir_fd, SWEEP_WAIT_MS, shared=True)
        except OSError as exc:
            raise atomic.storage_error("lock", layout.staging, exc) from exc
        if not locked:
            raise StorageError(
                f"somebody keeps this directory locked: {layout.staging}", errno_name="EAGAIN"
            )
        yield
    finally:
        os.close(dir_fd)
