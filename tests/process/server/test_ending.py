"""When a server ends, and with which code."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.procs import processes_of
from tests.support.rpc import not_reading
from tests.support.serving import OURS, Servers, SidecarClient, environment
from tests.support.wait import DEADLINE_S, wait_until


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_has_its_usual_code(
    client: SidecarClient, number: signal.Signals, code: int
) -> None:
    client.signal(number)
    assert client.wait_end() == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_after_shutdown_every_end_is_a_good_one(
    client: SidecarClient, number: signal.Signals
) -> None:
    client.call("shutdown")
    client.signal(number)
    assert client.wait_end() == 0


def test_the_end_of_the_stream_is_a_good_one_only_after_shutdown(servers: Servers) -> None:
    polite, rude = servers.connect(), servers.connect()
    polite.call("shutdown")
    codes = []
    for client in (polite, rude):
        client.hang_up()
        codes.append(client.wait_end())
    assert codes == [0, 1]


def test_nothing_but_noise_is_given_up_with_a_reason(servers: Servers) -> None:
    client = servers.start()
    client.send(b"not the protocol\n" * 10_000)
    assert client.wait_end() == 1
    assert client.orphans[-1].message["error"]["message"].startswith("giving up")
    for orphan in client.orphans:
        orphan.is_read = True
    assert "base protocol" in client.stderr()


def test_what_it_was_started_to_ignore_it_ignores(state_dir: Path) -> None:
    # nohup(1), and shells that put something into the background.
    program = f"trap '' HUP INT; exec {OURS[0]} -m sidecar serve"
    with subprocess.Popen(
        ["/bin/sh", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(state_dir),
    ) as proc:
        client = SidecarClient(proc, name="ignoring", stderr=None)
        client.initialize()
        client.signal(signal.SIGHUP)
        client.signal(signal.SIGINT)
        client.sync()
        client.close()


def test_signals_that_were_blocked_work_all_the_same(state_dir: Path) -> None:
    blocked = (
        "import os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", blocked, *OURS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(state_dir),
    ) as proc:
        client = SidecarClient(proc, name="blocked", stderr=None)
        client.initialize()
        client.signal(signal.SIGTERM)
        assert client.wait_end() == 143


def test_children_are_collected_although_their_signal_was_ignored(state_dir: Path) -> None:
    ignoring = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", ignoring, *OURS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(state_dir),
    ) as proc:
        client = SidecarClient(proc, name="ignoring", stderr=None)
        client.initialize()
        run = client.run_to_end("exit 3")
        assert (run["state"], run["steps"][0]["exitCode"]) == ("failed", 3)
        client.close()


def test_no_runner_stays_behind_as_a_zombie(client: SidecarClient) -> None:
    client.wait_over(*(client.launch("true")["runId"] for _ in range(10)))

    def children() -> str:
        path = Path(f"/proc/{client.proc.pid}/task/{client.proc.pid}/children")
        return path.read_text().strip()

    wait_until(lambda: children() == "", what=lambda: f"no children, but there are {children()}")


def test_a_client_that_reads_nothing_and_hangs_up(servers: Servers) -> None:
    # Reading has stopped for want of room, and the end is noticed all the same.
    client, other = servers.connect(), servers.connect()
    run_id = other.run_to_end("seq 30000")["runId"]
    with not_reading(client):
        for _ in range(300):
            client.post("run/output", {"runId": run_id})
        client.hang_up()
        wait_until(lambda: client.proc.poll() is not None, what="the server's end")
    client.abandon()


def test_options_that_editors_add_are_taken(servers: Servers) -> None:
    client = servers.start(arguments=["--stdio", "--clientProcessId=1"])
    client.initialize()
    client.sync()


def test_an_option_that_is_not_known_is_refused(state_dir: Path) -> None:
    ended = subprocess.run(
        [*OURS, "--no-such"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(state_dir),
        check=False,
        timeout=DEADLINE_S,
    )
    assert ended.returncode == 2
    assert ended.stdout == b""
    assert b"--no-such" in ended.stderr


def test_the_state_directory_on_the_command_line(servers: Servers, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    client = servers.start(arguments=["--state-dir", str(elsewhere)])
    client.initialize()
    assert client.call("server/status", {})["stateDir"] == str(elsewhere)


def test_a_state_directory_that_cannot_be_made_is_told_by_the_launch(servers: Servers) -> None:
    client = servers.start(arguments=["--state-dir", "/dev/null/state"])
    client.initialize()
    assert client.list() == []
    assert client.list(scope="all") == []
    error = client.refusal("run/launch", {"step": {"agent": "command", "shell": "true"}})
    assert (error["code"], error["data"]["code"]) == (-32803, "storage")
    client.sync()


def test_an_unknown_option_of_ours_is_named_and_initialize_can_be_tried_again(
    servers: Servers,
) -> None:
    client = servers.start()
    params: dict[str, Any] = {"processId": os.getpid(), "rootUri": None, "capabilities": {}}
    error = client.refusal(
        "initialize", params | {"initializationOptions": {"statusIntervalMS": 5}}
    )
    assert (error["code"], error["data"]["field"]) == (
        -32602,
        "initializationOptions.statusIntervalMS",
    )
    error = client.refusal(
        "initialize", params | {"initializationOptions": {"progressCancel": "interrupt"}}
    )
    assert error["data"]["field"] == "initializationOptions.progressCancel"
    assert client.refusal("run/list", {})["code"] == -32002
    # An empty Lua table, as editors send it whose user configured nothing.
    client.call("initialize", params | {"initializationOptions": []})
    client.sync()


def test_nothing_is_left_of_many_servers(servers: Servers, state_dir: Path) -> None:
    # Ended in the middle of everything that they do when they begin.
    for words in ("", "initialize", "initialized"):
        client = servers.start()
        if words:
            client.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        if words == "initialized":
            client.notify("initialized", {})
        client.hang_up()
        client.wait_end()
    assert processes_of(state_dir) == []
    assert [entry.name for entry in state_dir.glob("doorbells/*")] == []
