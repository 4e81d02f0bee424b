"""Runs within runs: which run a launch belongs to, and how deep that goes.

A process that an agent started finds its run's id in its environment; what it launches is nested in
that run, and ends with it.  The environment is believed only as far as the state directory confirms
it: one that names a run of another state directory says nothing about this one.

This module must never write, and never end anything.
"""

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.core import ids, policy
from sidecar.core.asked import Asked
from sidecar.core.errors import LimitReached, NotFound, RunOver
from sidecar.core.states import Run
from sidecar.drivers.base import RUN_ID_VARIABLE


def parent_of(ctx: Context, asked: Asked) -> str | None:
    """The run that a launch is nested in: the one asked for, else the one around the caller.

    Raises ``InvalidParams`` or ``NotFound`` if the one asked for is none, ``RunOver`` if either is
    over already (nothing can end with it any more), ``LimitReached`` if the nesting is too deep.
    """
    if asked.parent_run_id is not None:
        run_id = ids.parse_run_id(asked.parent_run_id, field="parentRunId")
        try:
            parent = read.snapshot_of(ctx, run_id).run
        except NotFound:
            raise NotFound(
                f"no such parent run: {run_id}", field="parentRunId", run_id=run_id
            ) from None
    else:
        inherited = ctx.parent_run_id
        if inherited is None or not ids.is_run_id(inherited):
            return None
        try:
            parent = read.snapshot_of(ctx, inherited).run
        except NotFound:
            return None  # of another state directory, or removed
    if parent.is_over:
        raise RunOver(
            f"the parent run is over: {parent.run_id}",
            field="parentRunId",
            hint=f"unset {RUN_ID_VARIABLE} to launch a run of its own",
            run_id=parent.run_id,
        )
    _check_depth(ctx, parent)
    return parent.run_id


def _check_depth(ctx: Context, parent: Run) -> None:
    depth = 1
    above: Run | None = parent
    while above is not None and above.parent_run_id is not None:
        depth += 1
        if depth > policy.NESTING_MAX:
            raise LimitReached(
                f"runs are nested more than {policy.NESTING_MAX} deep",
                field="parentRunId",
                hint="an agent that launches itself over and over?",
                run_id=parent.run_id,
            )
        try:
            above = read.snapshot_of(ctx, above.parent_run_id).run
        except NotFound:
            above = None  # removed, and with it everything that could have been above
