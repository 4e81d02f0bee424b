"""``run/status``: what a client is told without asking, in order, and nothing twice.

Every client's monitor holds the general promises (revisions grow, an end is final and told once);
the tests here say who is told, of what, and when a new client is told what it has missed.
"""

from pathlib import Path

from tests.support.expectations import TERMINAL_STATES, over, status, told
from tests.support.rpc import Client
from tests.support.serving import Gate, Servers, SidecarClient


def statuses_of(client: Client, run_id: str) -> list[str]:
    """The states that were told of one run so far, read or not."""
    runs = [note.params["run"] for note in client.notes if note.method == "run/status"]
    return [run["state"] for run in runs if run["runId"] == run_id]


def test_a_run_is_told_from_its_start_to_its_end(servers: Servers, tmp_path: Path) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(gate.wait, label="told")["runId"]
    running = client.expect(status(run_id, "running"))["run"]
    assert running["label"] == "told"
    gate.open()
    ended = client.expect(status(run_id, "complete"))["run"]
    assert ended["endedAt"] >= ended["startedAt"] >= ended["createdAt"]
    assert ended["updatedAt"] >= running["updatedAt"]
    assert ended["steps"][0]["exitCode"] == 0
    assert ended["proof"]["state"] == "observed"
    client.sync()
    told_states = statuses_of(client, run_id)
    order = ["queued", "running", "complete"]
    assert told_states == sorted(told_states, key=order.index)
    assert told_states.count("complete") == 1


def test_the_end_that_is_told_is_the_end_that_is_read(client: SidecarClient) -> None:
    for code in range(5):
        run_id = client.launch(f"exit {code}")["runId"]
        ended = client.expect(over(run_id))["run"]
        assert client.get(run_id) == ended
        assert client.call("run/result", {"runId": run_id})["state"] == ended["state"]


def test_an_end_is_told_once_however_long_the_client_stays(client: SidecarClient) -> None:
    # The second run lasts through the slow scan that stands behind the doorbells.
    first = client.launch("true")["runId"]
    client.expect(status(first, "complete"))
    client.run_to_end("exec sleep 5")
    client.sync()
    assert client.monitor.ends[first] == 1


def test_both_clients_of_a_session_are_told(servers: Servers) -> None:
    launcher, watcher = servers.connect(), servers.connect()
    run_id = launcher.launch("true")["runId"]
    ends = [client.expect(over(run_id))["run"] for client in (launcher, watcher)]
    assert ends[0] == ends[1]


def test_a_client_of_another_session_is_not_told(servers: Servers) -> None:
    # In the same directory: what routes is the session, not the place.
    one, two = servers.connect(session="one"), servers.connect(session="two")
    mine, theirs = one.launch("true")["runId"], two.launch("true")["runId"]
    one.expect(over(mine))
    two.expect(over(theirs))
    for client in (one, two):
        client.sync()
    assert statuses_of(one, theirs) == []
    assert statuses_of(two, mine) == []


def test_a_new_client_is_told_of_what_is_active_once(servers: Servers, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    first = servers.connect()
    over_already = first.run_to_end("true")["runId"]
    run_id = first.launch(gate.wait)["runId"]
    other = servers.connect(session="other")
    foreign = other.launch("exec sleep 600")["runId"]
    first.expect(status(run_id, "running"))
    first.kill()
    second = servers.connect()
    second.expect(status(run_id, "running"))
    second.sync()
    assert statuses_of(second, over_already) == []
    assert statuses_of(second, foreign) == []
    gate.open()
    second.expect(status(run_id, "complete"))
    other.stop(foreign)


def test_what_is_active_is_told_before_anything_else(servers: Servers) -> None:
    first = servers.connect()
    run_ids = {first.launch("exec sleep 600")["runId"] for _ in range(3)}
    second = servers.connect()
    for run_id in run_ids:
        second.expect(told(run_id))
    late = second.launch("true")["runId"]
    second.expect(over(late))
    told_first = [note.params["run"]["runId"] for note in second.notes[:3]]
    assert set(told_first) == run_ids
    for run_id in run_ids:
        second.stop(run_id)


def test_a_client_may_ask_not_to_be_told_of_the_past(servers: Servers) -> None:
    first = servers.connect()
    run_id = first.launch("exec sleep 600")["runId"]
    first.expect(status(run_id, "running"))
    second = servers.connect(recover=False)
    second.sync()
    second.run_to_end("true")
    assert statuses_of(second, run_id) == []
    first.stop(run_id)
    second.expect(status(run_id, "stopped"))


def test_an_end_is_not_held_back_by_a_long_interval(servers: Servers) -> None:
    client = servers.connect(statusIntervalMs=600_000)
    for _ in range(3):
        run_id = client.launch("true")["runId"]
        client.expect(status(run_id, "complete"))


def test_a_chatty_run_is_not_told_line_by_line(servers: Servers) -> None:
    # Its changes are counted, not timed: one status for each would be twenty thousand.
    client = servers.connect()
    run_id = client.launch("seq 20000")["runId"]
    client.expect(status(run_id, "complete"))
    assert len(statuses_of(client, run_id)) < 100


def test_ends_of_many_runs_are_each_told_once(servers: Servers) -> None:
    client, watcher = servers.connect(), servers.connect()
    run_ids = [client.launch("true")["runId"] for _ in range(30)]
    for seen_by in (client, watcher):
        for run_id in run_ids:
            seen_by.expect(over(run_id))
        seen_by.sync()
        assert {seen_by.monitor.ends[run_id] for run_id in run_ids} == {1}


def test_nobody_sees_a_state_go_back(servers: Servers) -> None:
    # Several read all the time while runs start and end; whatever is read is in order, too.
    order = {"queued": 0, "running": 1} | dict.fromkeys(TERMINAL_STATES, 2)
    clients = [servers.connect() for _ in range(3)]
    seen: dict[tuple[int, str], dict[str, object]] = {}
    run_ids = [clients[0].launch("true")["runId"] for _ in range(20)]
    while True:
        for reader, client in enumerate(clients):
            for run in client.list(scope="all"):
                before = seen.get((reader, run["runId"]), run)
                assert order[str(run["state"])] >= order[str(before["state"])]
                assert run["revision"] >= before["revision"]
                seen[reader, run["runId"]] = run
        if all(seen[0, run_id]["state"] == "complete" for run_id in run_ids):
            return
