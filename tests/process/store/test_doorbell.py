"""Ringing wakes whoever listens, harms nobody, and never waits."""

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.core.errors import StorageError
from sidecar.store import doorbell
from sidecar.store.doorbell import Bell, Bells, Ring, RunBell
from sidecar.store.layout import Layout, open_state_dir
from tests.support import samples
from tests.support.stored import make_run, output_of, python

RUN_ID = samples.RUN_ID

# Hangs up a bell and dies without taking it down.
DIES = """
import os, sys
from sidecar.store import doorbell
from sidecar.store.doorbell import Bell, RunBell
from sidecar.store.layout import Layout
bell = RunBell(sys.argv[2]) if len(sys.argv) > 2 else Bell(Layout(sys.argv[1]))
os._exit(0)
"""

RINGS = """
import sys
from sidecar.store import doorbell
from sidecar.store.doorbell import Bells
from sidecar.store.layout import Layout
bells = Bells(Layout(sys.argv[1]))
print("ringing", flush=True)
while True:
    bells.ring("status", sys.argv[2], 1)
"""


def sockets(directory: str) -> list[Path]:
    return sorted(Path(directory).iterdir())


@contextlib.contextmanager
def address(path: Path | str) -> Iterator[str]:
    """Give an address of ``path`` that is short however deep the test's directory lies."""
    path = Path(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def send(path: Path | str, datagram: bytes) -> None:
    with address(path) as short, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(short)
        sender.send(datagram)


@pytest.fixture(params=["short", "long"])
def any_layout(request: pytest.FixtureRequest, state_dir: Path) -> Layout:
    """Give a state directory, in one case with a path that no socket address can hold."""
    if request.param == "short":
        return open_state_dir(str(state_dir))
    return open_state_dir(str(state_dir / ("d" * 100) / ("e" * 100)))


def test_every_bell_hears_every_ring(any_layout: Layout) -> None:
    bells = Bells(any_layout)
    assert bells.ring("status", RUN_ID, 1) == 0
    listeners = [Bell(any_layout) for _ in range(3)]
    assert bells.ring("status", RUN_ID, 7) == 3
    assert bells.ring("output", RUN_ID, 8) == 3
    assert bells.ring("storage:ENOSPC", RUN_ID, 8) == 3
    assert bells.ring("storage:ok", RUN_ID, 8) == 3
    for listener in listeners:
        assert listener.receive() == [
            Ring(kind="status", run_id=RUN_ID, revision=7),
            Ring(kind="output", run_id=RUN_ID, revision=8),
            Ring(kind="storage:ENOSPC", run_id=RUN_ID, revision=8),
            Ring(kind="storage:ok", run_id=RUN_ID, revision=8),
        ]
        assert listener.receive() == []
        listener.close()
        listener.close()
    assert bells.ring("status", RUN_ID, 9) == 0
    bells.close()
    bells.close()
    assert sockets(any_layout.doorbells) == []


def test_a_run_hears_a_knock(any_layout: Layout) -> None:
    run_dir = make_run(any_layout)
    bells = Bells(any_layout)
    assert not bells.ring_run(run_dir.path)
    bell = RunBell(run_dir.path)
    assert bells.ring_run(run_dir.path)
    assert bell.receive()
    assert not bell.receive()
    bell.close()
    assert not bells.ring_run(run_dir.path)
    assert not Path(run_dir.path, "bell").exists()
    bells.close()


def test_bells_are_private_whatever_the_umask(layout: Layout) -> None:
    before = os.umask(0)
    try:
        bell = Bell(layout)
    finally:
        os.umask(before)
    (path,) = sockets(layout.doorbells)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.name.startswith(f"{os.getpid()}-")
    assert path.suffix == ".sock"
    bell.close()


def test_a_descriptor_of_a_bell_can_be_polled_and_is_not_inherited(layout: Layout) -> None:
    bell = Bell(layout)
    assert not os.get_inheritable(bell.fileno())
    assert not os.get_blocking(bell.fileno())
    bell.close()


def test_a_dead_bell_is_taken_down_and_the_others_are_rung(layout: Layout) -> None:
    output_of(DIES, layout.state_dir)
    bell = Bell(layout)
    assert len(sockets(layout.doorbells)) == 2
    bells = Bells(layout)
    assert bells.ring("status", RUN_ID, 1) == 1
    assert len(sockets(layout.doorbells)) == 1
    assert len(bell.receive()) == 1
    bell.close()
    bells.close()


def test_the_bell_of_a_dead_runner_is_replaced_by_the_next_one(layout: Layout) -> None:
    run_dir = make_run(layout)
    output_of(DIES, layout.state_dir, run_dir.path)
    assert Path(run_dir.path, "bell").is_socket()
    bell = RunBell(run_dir.path)
    bells = Bells(layout)
    assert bells.ring_run(run_dir.path)
    assert bell.receive()
    bell.close()
    bells.close()


def test_a_full_bell_makes_nobody_wait_and_loses_nothing_that_matters(layout: Layout) -> None:
    full, other = Bell(layout), Bell(layout)
    bells = Bells(layout)
    for revision in range(1000):
        assert bells.ring("status", RUN_ID, revision) == 2
        other.receive()
    rings = full.receive()
    assert 0 < len(rings) < 1000
    assert rings[0].revision == 0
    assert bells.ring("status", RUN_ID, 1000) == 2
    assert full.receive() == [Ring(kind="status", run_id=RUN_ID, revision=1000)]
    for bell in (full, other):
        bell.close()
    bells.close()


GOOD = f"status {RUN_ID} 1\n".encode()


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\n",
        b"\xff\xfe\n",
        bytes(64),
        GOOD[:-1],
        GOOD + b"x",
        b"x" * 100_000,
        f"shutdown {RUN_ID} 1\n".encode(),
        f"status {RUN_ID.upper()} 1\n".encode(),
        b"status ../../etc/passwd 1\n",
        f"status {RUN_ID} -1\n".encode(),
        f"status {RUN_ID} 1.5\n".encode(),
        f"status {RUN_ID} {10**40}\n".encode(),
        f"status {RUN_ID}\n".encode(),
        f"status {RUN_ID} 1 1\n".encode(),
        f"storage:{'E' * 99} {RUN_ID} 1\n".encode(),
    ],
    ids=repr,
)
def test_what_is_no_ring_is_left_out(layout: Layout, datagram: bytes) -> None:
    bell = Bell(layout)
    (path,) = sockets(layout.doorbells)
    send(path, datagram)
    send(path, GOOD)
    assert bell.receive() == [Ring(kind="status", run_id=RUN_ID, revision=1)]
    bell.close()


