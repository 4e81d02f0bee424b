"""``run/events``: the log of a run, numbered without a gap, page by page, and without secrets."""

import json

from tests.support.each import each
from tests.support.serving import Servers, SidecarClient

SECRET = "s3cr3t-only-for-the-agent"


def test_a_log_from_the_launch_to_the_end(client: SidecarClient) -> None:
    run_id = client.run_to_end("echo hello")["runId"]
    log = client.call("run/events", {"runId": run_id})
    assert [event["seq"] for event in log["events"]] == list(range(1, log["lastSeq"] + 1))
    kinds = [event["kind"] for event in log["events"]]
    assert kinds[0] == "run-launched"
    assert kinds[-1] == "result-stored"
    assert [kind for kind in kinds if kind in ("agent-spawned", "agent-exited", "tree-ended")] == [
        "agent-spawned",
        "agent-exited",
        "tree-ended",
    ]
    times = [event["at"] for event in log["events"]]
    assert times == sorted(times)


@each("limit", [1, 2, 3, 1000])
def test_page_by_page_each_once(client: SidecarClient, limit: int) -> None:
    run_id = client.run_to_end("echo hello")["runId"]
    whole = client.call("run/events", {"runId": run_id})["events"]
    paged, after = [], 0
    while True:
        page = client.call("run/events", {"runId": run_id, "afterSeq": after, "limit": limit})
        assert len(page["events"]) <= limit
        if not page["events"]:
            break
        paged += page["events"]
        after = page["events"][-1]["seq"]
        assert page["lastSeq"] >= after
    assert paged == whole


def test_beyond_the_end_there_is_nothing_and_the_end_is_told(client: SidecarClient) -> None:
    run_id = client.run_to_end("true")["runId"]
    last = client.call("run/events", {"runId": run_id})["lastSeq"]
    page = client.call("run/events", {"runId": run_id, "afterSeq": last})
    assert page == {"events": [], "lastSeq": last}
    assert client.call("run/events", {"runId": run_id, "afterSeq": last + 100})["events"] == []


def test_a_live_run_has_a_log(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    first = client.call("run/events", {"runId": run_id})
    assert first["events"][0]["kind"] == "run-launched"
    client.stop(run_id)
    rest = client.call("run/events", {"runId": run_id, "afterSeq": first["lastSeq"]})
    assert rest["events"][0]["seq"] == first["lastSeq"] + 1
    assert "stop-requested" in [event["kind"] for event in rest["events"]]


def test_what_is_private_is_in_no_answer_and_no_notice(servers: Servers) -> None:
    client = servers.connect()
    run = client.run_to_end(
        f"test -n {SECRET}; cat >/dev/null",
        env={"ONE": SECRET},
        step={"env": {"TWO": SECRET}, "prompt": SECRET},
    )
    run_id = run["runId"]
    said = [
        run,
        client.call("run/events", {"runId": run_id}),
        client.call("run/result", {"runId": run_id}),
        client.call("run/list", {"scope": "all"}),
        client.call("server/status", {}),
        [note.params for note in client.notes],
    ]
    assert SECRET not in json.dumps(said)
    assert SECRET not in client.stderr()
