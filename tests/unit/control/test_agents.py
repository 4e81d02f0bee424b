"""Which agents there are: those with a driver, and nothing that is only planned."""

from pathlib import Path

from sidecar.control.agents import known_agents, list_agents
from tests.support.callers import context


def test_a_command_can_always_be_run_and_only_be_stopped(state_dir: Path) -> None:
    (agent,) = list_agents(context(state_dir))
    assert (agent.name, agent.available, agent.why_not) == ("command", True, None)
    assert (agent.steer, agent.interrupt, agent.resume, agent.permissions) == (False,) * 4
    assert known_agents() == (agent,)
