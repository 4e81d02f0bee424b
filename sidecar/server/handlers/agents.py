"""``agent/list`` and ``server/status``: what there is, and how this server is."""

from sidecar.control import agents, read
from sidecar.control.context import Context, Snapshot
from sidecar.core import policy
from sidecar.server.calls import Answer, Call, Slow
from sidecar.server.desk import Desk
from sidecar.wire import convert, params, results


async def list_agents(call: Call, wanted: params.AgentListParams) -> results.AgentListResult:
    """The agents, looked for now."""
    del wanted
    found = await call.desk.workers.read(agents.list_agents, call.desk.ctx)
    return results.AgentListResult(agents=tuple(convert.agent_view(agent) for agent in found))


def server_status(call: Call, wanted: params.ServerStatusParams) -> Answer | Slow:
    """How the server is."""
    del wanted
    page = read.list_runs(call.desk.ctx, include_dismissed=True)
    if page.next_cursor is None:
        return call.desk.status(page.snapshots)
    return _status_of_many(call.desk)


async def _status_of_many(desk: Desk) -> results.ServerStatusResult:
    """The same, if the active runs are too many to be counted on the loop."""
    return desk.status(await desk.workers.read(_all_active, desk.ctx))


def _all_active(ctx: Context) -> list[Snapshot]:
    found: list[Snapshot] = []
    cursor = None
    while True:
        page = read.list_runs(
            ctx, limit=policy.LIST_LIMIT_MAX, cursor=cursor, include_dismissed=True
        )
        found += page.snapshots
        cursor = page.next_cursor
        if cursor is None:
            return found
