"""Runs outlive the server, its terminal and its session; signals reach only whom they are for."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.serving import Gate, Servers, lines_of
from tests.support.wait import wait_until

# Writes a line, waits until the test has seen what became of its server, and writes on: a broken
# output would end it here (SIGPIPE, default action).
TALKS_ON = "echo before; {gate}; for n in 1 2 3 4 5; do echo line $n || exit 7; done"
EXPECTED = "before\n" + "".join(f"line {n}\n" for n in range(1, 6))

# Leads a process group, writes down every signal that reaches it, and ends with its child.
RECORDER = """
import os, signal, subprocess, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, lambda n, _: os.write(log, b"%d\\n" % n))
sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""


def session_members(session: int) -> list[int]:
    """All processes of a session: those that a terminal's end would reach."""
    members = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(entry.name)) == session:
                members.append(int(entry.name))
        except ProcessLookupError:
            continue
    return members


@pytest.mark.parametrize("way", ["kill", "hup-to-the-session", "kill-the-session"])
def test_the_run_completes_and_its_log_is_complete(
    servers: Servers, tmp_path: Path, way: str
) -> None:
    gate = Gate(tmp_path / "gate")
    client = servers.start(new_session=True)
    client.initialize()
    run_id = client.launch(TALKS_ON.format(gate=gate.wait))["runId"]
    client.wait_text(run_id, "before\n")
    members = session_members(client.proc.pid)
    assert client.proc.pid in members
    match way:
        case "kill":
            client.signal(signal.SIGKILL)
        case "hup-to-the-session":
            for pid in members:
                os.kill(pid, signal.SIGHUP)
        case _:
            for pid in members:
                os.kill(pid, signal.SIGKILL)
    client.wait_end()
    after = servers.connect()
    assert after.get(run_id)["state"] == "running"
    gate.open()
    run = after.wait_over(run_id)[0]
    assert (run["state"], run["steps"][0]["exitCode"]) == ("complete", 0)
    assert after.text(run_id) == EXPECTED


def test_a_hangup_of_the_runner_and_an_interrupt_are_not_a_stop(
    servers: Servers, tmp_path: Path
) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(gate.wait)["runId"]
    client.agent(run_id)
    events = client.call("run/events", {"runId": run_id})["events"]
    runner = next(e for e in events if e["kind"] == "runner-started")["runner"]["pid"]
    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(runner, number)
    gate.open()
    assert client.wait_over(run_id)[0]["state"] == "complete"


def test_the_wrapper_of_a_server_is_not_signalled(servers: Servers, tmp_path: Path) -> None:
    # Group signals that were meant for children have ended whole supervisors.
    log = tmp_path / "signals"
    client = servers.start(
        wrapper=[sys.executable, "-I", "-c", RECORDER, str(log)], new_session=True
    )
    client.initialize()
    for number in range(10):
        if number % 5 == 0:
            client.run_to_end(command=["/no/such/program"])
        run_id = client.launch("exec sleep 600")["runId"]
        client.stop(run_id, graceMs=0 if number % 2 else 3000)
    client.run_to_end("exec sleep 600", timeoutMs=200)
    client.close()
    assert lines_of(log) == []


def test_a_server_ends_although_its_runs_live(servers: Servers, tmp_path: Path) -> None:
    # Nothing of a run may keep the server's pipes open, or its editor waits for ever.
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(gate.wait)["runId"]
    client.close()
    after = servers.connect()
    assert after.get(run_id)["state"] in ("queued", "running")
    gate.open()
    after.wait_over(run_id)


def test_no_run_is_in_the_session_of_its_server(servers: Servers, tmp_path: Path) -> None:
    client = servers.start(new_session=True)
    client.initialize()
    gates = [Gate(tmp_path / f"gate-{n}") for n in range(3)]
    run_ids = [client.launch(gate.wait)["runId"] for gate in gates]
    agents = [client.agent(run_id) for run_id in run_ids]
    wait_until(
        lambda: session_members(client.proc.pid) == [client.proc.pid],
        what="a session with the server alone",
    )
    assert len({os.getsid(pid) for pid in agents}) == 3
    for gate in gates:
        gate.open()
    client.wait_over(*run_ids)
