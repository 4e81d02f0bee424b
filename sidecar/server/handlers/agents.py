"""``agent/list`` and ``server/status``: what there is, and how this server is."""

from sidecar.control import agents
from sidecar.server.calls import Call
from sidecar.wire import convert, params, results


async def list_agents(call: Call, wanted: params.AgentListParams) -> results.AgentListResult:
    """The agents, looked for now."""
    del wanted
    found = await call.desk.workers.read(agents.list_agents, call.desk.ctx)
    return results.AgentListResult(agents=tuple(convert.agent_view(agent) for agent in found))


async def server_status(
    call: Call, wanted: params.ServerStatusParams
) -> results.ServerStatusResult:
    """How the server is."""
    del wanted
    return await call.desk.status()
