"""``run/launch``, ``run/wait``, ``run/subscribe`` and ``run/unsubscribe``."""

from dataclasses import replace

from sidecar.control import launch, read
from sidecar.control.context import Snapshot
from sidecar.control.launch import Launched
from sidecar.core.asked import Asked
from sidecar.server.calls import Call
from sidecar.server.desk import Desk
from sidecar.server.feeds import BOTH
from sidecar.wire import convert, params, results
from sidecar.wire.params import Until


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
    waits = call.desk.waits
    run_ids = await call.desk.workers.read(_named, call, wanted)
    until = waits.until_any if wanted.until is Until.ANY else waits.until_all
    waited = await until(run_ids, timeout_ms=wanted.timeout_ms)
    return results.RunWaitResult(
        runs=tuple(convert.run_view(item.run, item.dismissal) for item in waited.snapshots),
        timed_out=waited.timed_out,
    )


def _named(call: Call, wanted: params.RunWaitParams) -> list[str]:
    """The runs that are meant: those named, each once, or the session's that are active now."""
    ctx = call.desk.ctx
    if wanted.run_ids is not None:
        named = [read.get(ctx, ref).run.run_id for ref in wanted.run_ids]
        return list(dict.fromkeys(named))
    return [item.run.run_id for item in call.desk.active_of_session()]


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
