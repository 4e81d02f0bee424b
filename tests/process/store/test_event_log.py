"""The log survives torn tails, foreign lines and its own size, and its numbers only grow."""

import contextlib
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.core.errors import DamagedRun, StorageError
from sidecar.core.events import OutputSeen, Recorded
from sidecar.store import codec, events
from sidecar.store.events import EventLog, EventsPage, read_events
from tests.support import samples

TRACEBACK = b"Traceback (most recent call last):\n  dir(parent)\n"


def record(seq: int) -> Recorded:
    return Recorded(
        seq=seq,
        at=samples.NOW + seq,
        event=OutputSeen(step=0, attempt=1, stdout_bytes=seq, stderr_bytes=0),
    )


def line(seq: int) -> bytes:
    return codec.encode_recorded(record(seq))


def seqs(path: Path, after_seq: int = 0, limit: int = 1000) -> list[int]:
    return [item.seq for item in read_events(str(path), after_seq, limit).events]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[EventLog]:
    log = EventLog(str(path))
    try:
        yield log
    finally:
        log.close()


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    """Give a log of three records."""
    path = tmp_path / "events.jsonl"
    with opened(path) as log:
        for seq in (1, 2, 3):
            log.append(record(seq))
    return path


def test_what_is_appended_is_read_in_order(log_file: Path) -> None:
    page = read_events(str(log_file), 0, 1000)
    assert page == EventsPage(events=(record(1), record(2), record(3)), last_seq=3, skipped=0)


def test_every_kind_of_event_goes_through_the_log(tmp_path: Path) -> None:
    with opened(tmp_path / "log") as log:
        for item in samples.recorded():
            log.append(item)
    assert read_events(str(tmp_path / "log"), 0, 1000).events == samples.recorded()


def test_pages_follow_one_another_without_a_gap(log_file: Path) -> None:
    with opened(log_file) as log:
        for seq in range(4, 11):
            log.append(record(seq))
    found: list[int] = []
    after = 0
    while True:
        page = read_events(str(log_file), after, 4)
        if not page.events:
            break
        assert page.last_seq == page.events[-1].seq
        found += [item.seq for item in page.events]
        after = page.last_seq
    assert found == list(range(1, 11))
    assert page.last_seq == 10
    assert read_events(str(log_file), 99, 4) == EventsPage(events=(), last_seq=99, skipped=0)
    assert seqs(log_file, 2, 0) == []


