"""``run/get``, ``run/list``, ``run/events``, ``run/output`` and ``run/result``.

The status of a run is a small file: one, or a screenful, is read on the loop, which costs less than
asking a thread. Whatever may be longer is read in a thread.
"""

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.core import policy
from sidecar.server.calls import Answer, Call, Slow, encode
from sidecar.wire import convert, convert_events, params, results
from sidecar.wire.params import Encoding, Scope


def get_run(call: Call, wanted: params.RunGetParams) -> results.RunGetResult:
    """The run as it is now."""
    snapshot = read.get(call.desk.ctx, wanted.run_id)
    return results.RunGetResult(run=convert.run_view(snapshot.run, snapshot.dismissal))


def list_runs(call: Call, wanted: params.RunListParams) -> Answer | Slow:
    """A page of runs."""
    if wanted.scope is Scope.ACTIVE and wanted.limit <= policy.LIST_LIMIT:
        return _list_runs(call.desk.ctx, wanted)
    return call.desk.workers.read(_list_runs, call.desk.ctx, wanted)


async def events(call: Call, wanted: params.RunEventsParams) -> bytes:
    """A page of a run's history."""
    return await call.desk.workers.read(_events, call.desk.ctx, wanted)


async def output(call: Call, wanted: params.RunOutputParams) -> bytes:
    """A page of a log."""
    return await call.desk.workers.read(_output, call.desk.ctx, wanted)


async def result(call: Call, wanted: params.RunResultParams) -> bytes:
    """How a run ended, and what its agents answered."""
    return await call.desk.workers.read(_result, call.desk.ctx, wanted)


def _list_runs(ctx: Context, wanted: params.RunListParams) -> bytes:
    page = read.list_runs(
        ctx,
        scope=wanted.scope.value,
        states=frozenset(wanted.states) if wanted.states is not None else None,
        limit=wanted.limit,
        cursor=wanted.cursor,
        include_dismissed=wanted.include_dismissed,
    )
    problems = tuple(convert.problem_view(problem) for problem in page.problems)
    return encode(
        results.RunListResult(
            runs=tuple(convert.run_view(item.run, item.dismissal) for item in page.snapshots),
            next_cursor=page.next_cursor,
            problems=problems or None,
        )
    )


def _events(ctx: Context, wanted: params.RunEventsParams) -> bytes:
    page = read.events(ctx, wanted.run_id, wanted.after_seq, wanted.limit)
    return encode(
        results.RunEventsResult(
            events=tuple(convert_events.event_view(recorded) for recorded in page.events),
            last_seq=page.last_seq,
        )
    )


def _output(ctx: Context, wanted: params.RunOutputParams) -> bytes:
    page = read.output(
        ctx,
        wanted.run_id,
        wanted.step,
        wanted.stream.value,
        wanted.offset,
        wanted.limit,
        exact=wanted.encoding is Encoding.BASE64,
    )
    return encode(
        results.RunOutputResult(
            text=convert.shown_bytes(page.data, raw=wanted.raw, encoding=wanted.encoding),
            offset=page.offset,
            next_offset=page.next_offset,
            eof=page.eof,
            truncated=page.truncated,
            encoding=wanted.encoding if wanted.encoding is Encoding.BASE64 else None,
        )
    )


def _result(ctx: Context, wanted: params.RunResultParams) -> bytes:
    return encode(convert.result_view(read.result(ctx, wanted.run_id)))
