"""Deleting the files of a run, for good.

Only a run that is over and proven gone can go: as long as something of it might live, its files are
the only trace by which that something can be found.

This module must never delete on its own account, nor anything but run directories.
"""

from sidecar.control import ownership, read
from sidecar.control.context import Context
from sidecar.core.errors import RunLive
from sidecar.core.states import run_proof
from sidecar.store import retire
from sidecar.store.doorbell import STATUS, Bells


def remove(ctx: Context, ref: str, *, any_session: bool = False) -> str:
    """Deletes a run, and returns its id.

    Raises ``RunLive`` if it is not over, or not proven gone, or led by somebody after all;
    ``OtherSession``, ``StorageError``, and as ``read.get`` does.
    """
    snapshot = read.get(ctx, ref)
    run = snapshot.run
    ownership.check(ctx, run, any_session=any_session)
    if not run.is_over:
        raise RunLive(
            f"only a run that is over can be removed: it is {run.state}",
            field="runId",
            hint="stop it first (run/stop)",
            run_id=run.run_id,
        )
    proof = run_proof(run)
    if proof.state not in read.GONE:
        raise RunLive(
            f"something of the run may still live: its proof is {proof.state}",
            field="runId",
            hint="look for its processes, and dismiss it (run/dismiss) to hide it",
            run_id=run.run_id,
        )
    retire.remove(ctx.layout, run.run_id)
    bells = Bells(ctx.layout)
    try:
        bells.ring(STATUS, run.run_id, snapshot.revision + 1)
    finally:
        bells.close()
    return run.run_id
