"""A full disk loses nothing that was there, leaves nothing half, and passes."""

from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.errors import StorageError
from sidecar.core.events import OutputSeen, Recorded
from sidecar.store import dismissals, index, markers, staging
from sidecar.store.events import EventLog, read_events
from sidecar.store.inbox import Inbox, post
from sidecar.store.layout import Layout, open_state_dir
from sidecar.store.tokens import TokenLock
from tests.fault.store.conftest import Disk
from tests.support import samples
from tests.support.stored import lead, make_run, output_of

ORDER = "00000000000000000001-00000001"


def record(seq: int) -> Recorded:
    event = OutputSeen(step=0, attempt=1, stdout_bytes=seq, stderr_bytes=0)
    return Recorded(seq=seq, at=samples.NOW, event=event)


@pytest.fixture
def full(disk: Disk) -> tuple[Disk, Layout]:
    """Give a state directory on a disk that can be filled."""
    return disk, open_state_dir(str(disk.path / "state"))


def refused(exc: pytest.ExceptionInfo[StorageError]) -> bool:
    return exc.value.errno_name == "ENOSPC" and exc.value.hint is not None


def temps(layout: Layout) -> list[Path]:
    return list(Path(layout.state_dir).rglob("*.tmp"))


def test_documents_stand_until_there_is_room_for_the_next(full: tuple[Disk, Layout]) -> None:
    disk, layout = full
    run_dir = make_run(layout)
    leader = lead(run_dir)
    disk.fill()
    larger = replace(samples.running(), cwd="/" + "x" * 20_000)
    for _ in range(3):
        with pytest.raises(StorageError) as caught:
            leader.write_status(larger, durable=True)
        assert refused(caught)
        with pytest.raises(StorageError) as caught:
            leader.write_result(samples.result())
        assert refused(caught)
    assert run_dir.read_status() == samples.queued()
    assert run_dir.read_result() is None
    assert temps(layout) == []
    disk.clear()
    leader.write_result(samples.result())
    leader.write_status(larger, durable=True)
    assert run_dir.read_status() == larger
    assert run_dir.read_result() == samples.result()


def test_a_log_is_never_left_with_half_a_record(full: tuple[Disk, Layout]) -> None:
    disk, layout = full
    run_dir = make_run(layout)
    path = f"{run_dir.path}/events.jsonl"
    log = EventLog(path)
    disk.fill(leaving=4096)
    # Some pages of the log are there already: go on until a record is cut by the end of the disk.
    refusal = None
    while refusal is None:
        try:
            log.append(record(log.last_seq + 1))
        except StorageError as exc:
            refusal = exc
    seq = log.last_seq
    assert refusal.errno_name == "ENOSPC"
    data = Path(path).read_bytes()
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == seq
    with pytest.raises(StorageError):
        log.append(record(seq + 1))
    assert Path(path).read_bytes() == data
    disk.clear()
    log.append(record(seq + 1))
    log.close()
    page = read_events(path, 0, 100_000)
    assert [item.seq for item in page.events] == list(range(1, seq + 2))
    assert page.skipped == 0


def test_a_launch_is_refused_and_leaves_nothing(full: tuple[Disk, Layout]) -> None:
    disk, layout = full
    disk.fill()
    run_dir, lease = staging.stage(layout, samples.RUN_ID)  # tmpfs has room for names
    with pytest.raises(StorageError) as caught:
        run_dir.write_request(samples.launch())
    assert refused(caught)
    staging.withdraw(layout, samples.RUN_ID)
    lease.release()
    assert list(Path(layout.staging).iterdir()) == []
    assert markers.active_ids(layout) == []
    assert index.history_page(layout, 10).ids == ()


def test_a_command_that_cannot_be_kept_is_not_answered_for(full: tuple[Disk, Layout]) -> None:
    disk, layout = full
    run_dir = make_run(layout)
    disk.fill()
    with pytest.raises(StorageError) as caught:
        post(run_dir.path, "stop", samples.command(), order=ORDER)
    assert refused(caught)
    assert Inbox(run_dir.path).pending() == []
    assert temps(layout) == []
    disk.clear()
    post(run_dir.path, "stop", samples.command(), order=ORDER)
    assert [posted.command for posted in Inbox(run_dir.path).pending()] == [samples.command()]


def test_commands_can_be_finished_on_a_full_disk(full: tuple[Disk, Layout]) -> None:
    disk, layout = full
    run_dir = make_run(layout)
    command_id = post(run_dir.path, "stop", samples.command(), order=ORDER)
    disk.fill()
    inbox = Inbox(run_dir.path)
    assert len(inbox.pending()) == 1
    inbox.finish(command_id)
    assert inbox.pending() == []


def test_hiding_a_run_is_refused_and_counts_nothing(full: tuple[Disk, Layout]) -> None:
    disk, layout = full
    run_dir = make_run(layout)
    disk.fill()
    with pytest.raises(StorageError) as caught:
        dismissals.write(run_dir.path, samples.dismissal())
    assert refused(caught)
    disk.clear()
    assert dismissals.write(run_dir.path, samples.dismissal()).changes == 1


def test_a_token_that_could_not_be_bound_is_not_bound(full: tuple[Disk, Layout]) -> None:
    disk, layout = full
    disk.fill()
    with TokenLock(layout, "a" * 64) as token, pytest.raises(StorageError) as caught:
        token.bind(samples.RUN_ID)
    assert refused(caught)
    disk.clear()
    with TokenLock(layout, "a" * 64) as token:
        assert token.run_id is None
        token.bind(samples.RUN_ID)


FILE_TOO_LARGE = """
import resource, sys
from sidecar.core.errors import StorageError
from sidecar.store.events import EventLog, read_events
from tests.fault.store.test_full_disk import record
log = EventLog(sys.argv[1])
log.append(record(1))
size = resource.getrlimit(resource.RLIMIT_FSIZE)
for bytes_left in range(1, 100, 7):
    before = open(sys.argv[1], "rb").read()
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + bytes_left, size[1]))
    try:
        log.append(record(log.last_seq + 1))
    except StorageError as exc:
        assert exc.errno_name == "EFBIG", exc
        assert open(sys.argv[1], "rb").read() == before
        print("cut")
    resource.setrlimit(resource.RLIMIT_FSIZE, size)
    log.append(record(log.last_seq + 1))
page = read_events(sys.argv[1], 0, 1000)
assert page.skipped == 0
assert [item.seq for item in page.events] == list(range(1, log.last_seq + 1))
"""


def test_a_record_that_is_cut_anywhere_is_taken_back_whole(tmp_path: Path) -> None:
    said = output_of(FILE_TOO_LARGE, tmp_path / "log")
    assert said.count("cut") >= 10
