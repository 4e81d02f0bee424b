"""``run/launch``, ``run/wait``, ``run/subscribe`` and ``run/unsubscribe``."""

from collections.abc import Sequence
from dataclasses import replace

from sidecar.control import launch, read, waiting
from sidecar.control.context import Context, Snapshot
from sidecar.control.launch import Launched
from sidecar.core.asked import Asked
from sidecar.server.calls import Call
from sidecar.server.desk import Desk
from sidecar.server.feeds import BOTH
from sidecar.wire import convert, params, results


async def launch_run(call: Call, wanted: params.RunLaunchParams) -> results.RunLaunchResult:
    """Launch a run.

    Cancelled before it began, nothing is launched; later, the answer is the run. Nothing is told
    of the run before that answer.
    """
    desk = call.desk
    number = desk.publisher.launch_begins()
    told: list[Snapshot] = []
    call.after.append(lambda: desk.launch_ends(number, told[0] if told else None))
    launched = await desk.workers.commit(_launch, desk, convert.asked(wanted))
    desk.expect(launched)
    told.append(launched.snapshot)
    run = launched.snapshot
    return results.RunLaunchResult(run=convert.run_view(run.run, run.dismissal))


def _launch(desk: Desk, asked: Asked) -> Launched:
    if asked.cwd is None:
        asked = replace(asked, cwd=desk.greeting.directory())
    return launch.launch(desk.ctx, asked)


async def wait_for_runs(call: Call, wanted: params.RunWaitParams) -> results.RunWaitResult:
    """Answer once one or all of the runs are over, or the time is up."""
    desk = call.desk
    run_ids = await desk.workers.read(_meant, desk.ctx, wanted.run_ids)
    until = waiting.Until(wanted.until.value)
    waited = await desk.waits.wait(run_ids, until, wanted.timeout_ms)
    return results.RunWaitResult(
        runs=tuple(convert.run_view(item.run, item.dismissal) for item in waited.snapshots),
        timed_out=waited.timed_out,
    )


def _meant(ctx: Context, refs: Sequence[str] | None) -> list[str]:
    """No list means the session's live runs; an empty one means none."""
    if refs is not None and not refs:
        return []
    return [snapshot.run.run_id for snapshot in waiting.meant(ctx, refs or ())]


async def subscribe(call: Call, wanted: params.RunSubscribeParams) -> results.RunSubscribeResult:
    """Follow a run's output."""
    desk = call.desk
    run_id = (await desk.workers.read(read.get, desk.ctx, wanted.run_id)).run.run_id
    if not wanted.output:
        desk.unsubscribe(run_id)
        return results.RunSubscribeResult()
    streams = (wanted.stream,) if wanted.stream is not None else BOTH
    # The answer comes first, what was asked for after it.
    call.after.append(lambda: desk.subscribe(run_id, streams, wanted.from_offset))
    return results.RunSubscribeResult()


async def unsubscribe(
    call: Call, wanted: params.RunUnsubscribeParams
) -> results.RunUnsubscribeResult:
    """Follow it no longer."""
    desk = call.desk
    run_id = (await desk.workers.read(read.get, desk.ctx, wanted.run_id)).run.run_id
    desk.unsubscribe(run_id)
    return results.RunUnsubscribeResult()
