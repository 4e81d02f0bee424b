"""``run/wait``: any, all, for a while; it never blocks another request."""

from pathlib import Path

from tests.support.each import each
from tests.support.serving import Gate, Servers, SidecarClient


def test_until_all_are_over(servers: Servers, tmp_path: Path) -> None:
    client = servers.connect()
    gates = [Gate(tmp_path / f"gate-{number}") for number in range(2)]
    run_ids = [client.launch(gate.wait)["runId"] for gate in gates]
    waiting = client.post("run/wait", {"runIds": run_ids, "until": "all"})
    gates[0].open()
    client.wait_over(run_ids[0])
    client.sync()
    assert waiting not in client.answers
    gates[1].open()
    waited = client.result(waiting)
    assert waited["timedOut"] is False
    assert {run["runId"]: run["state"] for run in waited["runs"]} == dict.fromkeys(
        run_ids, "complete"
    )


def test_until_any_is_over(servers: Servers, tmp_path: Path) -> None:
    client = servers.connect()
    gate = Gate(tmp_path / "gate")
    run_ids = [client.launch(gate.wait)["runId"], client.launch("exec sleep 600")["runId"]]
    waiting = client.post("run/wait", {"runIds": run_ids, "until": "any"})
    client.sync()
    assert waiting not in client.answers
    gate.open()
    waited = client.result(waiting)
    assert waited["timedOut"] is False
    states = {run["runId"]: run["state"] for run in waited["runs"]}
    assert states[run_ids[0]] == "complete"
    assert states.get(run_ids[1], "running") in {"queued", "running"}
    client.stop(run_ids[1])


def test_what_is_over_is_not_waited_for(client: SidecarClient) -> None:
    run_id = client.run_to_end("exit 3")["runId"]
    for until in ("any", "all"):
        waited = client.call("run/wait", {"runIds": [run_id], "until": until})
        assert [run["state"] for run in waited["runs"]] == ["failed"]
        assert waited["timedOut"] is False


@each("timeout_ms", [0, 1, 200])
def test_for_a_while(client: SidecarClient, timeout_ms: int) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    waited = client.call("run/wait", {"runIds": [run_id], "timeoutMs": timeout_ms})
    assert waited["timedOut"] is True
    assert [run["runId"] for run in waited["runs"]] == [run_id]
    assert waited["runs"][0]["state"] in ("queued", "running")
    client.stop(run_id)


def test_without_ids_for_what_is_active(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    waited = client.call("run/wait", {"timeoutMs": 0})
    assert waited["timedOut"] is True
    assert run_id in [run["runId"] for run in waited["runs"]]
    waiting = client.post("run/wait", {"until": "all"})
    client.stop(run_id)
    assert client.result(waiting)["timedOut"] is False


def test_without_ids_and_without_runs(client: SidecarClient) -> None:
    assert client.call("run/wait", {}) == {"runs": [], "timedOut": False}


def test_for_runs_of_another_session_and_another_server(servers: Servers, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    launcher, waiter = servers.connect(session="one"), servers.connect(session="two")
    run_id = launcher.launch(gate.wait)["runId"]
    waiting = waiter.post("run/wait", {"runIds": [run_id]})
    waiter.sync()
    gate.open()
    assert waiter.result(waiting)["runs"][0]["state"] == "complete"


def test_by_prefix(client: SidecarClient) -> None:
    run_id = client.run_to_end("true")["runId"]
    waited = client.call("run/wait", {"runIds": [run_id[:20]]})
    assert [run["runId"] for run in waited["runs"]] == [run_id]


def test_for_a_run_that_is_not_there(client: SidecarClient) -> None:
    error = client.refusal("run/wait", {"runIds": ["0198c0de-0000-7000-8000-000000000000"]})
    assert (error["code"], error["data"]["code"]) == (-32803, "not-found")


def test_many_waits_block_nobody(servers: Servers, tmp_path: Path) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(gate.wait)["runId"]
    waits = [client.post("run/wait", {"runIds": [run_id]}) for _ in range(100)]
    assert client.run_to_end("echo meanwhile")["state"] == "complete"
    assert not any(waiting in client.answers for waiting in waits)
    gate.open()
    for waiting in waits:
        assert client.result(waiting)["runs"][0]["state"] == "complete"


def test_a_wait_outlives_the_death_of_the_server_that_launched(
    servers: Servers, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    launcher, waiter = servers.connect(), servers.connect()
    run_id = launcher.launch(gate.wait)["runId"]
    waiting = waiter.post("run/wait", {"runIds": [run_id]})
    launcher.kill()
    gate.open()
    assert waiter.result(waiting)["runs"][0]["state"] == "complete"