def test_a_missing_log_is_empty_and_is_not_made_by_reading(tmp_path: Path) -> None:
    page = read_events(str(tmp_path / "log"), 7, 10)
    assert page == EventsPage(events=(), last_seq=7, skipped=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", range(1, len(line(3)) + 1))
def test_a_torn_tail_of_any_length_is_left_alone_and_never_glued_to_the_next_record(
    log_file: Path, cut: int
) -> None:
    data = log_file.read_bytes()
    log_file.write_bytes(data[:-cut])
    torn = log_file.read_bytes()
    assert read_events(str(log_file), 0, 10) == EventsPage(
        events=(record(1), record(2)), last_seq=2, skipped=0
    )
    assert log_file.read_bytes() == torn  # reading repairs nothing
    with opened(log_file) as log:
        assert log.last_seq == 2
        # Other words under the same number: the torn ones never counted, complete or not.
        again = Recorded(seq=3, at=1, event=samples.EVENTS[3])
        log.append(again)
        log.append(record(4))
    page = read_events(str(log_file), 0, 10)
    assert page.events == (record(1), record(2), again, record(4))
    assert page.skipped == (0 if cut == len(line(3)) else 1)


def test_numbers_go_on_after_a_torn_tail(log_file: Path) -> None:
    with log_file.open("ab") as file:
        file.write(b'{"format":1,"se')
    with opened(log_file) as log:
        assert log.last_seq == 3


def test_half_a_line_is_read_once_it_is_whole(log_file: Path) -> None:
    # Cut within a character of two bytes.
    stop = Recorded(seq=4, at=1, event=samples.EVENTS[6])
    whole = codec.encode_recorded(stop).replace(b"enough", "caf\u00e9".encode())
    half = whole.index("\u00e9".encode()) + 1
    with log_file.open("ab") as file:
        file.write(whole[:half])
    assert read_events(str(log_file), 3, 10) == EventsPage(events=(), last_seq=3, skipped=0)
    with log_file.open("ab") as file:
        file.write(whole[half:])
    page = read_events(str(log_file), 3, 10)
    assert page.events == (codec.decode_recorded(whole, ""),)
    assert read_events(str(log_file), page.last_seq, 10).events == ()


def test_foreign_lines_are_passed_over_and_counted(log_file: Path) -> None:
    with log_file.open("ab") as file:
        file.write(TRACEBACK + b"\n" + b"{}\n" + b"\xff\xfe\n" + bytes(100) + b"\n")
    with opened(log_file) as log:
        assert log.last_seq == 3
        log.append(record(4))
    page = read_events(str(log_file), 0, 10)
    assert [item.seq for item in page.events] == [1, 2, 3, 4]
    assert page.skipped == 6


def test_what_a_newer_version_wrote_is_passed_over_and_counted(log_file: Path) -> None:
    with log_file.open("ab") as file:
        file.write(line(4).replace(b'"format":1', b'"format":2') + line(5))
    page = read_events(str(log_file), 0, 10)
    assert [item.seq for item in page.events] == [1, 2, 3, 5]
    assert page.skipped == 1


def test_a_record_that_comes_again_is_not_told_twice(log_file: Path) -> None:
    with log_file.open("ab") as file:
        file.write(line(2) + line(3) + line(4))
    page = read_events(str(log_file), 0, 10)
    assert [item.seq for item in page.events] == [1, 2, 3, 4]
    assert page.skipped == 2


def test_appending_the_same_record_twice_is_harmless(log_file: Path) -> None:
    with opened(log_file) as log:
        log.append(record(3))
        log.append(record(4))
        log.append(record(4))
    assert seqs(log_file) == [1, 2, 3, 4]
    assert read_events(str(log_file), 0, 10).skipped == 0


def test_a_line_without_end_is_neither_kept_in_memory_nor_in_the_way(
    log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "RECORD_MAX_BYTES", 1000)
    monkeypatch.setattr(events, "_CHUNK", 256)
    with log_file.open("ab") as file:
        file.write(b"x" * 100_000 + b"\n" + line(4) + b"y" * 100_000)
    tracemalloc.start()
    assert seqs(log_file) == [1, 2, 3, 4]
    with opened(log_file) as log:
        assert log.last_seq == 4
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000
    assert read_events(str(log_file), 0, 10).skipped == 2  # the writer ended the second one


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a log of 20,000 records with foreign lines between them."""
    path = tmp_path_factory.mktemp("long") / "events.jsonl"
    with path.open("wb") as file:
        for seq in range(1, 20_001):
            file.write(line(seq))
            if seq % 100 == 0:
                file.write(TRACEBACK)
    return path


@pytest.mark.parametrize("after", [0, 1, 99, 100, 7_777, 19_899, 19_998, 19_999, 20_000])
def test_any_place_of_a_long_log_is_found_by_halving(
    long_log: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    whole = os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        read.append(size)
        return whole(fd, size, offset)

    monkeypatch.setattr(os, "pread", counted)
    expected = list(range(after + 1, min(after + 11, 20_001)))
    assert seqs(long_log, after, 10) == expected
    assert sum(read) < 300_000 < long_log.stat().st_size / 5


def test_the_last_number_of_a_long_log_is_found_at_its_end(
    long_log: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(long_log.read_bytes() + b"z" * 50_000)
    read: list[int] = []
    whole = os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        read.append(size)
        return whole(fd, size, offset)

    monkeypatch.setattr(os, "pread", counted)
    with opened(path) as log:
        assert log.last_seq == 20_000
    assert sum(read) < long_log.stat().st_size / 4


@pytest.mark.parametrize("what", ["link", "directory", "fifo"])
def test_what_is_no_log_is_neither_read_nor_written(
    tmp_path: Path, canary: Path, what: str
) -> None:
    path = tmp_path / "log"
    if what == "link":
        path.symlink_to(canary)
    elif what == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(DamagedRun) as caught:
        read_events(str(path), 0, 10)
    assert caught.value.damage == "foreign"
    with pytest.raises(StorageError):
        EventLog(str(path))
    assert canary.read_text() == "alive"
