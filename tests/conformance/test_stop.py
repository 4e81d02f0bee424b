"""``run/stop``: accepted at once, over once it is proven, and never an error to ask again."""

from tests.support.expectations import status
from tests.support.serving import Servers, SidecarClient

STUBBORN = "trap '' TERM; echo ready; while :; do sleep 600 & wait; done"


def launch_stubborn(client: SidecarClient) -> str:
    run_id: str = client.launch(STUBBORN)["runId"]
    client.wait_text(run_id, "ready\n")
    return run_id


def test_a_stop_is_accepted_at_once_and_told_when_it_is_over(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    client.expect(status(run_id, "running"))
    run = client.call("run/stop", {"runId": run_id, "reason": "enough"})["run"]
    assert run["stopping"]["cause"] == "user"
    ended = client.expect(status(run_id, "stopped"))["run"]
    assert ended["reason"] == "stopped-by-user"
    assert ended["steps"][0]["signal"] == 15
    assert ended["proof"]["state"] == "observed"


def test_a_stop_says_who_asked_and_why(servers: Servers) -> None:
    client = servers.start()
    client.initialize(params={"clientInfo": {"name": "an editor", "version": "1"}})
    run_id = client.launch("exec sleep 600")["runId"]
    run = client.stop(run_id, reason="it went astray")
    assert run["stoppedBy"] == {
        "cause": "user",
        "client": "an editor",
        "reason": "it went astray",
    }


def test_with_wait_the_answer_is_the_end(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    run = client.call("run/stop", {"runId": run_id, "waitMs": 20_000}, deadline_s=25)["run"]
    assert run["state"] == "stopped"
    assert run["proof"]["state"] == "observed"


def test_a_wait_that_is_too_short_answers_all_the_same(client: SidecarClient) -> None:
    run_id = launch_stubborn(client)
    request = {"runId": run_id, "waitMs": 1, "graceMs": 600_000}
    run = client.call("run/stop", request)["run"]
    assert run["state"] == "running"
    assert run["stopping"]["cause"] == "user"
    assert client.stop(run_id, graceMs=0)["state"] == "stopped"


def test_stopping_twice_and_stopping_what_is_over_is_no_error(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    for reason in ("first", "second"):
        run = client.call("run/stop", {"runId": run_id, "reason": reason})["run"]
        assert run["runId"] == run_id
    ended = client.wait_over(run_id)[0]
    assert ended["stoppedBy"]["reason"] == "first"
    again = client.call("run/stop", {"runId": run_id})["run"]
    assert again == ended


def test_stopping_a_run_that_ended_by_itself_changes_nothing(client: SidecarClient) -> None:
    ended = client.run_to_end("exit 4")
    run = client.call("run/stop", {"runId": ended["runId"], "waitMs": 20_000})["run"]
    assert run == ended


def test_a_later_shorter_grace_shortens(client: SidecarClient) -> None:
    run_id = launch_stubborn(client)
    run = client.call("run/stop", {"runId": run_id, "graceMs": 600_000})["run"]
    assert run["state"] == "running"
    ended = client.stop(run_id, graceMs=0)
    assert (ended["state"], ended["steps"][0]["signal"]) == ("stopped", 9)
    assert ended["proof"]["killed"] >= 1


def test_a_stop_right_after_the_launch(client: SidecarClient) -> None:
    # Queued, starting or running: whatever it meets, the run ends as stopped or had ended.
    for _ in range(10):
        launching = client.post("run/launch", {"step": {"agent": "command", "shell": "sleep 600"}})
        run_id = client.result(launching)["run"]["runId"]
        stopping = client.post("run/stop", {"runId": run_id})
        assert client.wait_over(run_id)[0]["state"] == "stopped"
        client.result(stopping)


def test_stop_reaches_a_run_of_a_dead_server(servers: Servers) -> None:
    first = servers.connect()
    run_id = first.launch("exec sleep 600")["runId"]
    first.kill()
    assert servers.connect().stop(run_id)["state"] == "stopped"


def test_two_servers_stop_the_same_run(servers: Servers) -> None:
    one, two = servers.connect(), servers.connect()
    run_id = one.launch("exec sleep 600")["runId"]
    stops = [client.post("run/stop", {"runId": run_id, "waitMs": 20_000}) for client in (one, two)]
    runs = [
        client.result(stop, deadline_s=25)["run"]
        for client, stop in zip((one, two), stops, strict=True)
    ]
    assert [run["state"] for run in runs] == ["stopped", "stopped"]
    assert runs[0] == runs[1]
