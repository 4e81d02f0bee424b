"""``run/get``, ``run/list`` and ``run/result``: every run of the user, newest first, by pages."""

from typing import Any

from tests.support.each import each
from tests.support.expectations import status
from tests.support.serving import Servers, SidecarClient

NO_RUN = "0198c0de-0000-7000-8000-000000000000"

ACTING = ["run/stop", "run/dismiss", "run/undismiss", "run/remove"]


def ids(runs: list[dict[str, Any]]) -> list[str]:
    return [run["runId"] for run in runs]


def test_nothing_is_an_empty_list(client: SidecarClient) -> None:
    assert client.call("run/list", {"scope": "all"}) == {"runs": []}


def test_newest_first(client: SidecarClient) -> None:
    run_ids = [client.run_to_end("true")["runId"] for _ in range(5)]
    assert ids(client.list(scope="all")) == run_ids[::-1]


def test_by_default_what_is_active_in_all_sessions(servers: Servers) -> None:
    one, two = servers.connect(session="one"), servers.connect(session="two")
    ended = one.run_to_end("true")["runId"]
    live_one, live_two = (c.launch("exec sleep 600")["runId"] for c in (one, two))
    for client in (one, two):
        assert ids(client.list()) == [live_two, live_one]
        assert ids(client.list(scope="active")) == [live_two, live_one]
        assert ids(client.list(scope="all")) == [live_two, live_one, ended]
    assert ids(one.list(scope="session")) == [live_one, ended]
    assert ids(two.list(scope="session")) == [live_two]
    one.stop(live_one)
    two.stop(live_two)
    assert one.list() == []


def test_by_state(client: SidecarClient) -> None:
    good = client.run_to_end("true")["runId"]
    bad = client.run_to_end("false")["runId"]
    live = client.launch("exec sleep 600")["runId"]
    client.expect(status(live, "running"))
    assert ids(client.list(scope="all", states=["failed"])) == [bad]
    assert ids(client.list(scope="all", states=["complete", "failed"])) == [bad, good]
    assert ids(client.list(scope="all", states=["running"])) == [live]
    assert client.list(scope="all", states=["paused"]) == []
    client.stop(live)


def test_page_by_page_each_once(client: SidecarClient) -> None:
    run_ids = [client.launch("true")["runId"] for _ in range(7)]
    client.wait_over(*run_ids)
    for limit in (1, 2, 3, 7, 1000):
        pages: list[list[str]] = []
        cursor = None
        while not pages or cursor is not None:
            page = client.call("run/list", {"scope": "all", "limit": limit, "cursor": cursor})
            pages.append(ids(page["runs"]))
            assert len(page["runs"]) <= limit
            cursor = page.get("nextCursor")
        assert [run_id for page in pages for run_id in page] == run_ids[::-1], limit


def test_a_run_that_comes_between_two_pages_disturbs_nothing(client: SidecarClient) -> None:
    run_ids = [client.run_to_end("true")["runId"] for _ in range(4)]
    first = client.call("run/list", {"scope": "all", "limit": 2})
    client.run_to_end("true")
    second = client.call("run/list", {"scope": "all", "limit": 2, "cursor": first["nextCursor"]})
    assert ids(first["runs"]) + ids(second["runs"]) == run_ids[::-1]


@each("cursor", ["nonsense", "", "../..", "\u00e9"])
def test_a_cursor_that_is_none_is_refused(client: SidecarClient, cursor: str) -> None:
    error = client.refusal("run/list", {"cursor": cursor})
    assert error["data"] == error["data"] | {"code": "invalid-params", "field": "cursor"}


def test_by_any_unique_prefix(client: SidecarClient) -> None:
    run_id = client.run_to_end("true")["runId"]
    for length in (4, 8, 9, 13, 35, 36):
        assert client.get(run_id[:length])["runId"] == run_id
        assert client.call("run/result", {"runId": run_id[:length]})["runId"] == run_id


def test_a_prefix_of_two_runs_is_refused_and_both_are_named(client: SidecarClient) -> None:
    run_ids = [client.run_to_end("true")["runId"] for _ in range(2)]
    for method in ("run/get", "run/stop", "run/dismiss", "run/output", "run/remove"):
        error = client.refusal(method, {"runId": run_ids[0][:4]})
        assert (error["code"], error["data"]["code"]) == (-32803, "ambiguous-id")
        assert sorted(error["data"]["candidates"]) == run_ids
    assert len(client.list(scope="all")) == 2


@each("run_id", ["", "0", "019", " 0198", "0198 ", "ZZZZ", "0198C0DE", "0" * 37])
def test_what_cannot_be_a_prefix_is_refused(client: SidecarClient, run_id: str) -> None:
    client.run_to_end("true")
    error = client.refusal("run/get", {"runId": run_id})
    assert (error["code"], error["data"]["field"]) == (-32602, "runId")


@each("run_id", [NO_RUN, NO_RUN[:8], "ffff"])
def test_what_is_not_there_is_told_by_its_code(client: SidecarClient, run_id: str) -> None:
    client.run_to_end("true")
    for method in ("run/get", "run/events", "run/output", "run/result", *ACTING):
        error = client.refusal(method, {"runId": run_id})
        assert (error["code"], error["data"]["code"]) == (-32803, "not-found"), method


def test_reading_spans_sessions(servers: Servers) -> None:
    one, two = servers.connect(session="one"), servers.connect(session="two")
    run = one.run_to_end("echo hello")
    assert two.get(run["runId"]) == run
    assert two.text(run["runId"]) == "hello\n"
    assert two.call("run/result", {"runId": run["runId"]})["state"] == "complete"
    assert two.call("run/events", {"runId": run["runId"]})["events"]


def test_acting_on_another_session_has_to_be_meant(servers: Servers) -> None:
    one, two = servers.connect(session="one"), servers.connect(session="two")
    run = one.run_to_end("true")
    for method in ACTING:
        error = two.refusal(method, {"runId": run["runId"]})
        assert (error["code"], error["data"]["code"]) == (-32803, "other-session")
    assert two.get(run["runId"]) == run
    for method in ACTING:
        two.call(method, {"runId": run["runId"], "anySession": True})


def test_a_live_run_of_another_session_is_stopped_if_it_is_meant(servers: Servers) -> None:
    one, two = servers.connect(session="one"), servers.connect(session="two")
    run_id = one.launch("exec sleep 600")["runId"]
    assert two.refusal("run/stop", {"runId": run_id})["data"]["code"] == "other-session"
    assert "stopping" not in two.get(run_id)
    assert two.stop(run_id, anySession=True)["state"] == "stopped"


def test_a_result_is_there_once_the_run_is_over(client: SidecarClient) -> None:
    run_id = client.launch("echo out; echo err >&2; read -r _; exit 3")["runId"]
    run = client.wait_over(run_id)[0]
    result = client.call("run/result", {"runId": run_id})
    assert (result["state"], result["reason"]) == (run["state"], run["reason"])
    assert (result["state"], result["reason"]) == ("failed", "exit-status")
    step = result["steps"][0]
    assert step["answer"] == "out\n"
    assert step["exitCode"] == 3
    assert result["proof"]["state"] == "observed"


def test_a_result_of_a_live_run_is_refused(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    error = client.refusal("run/result", {"runId": run_id})
    assert (error["code"], error["data"]["code"]) == (-32803, "run-live")
    client.stop(run_id)
    assert client.call("run/result", {"runId": run_id})["state"] == "stopped"
