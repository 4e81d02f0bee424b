"""``run/stop``, ``run/dismiss``, ``run/undismiss`` and ``run/remove``: what changes a run.

Each is carried through once it has begun, whether or not the client still wants to know.
"""

from sidecar.control import dismiss, remove, stop
from sidecar.control.waiting import Until
from sidecar.core.errors import InvalidParams
from sidecar.server.calls import Call
from sidecar.wire import convert, params, results


async def stop_run(call: Call, wanted: params.RunStopParams) -> results.RunStopResult:
    """Ask a run to end; wait for that only as long as the client said."""
    if wanted.step not in {None, 0}:
        raise InvalidParams(f"no such step: {wanted.step}", field="step", hint="0, the only one")
    desk = call.desk
    snapshot = await desk.workers.commit(
        stop.stop,
        desk.ctx,
        wanted.run_id,
        reason=wanted.reason,
        grace_ms=wanted.grace_ms,
        any_session=wanted.any_session,
    )
    if wanted.wait_ms and not snapshot.run.is_over:
        waited = await desk.waits.wait([snapshot.run.run_id], Until.ALL, wanted.wait_ms)
        snapshot = max((snapshot, *waited.snapshots), key=lambda seen: seen.revision)
    return results.RunStopResult(run=convert.run_view(snapshot.run, snapshot.dismissal))


async def dismiss_run(call: Call, wanted: params.RunDismissParams) -> results.RunDismissResult:
    """Hide a run that is over."""
    desk = call.desk
    snapshot = await desk.workers.commit(
        dismiss.dismiss, desk.ctx, wanted.run_id, any_session=wanted.any_session
    )
    desk.seen(snapshot)
    return results.RunDismissResult(run=convert.run_view(snapshot.run, snapshot.dismissal))


async def undismiss_run(
    call: Call, wanted: params.RunUndismissParams
) -> results.RunUndismissResult:
    """Show it again."""
    desk = call.desk
    snapshot = await desk.workers.commit(
        dismiss.undismiss, desk.ctx, wanted.run_id, any_session=wanted.any_session
    )
    desk.seen(snapshot)
    return results.RunUndismissResult(run=convert.run_view(snapshot.run, snapshot.dismissal))


async def remove_run(call: Call, wanted: params.RunRemoveParams) -> results.RunRemoveResult:
    """Delete a run's files."""
    desk = call.desk
    run_id = await desk.workers.commit(
        remove.remove, desk.ctx, wanted.run_id, any_session=wanted.any_session
    )
    desk.gone(run_id)
    return results.RunRemoveResult()
