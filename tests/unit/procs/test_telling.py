"""A finding is durable before it is told, told though it cannot be recorded, and recorded once."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sidecar.procs import telling

if TYPE_CHECKING:
    from sidecar.procs.lines import Fact

FIRST: "Fact" = ("spawning", 10, 100, "boot", 1)
EXITED: "Fact" = ("exited", "code", 0, 2)
PROOF: "Fact" = ("proof", "observed", "subreaper", 0, 3)


class Desk:
    """A teller, the runner's end of its socket, and the directory of its record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder_fd = os.open(folder, os.O_RDONLY)
        self.runner, theirs = socket.socketpair()
        theirs.setblocking(False)
        self.teller = telling.Teller(theirs.detach())
        self.teller.open_record(self.folder_fd, FIRST)

    def record(self) -> bytes:
        """All that is on record."""
        return (self.folder / telling.RECORD).read_bytes()

    def is_behind(self) -> bool:
        """Whether the record lacks something, asked anew."""
        return self.teller.unwritten

    def has_more_to_say(self) -> bool:
        """Whether the runner has not been sent everything, asked anew."""
        return self.teller.unsent

    def close(self) -> None:
        """Close all."""
        self.runner.close()
        self.teller.close_record()
        os.close(self.teller.sock_fd)
        os.close(self.folder_fd)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def test_record_is_synced_before_the_runner_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(_: int) -> None:
        assert desk.record() == b"spawning 10 100 boot 1\nexited code 0 2\n"
        with pytest.raises(BlockingIOError):
            desk.runner.recv(100, socket.MSG_DONTWAIT)
        synced.append(True)

    synced: list[bool] = []
    monkeypatch.setattr(telling, "_sync", sync)
    desk.teller.tell(EXITED, durable=True)
    assert synced == [True]
    assert desk.runner.recv(100) == b"exited code 0 2\n"


def test_refused_record_is_told_all_the_same_and_written_later(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, sock_fd = os.write, desk.teller.sock_fd

    def refuse(fd: int, data: bytes) -> int:
        if fd == sock_fd:
            return write(fd, data)
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as full:
        full.setattr("posix.write", refuse)
        desk.teller.tell(EXITED, durable=True)
        desk.teller.tell(PROOF, durable=True)
        assert not desk.teller.flush()
    assert desk.runner.recv(100) == b"exited code 0 2\nproof observed subreaper 0 3\n"
    assert desk.is_behind()
    assert desk.record() == b"spawning 10 100 boot 1\n"
    assert desk.teller.flush()
    assert not desk.is_behind()
    assert desk.record().splitlines()[1:] == [b"exited code 0 2", b"proof observed subreaper 0 3"]


def test_record_cut_by_a_full_disk_goes_on_where_it_was_cut(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, sock_fd, room = os.write, desk.teller.sock_fd, [5]

    def write_some(fd: int, data: bytes) -> int:
        if fd == sock_fd:
            return write(fd, data)
        if room[0] == 0:
            raise OSError(errno.ENOSPC, "full")
        n_bytes = write(fd, data[: room[0]])
        room[0] -= n_bytes
        return n_bytes

    with monkeypatch.context() as full:
        full.setattr("posix.write", write_some)
        desk.teller.tell(EXITED, durable=True)
    assert desk.record() == b"spawning 10 100 boot 1\nexite"
    assert desk.teller.flush()
    assert desk.record() == b"spawning 10 100 boot 1\nexited code 0 2\n"


def test_unsynced_record_is_behind_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EIO, "no")

    with monkeypatch.context() as broken:
        broken.setattr(telling, "_sync", refuse)
        desk.teller.tell(EXITED, durable=True)
        assert desk.is_behind()
    assert desk.teller.flush()
    assert desk.record() == b"spawning 10 100 boot 1\nexited code 0 2\n"


def test_record_is_locked_before_it_can_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link
    locked: list[bool] = []

    def look_then_link(draft: str, name: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        with (tmp_path / draft).open("rb") as file:
            assert file.read() == b"spawning 10 100 boot 1\n"
            with pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        locked.append(True)
        link(draft, name, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr("posix.link", look_then_link)
    Desk(tmp_path).close()
    assert locked == [True]
    assert [path.name for path in tmp_path.iterdir()] == [telling.RECORD]


def test_record_appears_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr("posix.link", refuse)
    desk = Desk(tmp_path)
    assert desk.record() == b"spawning 10 100 boot 1\n"
    desk.close()


def test_second_warden_is_refused_and_changes_nothing(desk: Desk) -> None:
    with pytest.raises(FileExistsError):
        telling.Teller(-1).open_record(desk.folder_fd, FIRST)
    assert [path.name for path in desk.folder.iterdir()] == [telling.RECORD]
    assert desk.record() == b"spawning 10 100 boot 1\n"


def test_lock_waits_for_a_prober(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    flock = fcntl.flock

    def busy_at_first(fd: int, operation: int) -> None:
        tries.append(operation)
        if len(tries) < 4:
            raise BlockingIOError(errno.EAGAIN, "held")
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", busy_at_first)
    Desk(tmp_path).close()
    assert len(tries) == 4


def test_farewell_is_heard_though_the_runner_has_left(desk: Desk) -> None:
    desk.runner.sendall(b"end 3000\nbye\n")
    desk.runner.close()
    desk.teller.tell(EXITED, durable=False)
    assert not desk.has_more_to_say()
    assert not desk.teller.is_deaf
    assert desk.teller.hear() == [["end", "3000"], ["bye"]]
    assert desk.teller.is_deaf


def test_words_are_heard_however_they_are_cut(desk: Desk) -> None:
    heard = []
    for byte in b"end 10\nsignal 2\nby":
        desk.runner.sendall(bytes([byte]))
        heard += desk.teller.hear()
    assert heard == [["end", "10"], ["signal", "2"]]
    desk.runner.sendall(b"e\n")
    assert desk.teller.hear() == [["bye"]]


def test_runner_that_does_not_listen_blocks_nobody(desk: Desk) -> None:
    for _ in range(20_000):
        desk.teller.tell(PROOF, durable=False)
    assert desk.has_more_to_say()
    received = b""
    desk.runner.settimeout(5)
    while desk.has_more_to_say() or len(received) < 20_000 * 29:
        received += desk.runner.recv(1 << 20)
        desk.teller.send()
    assert received == b"proof observed subreaper 0 3\n" * 20_000
