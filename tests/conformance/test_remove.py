"""``run/remove``: the files of a run that is over and proven gone, and of no other."""

from pathlib import Path

from tests.support.expectations import status
from tests.support.serving import Servers, SidecarClient


def test_the_files_are_gone_and_the_run_with_them(client: SidecarClient, state_dir: Path) -> None:
    kept, gone = (client.run_to_end("echo it")["runId"] for _ in range(2))
    assert client.call("run/remove", {"runId": gone}) == {}
    assert [path.name for path in (state_dir / "runs").iterdir()] == [kept]
    assert [run["runId"] for run in client.list(scope="all")] == [kept]
    for method in ("run/get", "run/output", "run/result", "run/remove"):
        assert client.refusal(method, {"runId": gone})["data"]["code"] == "not-found"


def test_a_live_run_is_refused(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    client.expect(status(run_id, "running"))
    error = client.refusal("run/remove", {"runId": run_id})
    assert (error["code"], error["data"]["code"]) == (-32803, "run-live")
    assert client.get(run_id)["state"] == "running"
    client.stop(run_id)
    client.call("run/remove", {"runId": run_id})


def test_what_is_hidden_can_be_removed(client: SidecarClient) -> None:
    run_id = client.run_to_end("true")["runId"]
    client.call("run/dismiss", {"runId": run_id})
    client.call("run/remove", {"runId": run_id})
    assert client.list(scope="all", includeDismissed=True) == []


def test_two_servers_remove_the_same_run(servers: Servers) -> None:
    one, two = servers.connect(), servers.connect()
    run_id = one.run_to_end("true")["runId"]
    removals = [client.post("run/remove", {"runId": run_id}) for client in (one, two)]
    answers = [client.answer(removal) for client, removal in zip((one, two), removals, strict=True)]
    done = [answer for answer in answers if "result" in answer]
    refused = [answer["error"]["data"]["code"] for answer in answers if "error" in answer]
    assert done
    assert set(refused) <= {"not-found"}


def test_a_token_of_a_removed_run_launches_anew(client: SidecarClient) -> None:
    first = client.launch("true", clientToken="again")["runId"]
    client.wait_over(first)
    client.call("run/remove", {"runId": first})
    second = client.launch("true", clientToken="again")["runId"]
    assert second != first
    client.wait_over(second)


def test_what_a_run_was_subscribed_to_ends_with_it(client: SidecarClient) -> None:
    run_id = client.run_to_end("true")["runId"]
    client.call("run/subscribe", {"runId": run_id})
    client.call("run/remove", {"runId": run_id})
    client.run_to_end("true")
    client.sync()
    assert client.unread("run/output") == []
