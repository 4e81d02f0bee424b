"""Who lives and who does not: odd names, the dead who are not collected, and ends."""

import os
import sys
from pathlib import Path

from tests.support.expectations import status
from tests.support.marks import CHILDREN, assert_none_marked, is_running, parent_of
from tests.support.serving import Servers, SidecarClient
from tests.support.wait import wait_until


def test_an_odd_process_name_confuses_nobody(servers: Servers) -> None:
    program = str(CHILDREN / "odd_name.py")
    client = servers.connect()
    run_id = client.launch(f"sleep 600 | {sys.executable} -I {program}")["runId"]
    client.wait_text(run_id, "my (agent) S 1\n")
    after = servers.connect()
    after.expect(status(run_id, "running"))
    assert after.stop(run_id)["proof"]["state"] == "observed"
    run = after.run_to_end(command=[sys.executable, "-I", program])
    assert (run["state"], run["steps"][0]["exitCode"]) == ("complete", 0)


def test_an_agent_whose_own_name_is_odd(client: SidecarClient, tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.write_text("#!/bin/sh\necho it\nexec sleep 600\n")
    program.chmod(0o755)
    run_id = client.launch(command=[str(program)])["runId"]
    client.wait_text(run_id, "it\n")
    assert client.stop(run_id)["state"] == "stopped"


def test_the_dead_are_not_counted_among_the_living(client: SidecarClient, tmp_path: Path) -> None:
    end = tmp_path / "end"
    command = [sys.executable, "-I", str(CHILDREN / "zombies.py"), str(end)]
    run_id = client.launch(command=command)["runId"]
    client.wait_text(run_id, "thirty are dead\n")
    end.touch()
    run = client.wait_over(run_id)[0]
    assert (run["state"], run["steps"][0]["exitCode"]) == ("complete", 0)
    assert run["proof"]["state"] == "observed"


def test_a_stop_in_the_middle_of_births_and_deaths(client: SidecarClient, tmp_path: Path) -> None:
    for number in range(10):
        end = tmp_path / f"end-{number}"
        command = [sys.executable, "-I", str(CHILDREN / "zombies.py"), str(end)]
        run_id = client.launch(command=command)["runId"]
        client.wait_text(run_id, "thirty are dead\n")
        run = client.stop(run_id)
        assert run["state"] == "stopped"
        assert run["proof"]["state"] == "observed"
        assert_none_marked(end)


def test_pids_that_are_told_are_those_of_agents(client: SidecarClient) -> None:
    # A record that named the host's pid got the host, and a dozen other runs, killed.
    run_ids = [client.launch("exec sleep 600")["runId"] for _ in range(2)]
    pids = [client.agent(run_id) for run_id in run_ids]
    assert len(set(pids)) == 2
    assert client.proc.pid not in pids
    for pid in pids:
        assert Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x00600\x00"
        assert os.getpgid(pid) == pid
    client.stop(run_ids[0])
    assert not is_running(pids[0])
    assert is_running(pids[1])
    client.stop(run_ids[1])


def test_one_supervisor_for_each_live_run_and_none_for_the_others(client: SidecarClient) -> None:
    run_ids = [client.launch("exec sleep 600")["runId"] for _ in range(3)]
    agents = [client.agent(run_id) for run_id in run_ids]
    wardens = [parent_of(pid) for pid in agents]
    runners = [parent_of(pid) for pid in wardens]
    assert len({*agents, *wardens, *runners}) == 9
    for run_id in run_ids:
        client.stop(run_id)
    wait_until(
        lambda: not any(is_running(pid) for pid in (*wardens, *runners)),
        what="the end of all supervisors",
    )
