"""The stream belongs to the protocol: whoever prints, and whatever the stream is made of."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.framing import Frames, decode, frame
from tests.support.procs import assert_no_processes
from tests.support.serving import OURS, Servers, environment
from tests.support.wait import DEADLINE_S

INITIALIZE = frame(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"processId": None, "rootUri": None, "capabilities": {}},
    }
)
LIST = frame({"jsonrpc": "2.0", "id": 2, "method": "run/list", "params": {}})
SHUTDOWN = frame({"jsonrpc": "2.0", "id": 3, "method": "shutdown"})
EXIT = frame({"jsonrpc": "2.0", "method": "exit"})
SESSION = INITIALIZE + LIST + SHUTDOWN + EXIT

# Everything that is imported or called prints, in Python and in C, and so does a child.
NOISY = """
import builtins, ctypes, os, sys
from sidecar.server import app, calls
from sidecar.control import read

def noisy(function):
    def call(*args, **kwargs):
        print("printed by Python")
        sys.stdout.flush()
        os.write(1, b"written by C\\n")
        os.system("echo said by a child")
        return function(*args, **kwargs)
    return call

read.list_runs = noisy(read.list_runs)
sys.exit(app.main([]))
"""


def answers_in(data: bytes) -> list[int]:
    """The ids answered with a result; nothing but whole frames may be there."""
    frames = Frames()
    messages = [decode(body) for body in frames.feed(data)]
    assert frames.rest == b""
    return [message["id"] for message in messages if "result" in message]


def test_whoever_prints_does_not_reach_the_client(state_dir: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", NOISY],
        input=SESSION,
        capture_output=True,
        env=environment(state_dir, {"PYTHONPATH": os.getcwd()}),  # noqa: PTH109
        check=False,
        timeout=DEADLINE_S,
    )
    assert ended.returncode == 0
    assert answers_in(ended.stdout) == [1, 2, 3]
    for word in (b"printed by Python", b"written by C", b"said by a child"):
        assert word in ended.stderr


def test_a_file_for_a_client(state_dir: Path, tmp_path: Path) -> None:
    said, heard = tmp_path / "said", tmp_path / "heard"
    said.write_bytes(SESSION)
    with said.open("rb") as source, heard.open("wb") as sink:
        ended = subprocess.run(
            OURS, stdin=source, stdout=sink, env=environment(state_dir), check=False
        )
    assert ended.returncode == 0
    assert answers_in(heard.read_bytes()) == [1, 2, 3]


def test_sockets_for_a_stream(state_dir: Path) -> None:
    # What node gives its children.
    ours, theirs = socket.socketpair()
    with (
        ours,
        subprocess.Popen(
            OURS, stdin=theirs.fileno(), stdout=theirs.fileno(), env=environment(state_dir)
        ) as server,
    ):
        theirs.close()
        ours.sendall(SESSION)
        data = b""
        while more := ours.recv(1 << 16):
            data += more
        assert server.wait() == 0
    assert answers_in(data) == [1, 2, 3]


def test_input_that_ends_at_once_with_requests_before_it(state_dir: Path) -> None:
    # What was asked is answered, although nobody will ask more.
    ended = subprocess.run(
        OURS,
        input=INITIALIZE + LIST,
        stdout=subprocess.PIPE,
        env=environment(state_dir),
        check=False,
        timeout=DEADLINE_S,
    )
    assert answers_in(ended.stdout) == [1, 2]
    assert ended.returncode == 1


def test_pipes_are_left_in_the_mode_in_which_they_were(state_dir: Path) -> None:
    # O_NONBLOCK belongs to the open file, and others may hold it too.
    to_read, to_write = os.pipe()
    back_read, back_write = os.pipe()
    with subprocess.Popen(
        OURS, stdin=to_read, stdout=back_write, env=environment(state_dir)
    ) as server:
        os.write(to_write, INITIALIZE)
        assert b"capabilities" in os.read(back_read, 1 << 16)
        for fd in (to_read, back_write):
            assert not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK
        server.send_signal(signal.SIGKILL)
    for fd in (to_read, to_write, back_read, back_write):
        os.close(fd)
    assert_no_processes(state_dir)


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_stream_that_is_not_open(state_dir: Path, closed: str) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" "$@" {closed}', *OURS],
        input=b"",
        capture_output=True,
        env=environment(state_dir),
        check=False,
        timeout=DEADLINE_S,
    )
    assert ended.returncode == 1
    assert ended.stdout == b""
    assert b"not open" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_nobody_who_reads_stderr_keeps_the_server_waiting(servers: Servers) -> None:
    # A pipe that is full from the start: what would be said there is dropped.
    to_read, to_write = os.pipe()
    os.set_blocking(to_write, False)
    try:
        while True:
            os.write(to_write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(to_write, True)
    with subprocess.Popen(
        OURS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=to_write,
        env=environment(servers.state_dir),
    ) as server:
        garbage = b"".join(b"noise\n" + frame({"id": number}) for number in range(50))
        data, _ = server.communicate(garbage + SESSION, timeout=DEADLINE_S)
        assert server.returncode == 0
    assert b'"id":3' in data
    os.close(to_read)
    os.close(to_write)
