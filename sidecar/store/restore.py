"""Making the directory of a living run anew, after somebody deleted it.

Cleaners delete what lies about for long, and people delete what they do not know; the run goes on
all the same, and must stay visible and stoppable.  What was deleted is gone: the request, the
earlier events, the output until then.

This module must never be used while the directory is there, and only by the run's leader.
"""

from collections.abc import Iterable

from sidecar.core.states import Run
from sidecar.store import staging
from sidecar.store.layout import STATUS, Layout, open_state_dir
from sidecar.store.rundir import LeasedRunDir


def restore(layout: Layout, run: Run, attempts: Iterable[tuple[int, int]]) -> LeasedRunDir:
    """A new directory for ``run`` with a lease of its own, and one for each (step, attempt).

    Raises ``InvalidParams`` if there is a directory of this id after all, ``StorageError``;
    nothing is left then.
    """
    open_state_dir(layout.state_dir)
    staged, lease = staging.stage(layout, run.run_id)
    try:
        staged.write_status(run, durable=True)
        for step, attempt in attempts:
            staged.make_attempt(step, attempt)
        staging.commit(layout, run.run_id, names=(STATUS,))
    except BaseException:
        staging.withdraw(layout, run.run_id)
        lease.release()
        raise
    finally:
        staged.close()
    return LeasedRunDir(layout.run_dir(run.run_id), lease)
