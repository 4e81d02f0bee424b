"""Runs whose supervisors died: they end by themselves, truly, once, and nothing is left."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.expectations import notification, over, status
from tests.support.marks import assert_none_marked, marked, parent_of, wait_marked
from tests.support.rpc import Client
from tests.support.serving import Gate, Servers, SidecarClient
from tests.support.wait import wait_until

TREE = "M={mark} sleep 600 & M={mark} setsid sleep 600 & echo started; M={mark} sleep 600; true"
TREE_SIZE = 4


def lineage(client: SidecarClient, run_id: str) -> dict[str, int]:
    """The pids of runner, warden and agent of a live run."""
    agent: int = client.agent(run_id)
    warden = parent_of(agent)
    return {"runner": parent_of(warden), "warden": warden, "agent": agent}


def kill(pids: dict[str, int], *names: str) -> None:
    """SIGKILL several of them as one: stopped first, so that none sees another die."""
    for name in names:
        os.kill(pids[name], signal.SIGSTOP)
    for name in names:
        os.kill(pids[name], signal.SIGKILL)


def expect_repaired(client: Client, run_id: str) -> None:
    """Expect to be told that a run was repaired; of nothing else."""
    client.expect(notification("run/notice", runId=run_id, kind="repaired"))
    rest = client.unread("run/notice")
    assert {(notice["runId"], notice["kind"]) for notice in rest} <= {(run_id, "repaired")}


def forget_unproven(state_dir: Path, *runs: dict[str, Any]) -> None:
    """Take the marker of each run whose proof is unknown: such a one ages out, after a day."""
    for run in runs:
        if run["proof"]["state"] == "unknown":
            (state_dir / "active" / run["runId"]).unlink()


def told_ends(client: Client, run_id: str) -> int:
    """How often the end of a run was told to this client."""
    return client.monitor.ends.get(run_id, 0)


@pytest.mark.parametrize(
    "victims",
    [("runner",), ("runner", "warden"), ("runner", "agent"), ("runner", "warden", "agent")],
    ids="+".join,
)
def test_it_ends_without_being_asked_and_is_told_once(
    servers: Servers, state_dir: Path, tmp_path: Path, victims: tuple[str, ...]
) -> None:
    client, mark = servers.connect(), tmp_path / "mark"
    run_id = client.launch(TREE.format(mark=mark))["runId"]
    wait_marked(mark, TREE_SIZE)
    client.expect(status(run_id, "running"))
    kill(lineage(client, run_id), *victims)
    run = client.expect(over(run_id))["run"]
    # Whether the agent's death was seen before the runner's is chance; both are the truth.
    reasons = ("runner-lost", "signal") if victims == ("runner", "agent") else ("runner-lost",)
    assert run["state"] == "failed"
    assert run["reason"] in reasons
    assert run["error"]["message"]
    expect_repaired(client, run_id)
    assert run["proof"]["state"] in ("observed", "unknown")
    if run["proof"]["state"] == "observed":
        assert_none_marked(mark)
    client.run_to_end("sleep 3" if victims == ("runner",) else "true")
    client.sync()
    assert told_ends(client, run_id) == 1
    wait_until(lambda: not marked(mark), what="an empty tree")
    assert client.text(run_id) == "started\n"
    assert client.call("run/result", {"runId": run_id})["state"] == "failed"
    forget_unproven(state_dir, run)


def test_the_death_of_the_warden_alone(servers: Servers, tmp_path: Path) -> None:
    client, mark = servers.connect(), tmp_path / "mark"
    run_id = client.launch(TREE.format(mark=mark))["runId"]
    wait_marked(mark, TREE_SIZE)
    kill(lineage(client, run_id), "warden")
    run = client.expect(over(run_id))["run"]
    assert run["state"] == "failed"
    assert run["reason"] in ("warden-lost", "runner-lost")
    assert_none_marked(mark)
    client.unread("run/notice")


def test_an_agent_that_had_ended_by_itself_is_not_called_lost(
    servers: Servers, tmp_path: Path
) -> None:
    # Its runner dies while the output is being waited for; the exit is on record by then.
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(f"{gate.wait}; (sleep 600 &); exit 5")["runId"]
    pids = lineage(client, run_id)
    os.kill(pids["runner"], signal.SIGSTOP)
    gate.open()
    wait_until(lambda: not Path(f"/proc/{pids['agent']}").exists(), what="the agent's end")
    os.kill(pids["runner"], signal.SIGKILL)
    run = client.wait_over(run_id)[0]
    assert (run["state"], run["reason"]) == ("failed", "exit-status")
    assert run["steps"][0]["exitCode"] == 5
    expect_repaired(client, run_id)


@pytest.mark.parametrize("victims", [("runner",), ("runner", "warden", "agent")], ids="+".join)
def test_without_any_server_and_then_with_one(
    servers: Servers, state_dir: Path, tmp_path: Path, victims: tuple[str, ...]
) -> None:
    first, mark = servers.connect(), tmp_path / "mark"
    run_id = first.launch(TREE.format(mark=mark))["runId"]
    wait_marked(mark, TREE_SIZE)
    pids = lineage(first, run_id)
    first.kill()
    kill(pids, *victims)
    second = servers.connect()
    run = second.wait_over(run_id)[0]
    assert (run["state"], run["reason"]) == ("failed", "runner-lost")
    assert run["error"]["message"]
    second.sync()
    assert told_ends(second, run_id) <= 1
    second.unread("run/notice")
    wait_until(lambda: not marked(mark), what="an empty tree")
    # What is over was told; a third one has nothing to tell, and nothing to repair.
    third = servers.connect()
    third.run_to_end("true")
    assert told_ends(third, run_id) == 0
    assert third.get(run_id) == run
    forget_unproven(state_dir, run)


def test_the_server_is_killed_right_after_its_answer(servers: Servers, tmp_path: Path) -> None:
    client = servers.connect()
    for number in range(8):
        told = tmp_path / f"told-{number}"
        run_id = client.launch(f"echo once >>{told}")["runId"]
        client.kill()
        client = servers.connect()
        assert run_id in [run["runId"] for run in client.list(scope="all")]
        assert client.wait_over(run_id)[0]["state"] == "complete"
        assert told.read_text() == "once\n"


def test_a_lost_run_can_be_hidden_and_launched_again(servers: Servers, state_dir: Path) -> None:
    client = servers.connect()
    run_id = client.launch("exec sleep 600", clientToken="first")["runId"]
    kill(lineage(client, run_id), "runner", "warden", "agent")
    forget_unproven(state_dir, *client.wait_over(run_id))
    expect_repaired(client, run_id)
    client.call("run/dismiss", {"runId": run_id})
    assert client.run_to_end("true", clientToken="second")["state"] == "complete"


def test_a_stop_that_was_accepted_survives_the_runner(servers: Servers, tmp_path: Path) -> None:
    client, mark = servers.connect(), tmp_path / "mark"
    run_id = client.launch(
        f"trap '' TERM; echo ready; while :; do M={mark} sleep 600 & wait; done"
    )["runId"]
    client.wait_text(run_id, "ready\n")
    pids = lineage(client, run_id)
    client.call("run/stop", {"runId": run_id, "graceMs": 600_000, "reason": "enough"})
    wait_until(lambda: "stopping" in client.get(run_id), what="the runner to have taken it")
    kill(pids, "runner")
    run = client.wait_over(run_id)[0]
    assert (run["state"], run["reason"]) == ("stopped", "stopped-by-user")
    assert run["stoppedBy"]["reason"] == "enough"
    assert_none_marked(mark)
    expect_repaired(client, run_id)


def test_two_servers_repair_one_run_once(servers: Servers, state_dir: Path) -> None:
    clients = [servers.connect() for _ in range(3)]
    run_id = clients[0].launch("exec sleep 600")["runId"]
    kill(lineage(clients[0], run_id), "runner", "warden", "agent")
    ends = [client.expect(over(run_id))["run"] for client in clients]
    assert ends[0] == ends[1] == ends[2]
    for client in clients:
        expect_repaired(client, run_id)
    events = clients[0].call("run/events", {"runId": run_id})["events"]
    adoptions = [e for e in events if e["kind"] == "runner-started" and e["adopted"]]
    assert len(adoptions) == 1
    assert [event["kind"] for event in events].count("result-stored") == 1
    forget_unproven(state_dir, ends[0])


def test_a_machine_that_goes_down(servers: Servers, state_dir: Path) -> None:
    # TERM to everything that there is, then KILL to whatever remains; afterwards all are honest.
    client = servers.connect()
    run_ids = [client.launch("exec sleep 600")["runId"] for _ in range(5)]
    trees = [lineage(client, run_id) for run_id in run_ids]
    pids = [client.proc.pid, *(pid for tree in trees for pid in tree.values())]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
    client.abandon()
    after = servers.connect()
    runs = after.wait_over(*run_ids)
    assert {run["state"] for run in runs} <= {"stopped", "failed"}
    assert {run["runId"] for run in after.list(scope="all")} == set(run_ids)
    assert all(run["reason"] for run in runs)
    after.sync()
    after.unread("run/notice")
    forget_unproven(state_dir, *runs)
