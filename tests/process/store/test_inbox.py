"""A command that was answered for survives, is acted on in order, and nothing else ever is."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.commands import Posted, StopCommand
from sidecar.core.errors import Bug, NotFound, StorageError
from sidecar.store import codec, retire
from sidecar.store.inbox import Inbox, post
from sidecar.store.layout import Layout
from sidecar.store.rundir import RunDir
from tests.support import samples
from tests.support.stored import make_run


def order(number: int) -> str:
    return f"{number:020d}-{number:08x}"


def stop(reason: str) -> StopCommand:
    return replace(samples.command(), reason=reason)


def put(run_dir: RunDir, number: int) -> Posted:
    command = stop(str(number))
    command_id = post(run_dir.path, "stop", command, order=order(number))
    return Posted(command_id=command_id, command=command)


@pytest.fixture
def run_dir(layout: Layout) -> RunDir:
    """Give a run that nobody leads."""
    return make_run(layout)


def folder(run_dir: RunDir, name: str = "inbox") -> Path:
    return Path(run_dir.path) / name


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir()) if path.exists() else []


def test_commands_come_in_the_order_of_their_names(run_dir: RunDir) -> None:
    posted = [put(run_dir, number) for number in (3, 1, 2)]
    assert Inbox(run_dir.path).pending() == [posted[1], posted[2], posted[0]]
    assert posted[0].command_id == f"{order(3)}-stop.json"


def test_a_command_is_durable_before_its_sender_is_answered(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def told(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)

    monkeypatch.setattr(os, "fdatasync", told)
    monkeypatch.setattr(os, "fsync", told)
    put(run_dir, 1)
    assert len(synced) == 2
    assert synced[0].startswith(f".{order(1)}-stop.json.")
    assert synced[1] == "inbox"


def test_a_command_stays_until_it_took_effect(run_dir: RunDir) -> None:
    posted = put(run_dir, 1)
    assert Inbox(run_dir.path).pending() == [posted]
    # The runner dies here; the next one finds it again.
    inbox = Inbox(run_dir.path)
    assert inbox.pending() == [posted]
    inbox.finish(posted.command_id)
    inbox.finish(posted.command_id)
    assert inbox.pending() == []
    assert Inbox(run_dir.path).pending() == []
    assert names(folder(run_dir, "inbox/done")) == [posted.command_id]


@pytest.mark.parametrize("command_id", ["../status.json", "done", "x.json", "1-stop.json/../../y"])
def test_only_a_command_can_be_finished(run_dir: RunDir, command_id: str) -> None:
    with pytest.raises(Bug):
        Inbox(run_dir.path).finish(command_id)


@pytest.mark.parametrize("odd", ["", "../1", "1/2", "x-1", ".1"])
def test_only_a_time_and_chance_make_an_order(run_dir: RunDir, odd: str) -> None:
    with pytest.raises(Bug):
        post(run_dir.path, "stop", stop("x"), order=odd)
    with pytest.raises(Bug):
        post(run_dir.path, "go", stop("x"), order=order(1))


def test_what_is_being_written_is_not_looked_at(run_dir: RunDir) -> None:
    (folder(run_dir) / f".{order(1)}-stop.json.7.1.tmp").write_bytes(b'{"format":1,')
    inbox = Inbox(run_dir.path)
    assert inbox.pending() == []
    assert inbox.refused == []


# --- what is refused -----------------------------------------------------------------------------


def good_bytes(path: Path, _: Path) -> None:
    path.write_bytes(codec.encode_command(stop("x")))


def half(path: Path, _: Path) -> None:
    path.write_bytes(codec.encode_command(stop("x"))[:-20])


def newer(path: Path, _: Path) -> None:
    path.write_bytes(codec.encode_command(stop("x")).replace(b'"format":1', b'"format":2'))


def other_kind(path: Path, _: Path) -> None:
    path.write_bytes(codec.encode_command(stop("x")).replace(b'"stop"', b'"go"'))


def too_large(path: Path, _: Path) -> None:
    path.write_bytes(codec.encode_command(stop("x" * 2_000_000)))


def link(path: Path, good: Path) -> None:
    path.symlink_to(good)


def hard_link(path: Path, good: Path) -> None:
    path.hardlink_to(good)


def fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def directory(path: Path, _: Path) -> None:
    path.mkdir()
    (path / "inside").touch()


ODD: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "half": (f"{order(5)}-stop.json", half),
    "empty": (f"{order(5)}-stop.json", lambda path, _: path.touch()),
    "newer": (f"{order(5)}-stop.json", newer),
    "unknown kind": (f"{order(5)}-stop.json", other_kind),
    "too large": (f"{order(5)}-stop.json", too_large),
    "a link": (f"{order(5)}-stop.json", link),
    "a hard link": (f"{order(5)}-stop.json", hard_link),
    "a FIFO": (f"{order(5)}-stop.json", fifo),
    "a directory": (f"{order(5)}-stop.json", directory),
    "not what its name says": (
        f"{order(5)}-steer.json",
        good_bytes,
    ),
    "no name of a command": (
        "stop.json",
        good_bytes,
    ),
    "anything": ("README", lambda path, _: path.touch()),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_no_command_is_put_aside_once_and_never_acted_on(
    run_dir: RunDir, tmp_path: Path, what: str
) -> None:
    good = put(run_dir, 9)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(codec.encode_command(stop("not yours")))
    name, make = ODD[what]
    make(folder(run_dir) / name, elsewhere)
    inbox = Inbox(run_dir.path)
    assert inbox.pending() == [good]
    assert len(inbox.refused) == 1
    assert inbox.pending() == [good]
    assert len(inbox.refused) == 1
    assert names(folder(run_dir, "inbox/refused")) == [name]
    assert elsewhere.read_bytes() == codec.encode_command(stop("not yours"))


def test_a_file_of_somebody_else_is_not_obeyed(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(run_dir, 1)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    inbox = Inbox(run_dir.path)
    assert inbox.pending() == []
    assert inbox.refused[0].startswith("foreign: ")


def test_what_cannot_even_be_put_aside_is_not_looked_at_again(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder(run_dir) / "odd").touch()

    def refuse(*_: object) -> None:
        raise OSError(30, "read-only")

    monkeypatch.setattr(os, "rename", refuse)
    inbox = Inbox(run_dir.path)
    assert inbox.pending() == []
    assert inbox.pending() == []
    assert len(inbox.refused) == 1


@pytest.mark.parametrize("number", [24, 23, 12, 5, 13])
def test_what_cannot_be_read_for_the_moment_is_tried_again(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    posted = put(run_dir, 1)
    inbox = Inbox(run_dir.path)
    whole = os.open

    def refuse(path: str, *args: int, **kwargs: int) -> int:
        if path == posted.command_id:
            raise OSError(number, "not now")
        return whole(path, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        assert inbox.pending() == []
    assert inbox.pending() == [posted]
    assert inbox.refused == []


def test_an_inbox_that_cannot_be_listed_is_tried_again(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted = put(run_dir, 1)
    inbox = Inbox(run_dir.path)

    def refuse(*_: object) -> None:
        raise OSError(24, "no descriptors")

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", refuse)
        assert inbox.pending() == []
    assert inbox.pending() == [posted]


# --- where nobody reads --------------------------------------------------------------------------


def test_a_run_that_is_gone_takes_no_commands(run_dir: RunDir) -> None:
    shutil.rmtree(run_dir.path)
    with pytest.raises(NotFound) as caught:
        put(run_dir, 1)
    assert caught.value.run_id == samples.RUN_ID


def test_a_command_that_lands_in_a_tombstone_is_not_answered_for(
    layout: Layout, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.fdatasync

    def buried_meanwhile(fd: int) -> None:
        retire.bury(layout, run_dir.path, run_dir.run_id)
        whole(fd)

    monkeypatch.setattr(os, "fdatasync", buried_meanwhile)
    with pytest.raises(NotFound):
        put(run_dir, 1)


@pytest.mark.parametrize("part", ["", "inbox"])
def test_a_linked_inbox_is_neither_written_nor_read(
    run_dir: RunDir, tmp_path: Path, part: str
) -> None:
    put(run_dir, 1)
    place = Path(run_dir.path, part)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    with pytest.raises(StorageError):
        put(run_dir, 2)
    assert Inbox(run_dir.path).pending() == []
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before
