"""``sidecar agents``: which agents can be launched here; it starts none of them."""

from sidecar.cli import exits, table
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Span, Tone, said
from sidecar.control.agents import AgentInfo, list_agents

COLUMNS = (
    table.Column(title="AGENT"),
    table.Column(title="AVAILABLE"),
    table.Column(title="VERSION", rank=2),
    table.Column(title="CAN", rank=3, least=10),
    table.Column(title="WHY NOT", rank=1, least=10),
)


def run(invocation: Invocation) -> int:
    """Prints a table, or the document."""
    agents = list_agents(invocation.context)
    if invocation.wants_json:
        from sidecar.cli import document

        invocation.print_document(document.of_agents(agents))
        return exits.DONE
    out = invocation.terminal.out
    out.show(table.lines(COLUMNS, [_row(agent) for agent in agents], out.width))
    return exits.DONE


def _row(agent: AgentInfo) -> tuple[Span, ...]:
    abilities = {
        "steer": agent.steer,
        "interrupt": agent.interrupt,
        "resume": agent.resume,
        "permissions": agent.permissions,
    }
    return (
        said(agent.name),
        Span("yes", Tone.GOOD) if agent.available else Span("no", Tone.BAD),
        said(agent.version or ""),
        Span(",".join(name for name, has in abilities.items() if has), Tone.DIM),
        said(agent.why_not or ""),
    )
