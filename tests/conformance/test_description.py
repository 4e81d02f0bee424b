"""``agent/list`` and ``server/status``: what there is, and how the server itself is."""

import os
from pathlib import Path

from tests.support.serving import Servers, SidecarClient


def test_the_agents(client: SidecarClient) -> None:
    agents = client.call("agent/list", {})["agents"]
    names = [agent["name"] for agent in agents]
    assert len(names) == len(set(names))
    command = agents[names.index("command")]
    assert command["available"] is True
    for agent in agents:
        flags = [agent[name] for name in ("available", "steer", "interrupt", "resume")]
        assert all(isinstance(flag, bool) for flag in flags)
        assert agent["available"] or agent["reason"]


def test_the_server(client: SidecarClient, state_dir: Path) -> None:
    told = client.call("server/status", {})
    assert told["pid"] == client.proc.pid
    assert told["stateDir"] == str(state_dir)
    assert told["sessionId"] == "the-session"
    assert told["version"]
    assert told["uptimeMs"] >= 0
    assert told["memory"]["rssBytes"] > 0


def test_counts_follow_the_runs(servers: Servers) -> None:
    one, two = servers.connect(session="one"), servers.connect(session="two")
    run_ids = [one.launch("exec sleep 600")["runId"] for _ in range(2)]
    one.call("run/subscribe", {"runId": run_ids[0]})
    counts = one.call("server/status", {})["counts"]
    assert (counts["active"], counts["session"]) == (2, 2)
    assert counts["subscriptions"] >= 1
    counts = two.call("server/status", {})["counts"]
    assert (counts["active"], counts["session"], counts["subscriptions"]) == (2, 0, 0)
    for run_id in run_ids:
        one.stop(run_id)
    counts = one.call("server/status", {})["counts"]
    assert (counts["active"], counts["session"]) == (0, 0)


def test_waiting_requests_are_counted(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    waits = [client.post("run/wait", {"runIds": [run_id]}) for _ in range(3)]
    assert client.call("server/status", {})["queues"]["requests"] >= 3
    client.stop(run_id)
    for waiting in waits:
        client.result(waiting)


def test_nothing_is_kept_open_for_what_is_over(client: SidecarClient) -> None:
    # Descriptors of the server: the same after fifty runs as after the first few.
    def descriptors() -> int:
        return len(os.listdir(f"/proc/{client.proc.pid}/fd"))  # noqa: PTH208

    client.wait_over(*(client.launch("true")["runId"] for _ in range(3)))
    client.sync()
    before = descriptors()
    client.wait_over(*(client.launch("true")["runId"] for _ in range(50)))
    client.sync()
    assert descriptors() <= before + 2
