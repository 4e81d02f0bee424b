"""Every way in which a server ends that is no ``exit``: none is slow, and none touches a run."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.procs import assert_no_processes
from tests.support.serving import Gate, Servers, environment
from tests.support.wait import wait_until

PATIENT = (sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()")

# Never a process: the kernel's largest pid is smaller (PID_MAX_LIMIT, 2^22).
NO_SUCH_PID = 4_200_000


@pytest.mark.parametrize("words", [b"", b"Content-Length: 100\r\n\r\n{", b"Content-Le"])
def test_end_of_input(servers: Servers, words: bytes) -> None:
    early, late = servers.start(), servers.connect()
    for client in (early, late):
        client.send(words)
        client.hang_up()
        client.wait_end()


def test_nobody_at_all_on_the_other_end(servers: Servers) -> None:
    proc = subprocess.run(
        servers.command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(servers.state_dir),
        cwd=servers.state_dir.parent,
        check=False,
    )
    assert proc.stdout == b""


def test_a_reader_that_is_gone(servers: Servers) -> None:
    # The editor's end of the output is closed, its end of the input is not.
    client = servers.connect()
    assert client.proc.stdout is not None
    client.proc.stdout.close()
    client.is_reading = False
    client.post("run/list", {})
    client.post("run/list", {})
    wait_until(lambda: client.proc.poll() is not None, what="the server's end")
    client.abandon()


def test_the_death_of_the_client_while_another_holds_its_pipe(servers: Servers) -> None:
    with subprocess.Popen(PATIENT, stdin=subprocess.PIPE) as editor:
        client = servers.start()
        client.initialize(params={"processId": editor.pid})
        client.sync()
        editor.kill()
        editor.wait()
    client.wait_end()


def test_a_client_that_dies_unreaped(servers: Servers) -> None:
    # A zombie is dead, although its pid is taken.
    with subprocess.Popen(PATIENT, stdin=subprocess.PIPE) as editor:
        client = servers.start()
        client.initialize(params={"processId": editor.pid})
        client.sync()
        editor.kill()
        client.wait_end()


def test_a_process_id_that_cannot_be_seen(servers: Servers) -> None:
    # In a container the editor's number means nothing: go on, or say why not.
    client = servers.start()
    client.initialize(params={"processId": NO_SUCH_PID})
    client.sync()
    client.sync()


def test_no_process_id(servers: Servers) -> None:
    client = servers.start()
    client.initialize(params={"processId": None})
    client.sync()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_before_and_after_initialize(servers: Servers, number: signal.Signals) -> None:
    early, late = servers.start(), servers.connect()
    # An error is an answer: the early one has got as far as it can without an initialize.
    early.refusal("run/list")
    for client in (early, late):
        client.signal(number)
        client.wait_end()


def test_a_terminal_that_is_closed(state_dir: Path, nothing_left: None, servers: Servers) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        servers.command,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environment(state_dir),
        cwd=state_dir.parent,
        start_new_session=True,
    ) as proc:
        os.close(theirs)
        os.close(ours)
        wait_until(lambda: proc.poll() is not None, what="the server's end")


@pytest.mark.parametrize("way", ["exit", "eof", "term", "hup", "kill", "client-death"])
def test_a_run_does_not_care(servers: Servers, tmp_path: Path, way: str) -> None:
    gate = Gate(tmp_path / "gate")
    with subprocess.Popen(PATIENT, stdin=subprocess.PIPE) as editor:
        client = servers.start()
        client.initialize(params={"processId": editor.pid})
        run_id = client.launch(f"echo before; {gate.wait}; echo after")["runId"]
        match way:
            case "exit":
                client.notify("exit")
            case "eof":
                client.hang_up()
            case "term":
                client.signal(signal.SIGTERM)
            case "hup":
                client.signal(signal.SIGHUP)
            case "kill":
                client.signal(signal.SIGKILL)
            case _:
                editor.kill()
        client.wait_end()
        editor.kill()
    gate.open()
    after = servers.connect()
    run = after.wait_over(run_id)[0]
    assert (run["state"], run["steps"][0]["exitCode"]) == ("complete", 0)
    assert run["proof"]["state"] == "observed"
    assert after.text(run_id) == "before\nafter\n"


def test_many_lives_leave_nothing(servers: Servers, state_dir: Path) -> None:
    for turn in range(20):
        client = servers.connect()
        client.sync()
        if turn % 2:
            client.close()
        else:
            client.hang_up()
            client.wait_end()
            client.close()
    assert_no_processes(state_dir)
    assert list((state_dir / "doorbells").glob("*")) == []


def test_live_runs_do_not_delay_a_shutdown(servers: Servers) -> None:
    client = servers.connect()
    run_ids = [client.launch("exec sleep 600")["runId"] for _ in range(5)]
    client.close()
    client = servers.connect()
    assert {run["state"] for run in client.list()} <= {"queued", "running"}
    for run_id in run_ids:
        client.stop(run_id)
