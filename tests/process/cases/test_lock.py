"""Locks and their leftovers: crowds, the dead among them, and hands that delete what is held."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.support.each import each
from tests.support.expectations import over, status
from tests.support.marks import assert_none_marked, marked, wait_marked
from tests.support.serving import Gate, Servers, SidecarClient

CROWD = 10
ROUNDS = 20


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_ten_servers_at_once_half_of_them_killed(servers: Servers) -> None:
    for turn in range(ROUNDS):
        crowd = [servers.start() for _ in range(CROWD)]
        doomed, living = crowd[1::2], crowd[::2]
        # Killed in turn before they have read a line, while they start, and in the middle of it.
        if turn % 3 == 0:
            kill_all(doomed)
        handshakes = [(client, client.post_initialize()) for client in crowd if client.is_open]
        if turn % 3 == 1:
            kill_all(doomed)
        for client, handshake in handshakes:
            if client.is_open:
                client.result(handshake)
                client.notify("initialized", {})
        run_id = living[0].launch("true")["runId"]
        if turn % 3 == 2:
            kill_all(doomed)
        for client in living:
            client.expect(over(run_id))
            client.close()
    assert len(servers.connect().list(scope="all", limit=1000)) == ROUNDS


def kill_all(clients: list[SidecarClient]) -> None:
    for client in clients:
        client.kill()


@each("content", ["", str(os.getpid()), "1", "4194303", "dead", "not a number"])
def test_stale_files_of_others_lock_nobody_out(
    client: SidecarClient, state_dir: Path, content: str
) -> None:
    # Locks are the kernel's; whatever a file by that name says is nothing.
    run_id = client.run_to_end("true")["runId"]
    (state_dir / "runs" / run_id / "lease").write_text(content)
    (state_dir / "lock").write_text(content)
    assert client.run_to_end("true")["state"] == "complete"
    client.call("run/remove", {"runId": run_id})


def test_the_lease_of_a_live_run_is_deleted(
    servers: Servers, state_dir: Path, tmp_path: Path
) -> None:
    one, gate, mark = servers.connect(), Gate(tmp_path / "gate"), tmp_path / "mark"
    run_id = one.launch(f"{gate.wait}; : {mark}")["runId"]
    wait_marked(mark, 1)
    (state_dir / "runs" / run_id / "lease").unlink()
    two = servers.connect()
    # Longer than a caretaker waits before it would adopt what nobody seems to lead.
    assert two.run_to_end("sleep 5")["state"] == "complete"
    gate.open()
    for client in (one, two):
        run = client.expect(over(run_id))["run"]
        assert run["state"] in ("complete", "failed")
        assert client.list() == []
    assert_none_marked(mark)


def test_the_directory_of_a_live_run_is_deleted(
    servers: Servers, state_dir: Path, tmp_path: Path
) -> None:
    # It goes on in a directory that its runner makes anew, and is told and stoppable as before.
    one, gate, mark = servers.connect(), Gate(tmp_path / "gate"), tmp_path / "mark"
    run_id = one.launch(f"echo x; {gate.wait}; echo y; : {mark}")["runId"]
    wait_marked(mark, 1)
    one.expect(status(run_id, "running"))
    # Moved away first: its runner may write into it while it is being deleted.
    shutil.rmtree((state_dir / "runs" / run_id).rename(tmp_path / "deleted"))
    two = servers.connect()
    assert two.run_to_end("sleep 3")["state"] == "complete"
    if marked(mark):
        gate.open()
    for client in (one, two):
        assert client.run_to_end("true")["state"] == "complete"
        client.unread("run/notice")
        assert client.wait_over(run_id)[0]["state"] == "complete"


def test_a_launch_that_is_held_up_is_not_doubled_by_a_retry(
    servers: Servers, state_dir: Path, tmp_path: Path
) -> None:
    # The first launcher is frozen in the middle; its client retries at another server.
    one, two = servers.connect(), servers.connect()
    told = tmp_path / "told"
    launch = {
        "step": {"agent": "command", "shell": f"echo once >>{told}"},
        "clientToken": "again",
    }
    first = one.post("run/launch", launch)
    one.signal(signal.SIGSTOP)
    second = two.post("run/launch", launch)
    one.signal(signal.SIGCONT)
    runs = [one.result(first)["run"], two.result(second)["run"]]
    assert runs[0]["runId"] == runs[1]["runId"]
    two.wait_over(runs[0]["runId"])
    assert told.read_text() == "once\n"
    assert len(list((state_dir / "runs").iterdir())) == 1
