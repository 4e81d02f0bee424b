"""Hiding runs from lists, and showing them again.  Nothing is ended, nothing is deleted.

Hidden is the run as it was: one that changes afterwards is shown again (``core.dismissal``).

This module must never look at processes, and never touch what the runner writes.
"""

from sidecar.control import ownership, read
from sidecar.control.context import Context, Snapshot
from sidecar.core.dismissal import Dismissal
from sidecar.core.errors import RunLive
from sidecar.store import dismissals
from sidecar.store.doorbell import STATUS, Bells
from sidecar.store.lease import Holding, probe


def dismiss(ctx: Context, ref: str, *, any_session: bool = False) -> Snapshot:
    """Hides a run that is over.  A hidden one is answered as it is.

    A run that is not over is refused (``RunLive``), except where nobody can tell whether it lives:
    on a disk without locks there is no other way to get rid of a lost one.  If the run changed in
    the meantime the answer shows what it has become, and that it is not hidden.  Raises
    ``OtherSession``, ``StorageError``, and as ``read.get`` does.
    """
    snapshot = read.get(ctx, ref)
    run = snapshot.run
    ownership.check(ctx, run, any_session=any_session)
    if snapshot.dismissed_at is not None:
        return snapshot
    run_dir = ctx.layout.run_dir(run.run_id)
    if not run.is_over and probe(run_dir) is not Holding.UNKNOWN:
        raise RunLive(
            f"only a run that is over can be dismissed: it is {run.state}",
            field="runId",
            hint="stop it first (run/stop)",
            run_id=run.run_id,
        )
    return _write(ctx, snapshot, hidden=True)


def undismiss(ctx: Context, ref: str, *, any_session: bool = False) -> Snapshot:
    """Shows a run again.  One that is not hidden is answered as it is.  Raises as ``dismiss``."""
    snapshot = read.get(ctx, ref)
    ownership.check(ctx, snapshot.run, any_session=any_session)
    if snapshot.dismissed_at is None:
        return snapshot
    return _write(ctx, snapshot, hidden=False)


def _write(ctx: Context, snapshot: Snapshot, *, hidden: bool) -> Snapshot:
    run_id = snapshot.run.run_id
    wanted = Dismissal(dismissed=hidden, changes=0, at=ctx.now_ms(), at_seq=snapshot.run.seq)
    dismissals.write(ctx.layout.run_dir(run_id), wanted)
    # Read again: a status that was written meanwhile makes the run visible, whatever we wrote.
    after = read.snapshot_of(ctx, run_id)
    bells = Bells(ctx.layout)
    try:
        bells.ring(STATUS, run_id, after.revision)
    finally:
        bells.close()
    return after
