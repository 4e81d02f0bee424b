"""What a client is told of runs, how often, in which order, and how it is told without bells."""

import os
import signal
from pathlib import Path
from typing import Any

from tests.support.expectations import Expectation, Verdict, notification, over, status
from tests.support.framing import encode, frame
from tests.support.rpc import not_reading, peak_kib
from tests.support.serving import Gate, Servers, SidecarClient, launch_of


def revisions(client: SidecarClient, run_id: str) -> list[int]:
    runs = [note.params["run"] for note in client.notes if note.method == "run/status"]
    return [run["revision"] for run in runs if run["runId"] == run_id]


def shown(text: str) -> Expectation:
    """A message for people that holds these words."""

    def judge(params: dict[str, Any]) -> Verdict:
        return Verdict.MET if text in params["message"] else Verdict.UNMET

    return Expectation(what=f"a message with {text!r}", method="window/showMessage", judge=judge)


def test_the_answer_to_a_launch_comes_before_any_news_of_its_run(client: SidecarClient) -> None:
    names = [f"launch-{number}" for number in range(20)]
    client.expect_answers_to(*names)
    launch = {"jsonrpc": "2.0", "method": "run/launch", "params": launch_of("true")}
    client.send(b"".join(frame(encode(launch | {"id": name})) for name in names))
    answered = {}
    for name in names:
        answer = client.answer(name)
        answered[answer["result"]["run"]["runId"]] = client.answers[name][0].number
    for run_id in answered:
        client.expect(over(run_id))
    for note in client.notes:
        assert note.number > answered[note.params["run"]["runId"]]


def test_what_the_answer_told_is_not_told_again(client: SidecarClient) -> None:
    run = client.launch("true")
    client.expect(over(run["runId"]))
    assert run["revision"] not in revisions(client, run["runId"])


def test_an_interval_of_nothing_tells_every_change_that_is_seen(servers: Servers) -> None:
    client = servers.connect(statusIntervalMs=0)
    run_id = client.launch("true")["runId"]
    client.expect(status(run_id, "complete"))
    told = revisions(client, run_id)
    assert told == sorted(set(told))


def test_a_dismissal_by_another_window_is_told(servers: Servers) -> None:
    one, two = servers.connect(), servers.connect()
    run_id = one.run_to_end("true")["runId"]
    two.expect(over(run_id))
    one.call("run/dismiss", {"runId": run_id})

    def judge(params: dict[str, Any]) -> Verdict:
        return Verdict.MET if "dismissedAt" in params["run"] else Verdict.UNMET

    hidden = Expectation(what="that it is hidden", method="run/status", judge=judge)
    for client in (one, two):
        assert client.expect(hidden)["run"]["runId"] == run_id


def test_without_a_doorbell_nothing_is_missed(servers: Servers, state_dir: Path) -> None:
    # Of a run that came and went between two scans only its directory tells.
    deaf = servers.connect()
    deaf.sync()
    bells = list((state_dir / "doorbells").glob("*.sock"))
    assert len(bells) == 1
    bells[0].unlink()
    other = servers.connect()
    run_ids = [other.run_to_end("true")["runId"] for _ in range(3)]
    for run_id in run_ids:
        deaf.expect(over(run_id))
    other.call("run/dismiss", {"runId": run_ids[0]})
    deaf.read_until(
        lambda: "dismissedAt" in deaf.monitor.newest[run_ids[0]], "to be told that it is hidden"
    )


def test_a_run_of_another_session_that_is_followed_is_told_of(
    servers: Servers, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    mine, theirs = servers.connect(session="mine"), servers.connect(session="theirs")
    run_id = theirs.launch(gate.wait)["runId"]
    mine.call("run/subscribe", {"runId": run_id})
    gate.open()
    mine.expect(over(run_id))


def test_a_repair_is_noticed(servers: Servers) -> None:
    client = servers.connect()
    run_id = client.launch("exec sleep 600")["runId"]
    client.expect(status(run_id, "running"))
    events = client.call("run/events", {"runId": run_id})["events"]
    runner = next(event["runner"]["pid"] for event in events if event["kind"] == "runner-started")
    os.kill(runner, signal.SIGKILL)
    client.expect(notification("run/notice", runId=run_id, kind="repaired"))
    client.expect(over(run_id))
    client.unread("run/notice")


def test_messages_are_shown_only_to_who_asked(servers: Servers) -> None:
    asking, silent = servers.connect(messages=True), servers.connect()
    asking.expect(over(asking.launch("exit 7", label="the label")["runId"]))
    message = asking.expect(shown("the label"))
    assert "failed" in message["message"]
    assert message["type"] == 1
    silent.sync()
    assert silent.unread("window/showMessage") == []


def test_a_client_that_never_reads_does_not_grow_its_server(
    servers: Servers, tmp_path: Path
) -> None:
    silent, other = servers.connect(), servers.connect()
    gate = Gate(tmp_path / "gate")
    flood = silent.launch(f"{gate.wait}; yes 0123456789 | head -c 60000000")["runId"]
    silent.call("run/subscribe", {"runId": flood})
    before = peak_kib(silent)
    with not_reading(silent):
        gate.open()
        short = [other.launch("true")["runId"] for _ in range(20)]
        other.wait_over(flood, *short)
    assert peak_kib(silent) - before < 16 * 1024
    for run_id in (flood, *short):
        silent.expect(over(run_id))
    assert {silent.monitor.ends[run_id] for run_id in (flood, *short)} == {1}
    silent.unread("run/output")
