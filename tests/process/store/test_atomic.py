"""A file is written whole or not at all, privately, and no link, FIFO or trap leads astray."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.core.errors import DamagedRun, StorageError
from sidecar.store import atomic


def replace(path: Path, data: bytes = b"new") -> None:
    atomic.replace_file(str(path), data, durable=False)


def read(path: Path) -> bytes:
    return atomic.read_file(str(path), max_bytes=1000)


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777], ids=oct)
def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        replace(tmp_path / "replaced")
        os.close(atomic.open_for_writing(str(tmp_path / "log"), appending=True))
        atomic.mkdir_private(str(tmp_path), "dir")
    finally:
        os.umask(before)
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()}
    assert modes == {"replaced": 0o600, "log": 0o600, "dir": 0o700}


def test_a_loose_mode_is_tightened_by_the_next_write(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    (tmp_path / "log").chmod(0o644)
    os.close(atomic.open_for_writing(str(tmp_path / "log"), appending=True))
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_bytes_that_the_system_takes_one_by_one_all_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:1]))
    replace(tmp_path / "replaced", b"every byte of it")
    fd = atomic.open_for_writing(str(tmp_path / "log"), appending=True)
    atomic.append(fd, b"every byte of it")
    os.close(fd)
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"every byte of it"}


def test_durable_means_the_bytes_first_then_the_name_then_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def told(name: str) -> Callable[..., None]:
        real = getattr(os, name)

        def call(*args: object, **kwargs: object) -> None:
            calls.append(name)
            real(*args, **kwargs)

        return call

    for name in ("fdatasync", "rename", "fsync"):
        monkeypatch.setattr(os, name, told(name))
    atomic.replace_file(str(tmp_path / "file"), b"x", durable=True)
    assert calls == ["fdatasync", "rename", "fsync"]
    calls.clear()
    atomic.replace_file(str(tmp_path / "file"), b"x", durable=False)
    assert calls == ["rename"]


def test_each_version_can_be_made_later_than_the_last(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    times = [0]
    for _ in range(50):
        times.append(atomic.replace_file(path, b"x", durable=False, later_than_ns=times[-1]))
        assert os.stat(path).st_mtime_ns == times[-1]  # noqa: PTH116
    assert times == sorted(set(times))


@pytest.mark.parametrize("fails", ["write", "fdatasync", "rename", "fsync"])
def test_a_refused_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    replace(tmp_path / "file", b"old")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "no space")

    with monkeypatch.context() as patched:
        patched.setattr(os, fails, refuse)
        with pytest.raises(StorageError) as caught:
            atomic.replace_file(str(tmp_path / "file"), b"new", durable=True)
    assert caught.value.errno_name == "ENOSPC"
    assert caught.value.message == f"cannot write (ENOSPC): {tmp_path / 'file'}"
    assert caught.value.hint == "make room on that file system"
    assert names(tmp_path) == ["file"]
    # Once renamed it is in its place, though not yet durable: the caller tries again.
    assert read(tmp_path / "file") == (b"new" if fails == "fsync" else b"old")


def test_a_link_in_the_place_of_a_document_is_replaced_and_not_followed(
    tmp_path: Path, canary: Path
) -> None:
    (tmp_path / "file").symlink_to(canary)
    replace(tmp_path / "file")
    assert canary.read_text() == "alive"
    assert not (tmp_path / "file").is_symlink()
    assert read(tmp_path / "file") == b"new"


def test_links_planted_under_the_names_of_temporary_files_are_passed_over(
    tmp_path: Path, canary: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    replace(folder / "probe")
    first = next(atomic._counter)
    planted = [f".file.{os.getpid()}.{first + n}.tmp" for n in range(1, 20)]
    for name in planted:
        (folder / name).symlink_to(canary)
    replace(folder / "file")
    assert canary.read_text() == "alive"
    assert read(folder / "file") == b"new"
    assert all((folder / name).is_symlink() for name in planted)


@pytest.mark.parametrize("how", ["write", "log", "read", "mkdir-inside", "sync"])
def test_a_linked_directory_is_not_entered(tmp_path: Path, how: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("theirs")
    (tmp_path / "link").symlink_to(elsewhere)
    path = str(tmp_path / "link" / "file")
    doing: dict[str, Callable[[], object]] = {
        "write": lambda: atomic.replace_file(path, b"x", durable=False),
        "log": lambda: atomic.open_for_writing(path, appending=True),
        "read": lambda: atomic.read_file(path, max_bytes=10),
        "mkdir-inside": lambda: atomic.mkdir_private(str(tmp_path), "link", "inside"),
        "sync": lambda: atomic.sync_dir(str(tmp_path / "link")),
    }
    with pytest.raises((StorageError, DamagedRun)):
        doing[how]()
    assert names(elsewhere) == ["file"]
    assert (elsewhere / "file").read_text() == "theirs"


def test_a_directory_in_the_place_of_a_document_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(StorageError) as caught:
        replace(tmp_path / "file")
    assert caught.value.errno_name == "EISDIR"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("target", ["link", "dangling", "directory", "fifo", "socket"])
def test_what_is_no_file_is_neither_read_nor_waited_for(
    tmp_path: Path, canary: Path, target: str
) -> None:
    path = tmp_path / "name"
    _make(target, path, canary)
    with pytest.raises(DamagedRun) as caught:
        read(path)
    assert caught.value.damage == "foreign"
    assert caught.value.path == str(path)


@pytest.mark.parametrize("target", ["link", "dangling", "directory", "fifo", "socket"])
def test_what_is_no_file_is_not_written_to(tmp_path: Path, canary: Path, target: str) -> None:
    path = tmp_path / "name"
    _make(target, path, canary)
    with pytest.raises(StorageError):
        atomic.open_for_writing(str(path), appending=False)
    assert canary.read_text() == "alive"


def test_a_device_is_not_read() -> None:
    with pytest.raises(DamagedRun) as caught:
        read(Path("/dev/zero"))
    assert caught.value.damage == "foreign"


def test_a_missing_file_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "no" / "nothing")


@pytest.mark.parametrize("size", [0, 1, 999, 1000])
def test_a_file_is_read_whole_up_to_the_bound(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(b"x" * size)
    assert read(tmp_path / "file") == b"x" * size


def test_a_file_beyond_the_bound_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1001)
    with pytest.raises(DamagedRun) as caught:
        read(tmp_path / "file")
    assert caught.value.damage == "corrupt"


def test_a_file_that_says_nothing_of_its_size_is_read_to_its_end() -> None:
    assert atomic.read_file(f"/proc/{os.getpid()}/status", max_bytes=100_000).startswith(b"Name:")


def test_an_append_that_is_cut_short_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fd = atomic.open_for_writing(str(tmp_path / "log"), appending=True)
    atomic.append(fd, b"first\n")
    whole = os.write

    def full_after_three(fd: int, data: memoryview) -> int:
        if bytes(data) == b"second\n":
            return whole(fd, data[:3])
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "write", full_after_three)
    with pytest.raises(StorageError):
        atomic.append(fd, b"second\n")
    monkeypatch.undo()
    atomic.append(fd, b"third\n")
    os.close(fd)
    assert (tmp_path / "log").read_bytes() == b"first\nthird\n"


def _make(target: str, path: Path, canary: Path) -> None:
    match target:
        case "file":
            path.write_text("theirs")
        case "link":
            path.symlink_to(canary)
        case "dangling":
            path.symlink_to(path.with_name("nothing"))
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(str(path))
