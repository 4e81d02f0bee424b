"""What a client is told of runs, how often, in which order, and how it is told without bells."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.support.expectations import (
    TERMINAL_STATES,
    Expectation,
    Verdict,
    notification,
    over,
    status,
)
from tests.support.framing import Frames, decode, frame
from tests.support.rpc import not_reading, peak_kib
from tests.support.serving import OURS, Gate, Servers, SidecarClient, environment, launch_of
from tests.support.wait import wait_until


def revisions(client: SidecarClient, run_id: str) -> list[int]:
    runs = [note.params["run"] for note in client.notes if note.method == "run/status"]
    return [run["revision"] for run in runs if run["runId"] == run_id]


def shown(text: str) -> Expectation:
    """A message for people that holds these words."""

    def judge(params: dict[str, Any]) -> Verdict:
        return Verdict.MET if text in params["message"] else Verdict.UNMET

    return Expectation(what=f"a message with {text!r}", method="window/showMessage", judge=judge)


def test_the_answer_to_a_launch_comes_before_any_news_of_its_run(
    state_dir: Path, nothing_left: None
) -> None:
    # Seen in the raw stream: the order in which the bytes came is what is promised.
    params: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
    opening: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
    ]
    launches = [
        {"jsonrpc": "2.0", "id": number, "method": "run/launch", "params": launch_of("true")}
        for number in range(20)
    ]
    known: set[str] = set()
    ended: set[str] = set()
    with subprocess.Popen(
        OURS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(state_dir)
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"".join(frame(message) for message in (*opening, *launches)))
        server.stdin.flush()
        frames = Frames()
        while len(ended) < len(launches):
            data = os.read(server.stdout.fileno(), 1 << 16)
            assert data
            for message in map(decode, frames.feed(data)):
                if message.get("method") == "run/status":
                    run = message["params"]["run"]
                    assert run["runId"] in known
                    ended |= {run["runId"]} if run["state"] in TERMINAL_STATES else set()
                elif message["id"] != "hello":
                    known.add(message["result"]["run"]["runId"])
        server.stdin.close()
    assert ended == known


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
    bells = wait_until(lambda: list((state_dir / "doorbells").glob("*.sock")), what="a doorbell")
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
    silent.call("run/unsubscribe", {"runId": flood})
    silent.unread("run/output")