def test_a_flood_does_not_keep_a_listener_for_ever(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbell, "_RINGS_MAX", 3)
    bell = Bell(layout)
    bells = Bells(layout)
    for revision in range(5):
        bells.ring("status", RUN_ID, revision)
    assert [ring.revision for ring in bell.receive()] == [0, 1, 2]
    assert [ring.revision for ring in bell.receive()] == [3, 4]
    bell.close()
    bells.close()


def test_nobody_finds_a_bell_before_it_can_be_rung(layout: Layout) -> None:
    # Whoever rang it between its file and its readiness would take it for dead.
    with python(RINGS, layout.state_dir, RUN_ID) as ringer:
        assert ringer.stdout is not None
        assert ringer.stdout.readline() == "ringing\n"
        for _ in range(500):
            bell = Bell(layout)
            assert len(sockets(layout.doorbells)) == 1
            bell.close()
        ringer.kill()


def test_what_is_no_bell_is_neither_rung_nor_taken_down(layout: Layout, tmp_path: Path) -> None:
    real = tmp_path / "real"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as outside:
        with address(real) as short:
            outside.bind(short)
        outside.setblocking(False)
        Path(layout.doorbells, "1-link.sock").symlink_to(real)
        Path(layout.doorbells, "2-file.sock").write_text("")
        Path(layout.doorbells, "3-dir.sock").mkdir()
        os.mkfifo(Path(layout.doorbells, "4-fifo.sock"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
            with address(Path(layout.doorbells, "5-stream.sock")) as short:
                stream.bind(short)
            stream.listen()
            bells = Bells(layout)
            assert bells.ring("status", RUN_ID, 1) == 0
            bells.close()
        with pytest.raises(BlockingIOError):
            outside.recv(10)
    assert len(sockets(layout.doorbells)) == 5


def test_ringing_never_raises(layout: Layout, tmp_path: Path) -> None:
    bells = Bells(Layout(str(tmp_path / "nothing")))
    assert bells.ring("status", RUN_ID, 1) == 0
    assert not bells.ring_run(str(tmp_path / "nothing"))
    (tmp_path / "bell").symlink_to(tmp_path / "elsewhere")
    assert not bells.ring_run(str(tmp_path))
    bells.close()


def test_a_bell_that_cannot_be_hung_up_leaves_nothing(layout: Layout, tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Bell(Layout(str(tmp_path / "nothing")))
    run_dir = make_run(layout)
    Path(run_dir.path, "bell").mkdir()
    with pytest.raises(StorageError):
        RunBell(run_dir.path)
    assert not list(Path(run_dir.path).glob(".bell*"))
