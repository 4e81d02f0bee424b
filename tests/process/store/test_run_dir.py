"""A run directory is read as it was written, or told as damaged; only its leader writes it."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.dismissal import NEVER
from sidecar.core.errors import Bug, DamagedRun, NotFound, StorageError
from sidecar.core.events import Recorded
from sidecar.core.states import RunState
from sidecar.store import dismissals
from sidecar.store.layout import Layout
from sidecar.store.rundir import LeasedRunDir, RunDir
from tests.support import samples
from tests.support.stored import lead, make_run, output_of, python, stage_run


def damage(run_dir: RunDir) -> str:
    with pytest.raises(DamagedRun) as caught:
        run_dir.read_status()
    return caught.value.damage


def status_of(run_dir: RunDir) -> Path:
    return Path(run_dir.path) / "status.json"


def test_what_the_leader_writes_everybody_reads(layout: Layout) -> None:
    run_dir = make_run(layout)
    leader = lead(run_dir)
    leader.write_status(samples.ended(), durable=True)
    leader.write_result(samples.result())
    assert run_dir.run_id == samples.RUN_ID
    assert run_dir.read_request() == samples.launch()
    assert run_dir.read_status() == samples.ended()
    assert run_dir.read_result() == samples.result()


def test_a_run_that_is_not_over_has_no_result_and_was_never_hidden(layout: Layout) -> None:
    run_dir = make_run(layout)
    assert run_dir.read_result() is None
    assert run_dir.read_dismissal() == NEVER


def test_without_the_lease_nothing_is_written(layout: Layout) -> None:
    run_dir = make_run(layout)
    leader = lead(run_dir)
    leader.lease.release()
    with pytest.raises(Bug):
        leader.write_status(samples.ended(), durable=False)
    with pytest.raises(Bug):
        leader.write_result(samples.result())
    with pytest.raises(Bug):
        leader.append(Recorded(seq=2, at=1, event=samples.EVENTS[2]))
    assert run_dir.read_status() == samples.queued()
    assert run_dir.read_result() is None


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def with_mark(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def nuls(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "half": half,
    "zero": lambda path: path.write_bytes(b""),
    "brace": lambda path: path.write_bytes(b"{"),
    "mark": with_mark,
    "list": lambda path: path.write_bytes(b"[]"),
    "nuls": nuls,
    "missing": Path.unlink,
    "directory": directory,
    "fifo": fifo,
}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["status.json", "request.json", "result.json"])
def test_every_way_to_damage_a_document_is_told_and_nothing_is_touched(
    layout: Layout, name: str, how: str
) -> None:
    run_dir = make_run(layout)
    lead(run_dir).write_result(samples.result())
    path = Path(run_dir.path) / name
    DAMAGES[how](path)
    before = sorted((entry.name, entry.stat().st_mtime_ns) for entry in path.parent.iterdir())
    readers = {
        "status.json": run_dir.read_status,
        "request.json": run_dir.read_request,
        "result.json": run_dir.read_result,
    }
    if (name, how) == ("result.json", "missing"):
        assert run_dir.read_result() is None
        return
    with pytest.raises(DamagedRun) as caught:
        readers[name]()
    assert caught.value.path == str(path)
    assert caught.value.damage == ("foreign" if how in {"directory", "fifo"} else "corrupt")
    after = sorted((entry.name, entry.stat().st_mtime_ns) for entry in path.parent.iterdir())
    assert after == before


@pytest.mark.parametrize("left", [".status.json.1.2.tmp", "events.jsonl", "lease", None])
def test_a_missing_status_never_means_that_there_is_no_run(
    layout: Layout, left: str | None
) -> None:
    run_dir = make_run(layout)
    path = Path(run_dir.path)
    shutil.rmtree(path)
    path.mkdir(mode=0o700)
    if left is not None:
        (path / left).write_text("{}")
    assert damage(run_dir) == "corrupt"


def test_a_run_whose_directory_is_gone_is_not_found(layout: Layout) -> None:
    run_dir = make_run(layout)
    shutil.rmtree(run_dir.path)
    with pytest.raises(NotFound) as caught:
        run_dir.read_status()
    assert caught.value.run_id == samples.RUN_ID
    with pytest.raises(NotFound):
        run_dir.read_request()


def test_a_copied_directory_is_foreign(layout: Layout) -> None:
    run_dir = make_run(layout)
    copy = RunDir(layout.run_dir(samples.OTHER_ID))
    shutil.copytree(run_dir.path, copy.path)
    assert damage(copy) == "foreign"
    with pytest.raises(DamagedRun):
        copy.read_request()


def test_a_status_of_a_newer_version_is_told_as_that(layout: Layout) -> None:
    run_dir = make_run(layout)
    path = status_of(run_dir)
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":7'))
    assert damage(run_dir) == "future-format"


def test_what_may_not_be_read_is_told_as_unreadable(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = make_run(layout)
    whole = os.open

    def refuse(path: str, *args: int, **kwargs: int) -> int:
        if path == "status.json":
            raise PermissionError(13, "no")
        return whole(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    assert damage(run_dir) == "unreadable"


def test_a_linked_run_directory_is_neither_read_nor_written(layout: Layout, tmp_path: Path) -> None:
    run_dir = make_run(layout)
    leader = lead(run_dir)
    elsewhere = tmp_path / "elsewhere"
    Path(run_dir.path).rename(elsewhere)
    Path(run_dir.path).symlink_to(elsewhere)
    before = {path.name: path.read_bytes() for path in elsewhere.iterdir() if path.is_file()}
    assert damage(run_dir) == "foreign"
    for write in (
        lambda: leader.write_status(samples.ended(), durable=False),
        lambda: leader.write_result(samples.result()),
        lambda: leader.append(Recorded(seq=2, at=1, event=samples.EVENTS[2])),
        lambda: LeasedRunDir(run_dir.path, leader.lease).make_attempt(0, 1),
    ):
        with pytest.raises(StorageError):
            write()
    after = {path.name: path.read_bytes() for path in elsewhere.iterdir() if path.is_file()}
    assert after == before
    assert not (elsewhere / "steps").exists()


def test_a_link_in_the_place_of_a_status_is_not_read_and_the_next_write_heals_it(
    layout: Layout, canary: Path
) -> None:
    run_dir = make_run(layout)
    leader = lead(run_dir)
    status_of(run_dir).unlink()
    status_of(run_dir).symlink_to(canary)
    assert damage(run_dir) == "foreign"
    leader.write_status(samples.ended(), durable=False)
    assert canary.read_text() == "alive"
    assert run_dir.read_status() == samples.ended()


# --- stamps --------------------------------------------------------------------------------------


def test_each_version_of_a_status_has_a_stamp_of_its_own(layout: Layout) -> None:
    # Written as fast as can be: the same few inodes come again, and the clock hardly moves.
    run_dir = make_run(layout)
    leader = lead(run_dir)
    stamps = [run_dir.stamp()]
    for _ in range(200):
        leader.write_status(samples.queued(), durable=False)
        stamps.append(run_dir.stamp())
    assert len(set(stamps)) == len(stamps)


def test_the_next_leader_goes_on_with_stamps_of_its_own(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = make_run(layout)
    far = 4_000_000_000_000_000_000
    os.utime(status_of(run_dir), ns=(far, far))
    lead(run_dir).write_status(samples.queued(), durable=False)
    assert run_dir.stamp()[0][2] > far


def test_a_stamp_changes_with_a_dismissal(layout: Layout) -> None:
    run_dir = make_run(layout)
    before = run_dir.stamp()
    dismissals.write(run_dir.path, samples.dismissal())
    assert run_dir.stamp() != before


def test_a_stamp_of_nothing_can_be_had(layout: Layout) -> None:
    assert RunDir(layout.run_dir(samples.RUN_ID)).stamp() == ((0, 0, 0), (0, 0, 0))


# --- leaving nothing -----------------------------------------------------------------------------


def test_a_new_leader_removes_what_its_predecessor_left_half_written(layout: Layout) -> None:
    run_dir = make_run(layout)
    path = Path(run_dir.path)
    left = [".status.json.7.1.tmp", ".result.json.7.2.tmp", ".request.json.7.3.tmp"]
    kept = [".dismissed.json.7.4.tmp", "status.json.tmp", "steps.tmp"]
    for name in (*left, *kept):
        (path / name).write_text("half")
    lead(run_dir)
    names = {entry.name for entry in path.iterdir()}
    assert not names & set(left)
    assert set(kept) <= names  # others may be writing these


def test_a_staged_run_is_durable_as_a_whole_and_not_piece_by_piece(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def told(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)

    monkeypatch.setattr(os, "fdatasync", told)
    monkeypatch.setattr(os, "fsync", told)
    make_run(layout)
    run_id = samples.RUN_ID
    assert synced == [
        "request.json", "events.jsonl", "status.json", run_id, "active", "runs",
    ]  # fmt: skip


def test_a_led_run_is_durable_where_it_has_to_be(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = lead(make_run(layout))
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    leader.write_status(samples.running(), durable=False)
    leader.append(Recorded(seq=2, at=1, event=samples.EVENTS[2]))
    assert synced == []
    leader.write_result(samples.result())
    leader.write_status(samples.ended(), durable=True)
    assert len(synced) == 2


READER = """
import sys
from sidecar.store.rundir import RunDir
run_dir = RunDir(sys.argv[1])
seqs = []
print("reading", flush=True)
while not seqs or seqs[-1] < int(sys.argv[2]):
    seqs.append(run_dir.read_status().seq)
assert seqs == sorted(seqs), "went back"
print(len(seqs))
"""


def test_a_reader_sees_only_whole_versions_and_never_goes_back(layout: Layout) -> None:
    run_dir = make_run(layout)
    leader = lead(run_dir)
    with python(READER, run_dir.path, "1500") as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        for seq in range(1, 1501):
            leader.write_status(replace(samples.running(), seq=seq), durable=False)
        assert int(reader.stdout.readline()) > 0
    assert reader.returncode == 0


def test_reading_needs_no_rights_to_write(layout: Layout) -> None:
    run_dir = make_run(layout, run=samples.ended())
    program = """
import sys
from sidecar.store.rundir import RunDir
print(RunDir(sys.argv[1]).read_status().state)
"""
    assert output_of(program, run_dir.path).strip() == RunState.FAILED
    staged, lease = stage_run(layout, samples.OTHER_ID)
    assert staged.read_status() == samples.queued(samples.OTHER_ID)
    lease.release()
