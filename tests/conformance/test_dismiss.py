"""``run/dismiss`` and ``run/undismiss``: they hide and show, and never end anything."""

import pytest

from tests.support.expectations import Expectation, Verdict, status
from tests.support.serving import Servers, SidecarClient


def hidden(run_id: str, *, is_hidden: bool) -> Expectation:
    """``run_id`` is told to be hidden, or to be shown."""

    def judge(params: dict[str, object]) -> Verdict:
        run = params["run"]
        assert isinstance(run, dict)
        same = run["runId"] == run_id and ("dismissedAt" in run) == is_hidden
        return Verdict.MET if same else Verdict.UNMET

    return Expectation(what=f"{run_id} hidden: {is_hidden}", method="run/status", judge=judge)


def shown(client: SidecarClient, **params: object) -> list[str]:
    return [run["runId"] for run in client.list(scope="all", **params)]


def test_a_dismissed_run_is_left_out_of_lists_and_nowhere_else(client: SidecarClient) -> None:
    kept, gone = (client.run_to_end("echo it")["runId"] for _ in range(2))
    run = client.call("run/dismiss", {"runId": gone})["run"]
    assert isinstance(run["dismissedAt"], int)
    assert shown(client) == [kept]
    assert shown(client, includeDismissed=True) == [gone, kept]
    assert client.get(gone)["dismissedAt"] == run["dismissedAt"]
    assert client.text(gone) == "it\n"


def test_undismiss_shows_it_again(client: SidecarClient) -> None:
    run_id = client.run_to_end("true")["runId"]
    dismissed = client.call("run/dismiss", {"runId": run_id})["run"]
    run = client.call("run/undismiss", {"runId": run_id})["run"]
    assert "dismissedAt" not in run
    assert run["revision"] > dismissed["revision"]
    assert shown(client) == [run_id]


@pytest.mark.parametrize("method", ["run/dismiss", "run/undismiss"])
def test_twice_is_once(client: SidecarClient, method: str) -> None:
    run_id = client.run_to_end("true")["runId"]
    if method == "run/undismiss":
        client.call("run/dismiss", {"runId": run_id})
    first = client.call(method, {"runId": run_id})["run"]
    assert client.call(method, {"runId": run_id})["run"] == first


def test_a_live_run_is_refused(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    client.expect(status(run_id, "running"))
    error = client.refusal("run/dismiss", {"runId": run_id})
    assert (error["code"], error["data"]["code"]) == (-32803, "run-live")
    assert error["data"]["runId"] == run_id
    assert "dismissedAt" not in client.get(run_id)
    client.stop(run_id)
    client.call("run/dismiss", {"runId": run_id})


def test_everybody_of_the_session_is_told(servers: Servers) -> None:
    one, two = servers.connect(), servers.connect()
    run_id = one.run_to_end("true")["runId"]
    two.expect(status(run_id, "complete"))
    one.call("run/dismiss", {"runId": run_id})
    for client in (one, two):
        client.expect(hidden(run_id, is_hidden=True))
    two.call("run/undismiss", {"runId": run_id})
    for client in (one, two):
        client.expect(hidden(run_id, is_hidden=False))


def test_a_new_server_knows(servers: Servers) -> None:
    first = servers.connect()
    run_id = first.run_to_end("true")["runId"]
    first.call("run/dismiss", {"runId": run_id})
    first.close()
    second = servers.connect()
    assert shown(second) == []
    second.call("run/undismiss", {"runId": run_id})
    assert shown(second) == [run_id]
