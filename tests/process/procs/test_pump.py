"""Bytes go from pipe to log once each, whatever the disk says and whoever is killed in between."""

import errno
import fcntl
import functools
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.procs import pump
from tests.support.wait import wait_until

BOTH_WAYS = pytest.mark.parametrize("splices", [True, False], ids=["splice", "read-write"])

# Every byte value, NULs and no UTF-8 among them, in no period that a lost page could hide in.
PATTERN = random.Random(7).randbytes(99_991) + bytes(range(256))


class Ends:
    """A pipe with a non-blocking reading end, and a log."""

    def __init__(self, log: Path) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        self.log = log
        self.log_fd = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)

    def end_input(self) -> None:
        """Close the writing end, once."""
        if self.write_fd >= 0:
            os.close(self.write_fd)
            self.write_fd = -1

    def close(self) -> None:
        """Close all."""
        self.end_input()
        os.close(self.read_fd)
        os.close(self.log_fd)


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    made = Ends(tmp_path / "log")
    yield made
    made.close()


@BOTH_WAYS
def test_states_of_an_empty_a_filled_and_an_ended_pipe(ends: Ends, splices: bool) -> None:
    moving = pump.Pump(ends.read_fd, ends.log_fd, splices=splices)
    assert (moving.step(), moving.size) == (pump.OPEN, 0)
    os.write(ends.write_fd, b"first\n")
    assert (moving.step(), moving.size) == (pump.OPEN, 6)
    os.write(ends.write_fd, b"second, without an end")
    ends.end_input()
    assert (moving.step(), moving.size) == (pump.EOF, 28)
    assert (moving.step(), moving.size) == (pump.EOF, 28)
    assert ends.log.read_bytes() == b"first\nsecond, without an end"


@BOTH_WAYS
def test_step_stops_at_its_limit(ends: Ends, splices: bool) -> None:
    os.write(ends.write_fd, b"x" * 50_000)
    moving = pump.Pump(ends.read_fd, ends.log_fd, splices=splices)
    assert moving.step(10_000) == pump.OPEN
    assert 10_000 <= moving.size < 50_000
    while moving.size < 50_000:
        moving.step(10_000)
    assert ends.log.read_bytes() == b"x" * 50_000


@BOTH_WAYS
def test_log_is_continued_where_it_ends(ends: Ends, splices: bool) -> None:
    ends.log.write_bytes(b"from an earlier runner\n")
    os.write(ends.write_fd, b"and from this one\n")
    moving = pump.Pump(ends.read_fd, ends.log_fd, splices=splices)
    assert moving.size == 23
    moving.step()
    assert ends.log.read_bytes() == b"from an earlier runner\nand from this one\n"


def test_log_for_appending_is_refused(tmp_path: Path, ends: Ends) -> None:
    fd = os.open(tmp_path / "log", os.O_WRONLY | os.O_APPEND)
    with pytest.raises(ValueError, match="append"):
        pump.Pump(ends.read_fd, fd)
    os.close(fd)


def test_descriptor_that_is_none_is_our_mistake(ends: Ends) -> None:
    moving = pump.Pump(999, ends.log_fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        moving.step()


def test_source_that_cannot_be_spliced_is_read_instead(tmp_path: Path) -> None:
    # Both are files: splice wants a pipe on one side and says EINVAL.
    (tmp_path / "source").write_bytes(PATTERN)
    source_fd = os.open(tmp_path / "source", os.O_RDONLY)
    log_fd = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT, 0o600)
    moving = pump.Pump(source_fd, log_fd)
    while moving.step() != pump.EOF:
        pass
    assert (tmp_path / "log").read_bytes() == PATTERN
    os.close(source_fd)
    os.close(log_fd)


@BOTH_WAYS
def test_hundred_megabytes_arrive_byte_for_byte(ends: Ends, splices: bool) -> None:
    n_patterns = 100_000_000 // len(PATTERN) + 1
    expected = hashlib.blake2b()
    fcntl.fcntl(ends.write_fd, fcntl.F_SETPIPE_SZ, 1 << 20)

    def write() -> None:
        for _ in range(n_patterns):
            expected.update(PATTERN)
            view = memoryview(PATTERN)
            while view:
                view = view[os.write(ends.write_fd, view) :]
        ends.end_input()

    writer = threading.Thread(target=write)
    writer.start()
    moving = pump.Pump(ends.read_fd, ends.log_fd, splices=splices)
    wait_until(lambda: moving.step(1 << 26) == pump.EOF, what="all has been moved")
    writer.join()
    assert moving.size == n_patterns * len(PATTERN)
    with ends.log.open("rb") as log:
        assert hashlib.file_digest(log, hashlib.blake2b).digest() == expected.digest()


# --- a disk that is full -------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 64 KiB; it takes root, as CI is."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@BOTH_WAYS
def test_full_disk_keeps_what_it_cannot_take(small_disk: Path, splices: bool) -> None:
    ends = Ends(small_disk / "log")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\0" * 40_000)
    data = PATTERN[:60_000]
    os.write(ends.write_fd, data)
    moving = pump.Pump(ends.read_fd, ends.log_fd, splices=splices)
    assert wait_until(lambda: moving.step() == pump.BLOCKED, what="the disk is full")
    assert moving.errno == errno.ENOSPC
    size = moving.size
    assert 0 < size < len(data)
    assert moving.step() == pump.BLOCKED
    assert moving.size == size
    ballast.unlink()
    assert moving.step() == pump.OPEN
    assert (moving.errno, moving.size) == (0, len(data))
    assert ends.log.read_bytes() == data
    ends.close()


@BOTH_WAYS
def test_writer_waits_for_a_full_disk_and_is_not_killed(small_disk: Path, splices: bool) -> None:
    ends = Ends(small_disk / "log")
    program = f"import os\nos.write(1, bytes({200_000}))\nos.write(2, b'done')\n"
    writer = subprocess.Popen(
        [sys.executable, "-c", program], stdout=ends.write_fd, stderr=subprocess.PIPE
    )
    ends.end_input()
    moving = pump.Pump(ends.read_fd, ends.log_fd, splices=splices)
    wait_until(lambda: moving.step() == pump.BLOCKED, what="the disk is full")
    assert writer.poll() is None
    subprocess.run(["mount", "-o", "remount,size=1m", str(small_disk)], check=True)
    wait_until(lambda: moving.step() == pump.EOF, what="all has been moved")
    assert writer.communicate()[1] == b"done"
    assert writer.returncode == 0
    assert ends.log.read_bytes() == bytes(200_000)
    ends.close()


@BOTH_WAYS
def test_limit_on_file_size_blocks_and_does_not_kill(tmp_path: Path, splices: bool) -> None:
    program = f"""
import os, resource, sys
sys.path.insert(0, {str(Path(pump.__file__).parents[2])!r})
from sidecar.procs import pump
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
read_fd, write_fd = os.pipe()
os.set_blocking(read_fd, False)
os.write(write_fd, bytes(30_000))
log_fd = os.open({str(tmp_path / "log")!r}, os.O_WRONLY | os.O_CREAT, 0o600)
moving = pump.Pump(read_fd, log_fd, splices={splices})
while moving.step() != pump.BLOCKED:
    pass
print(moving.size, moving.errno)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.split() == [b"10000", str(errno.EFBIG).encode()]


# --- a pump that is killed -----------------------------------------------------------------------

PUMPING = """
import os, sys
sys.path.insert(0, sys.argv[1])
from sidecar.procs import pump
log_fd = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)
os.set_blocking(0, False)
moving = pump.Pump(0, log_fd)
while True:
    moving.step(4096)
"""


def has_grown(log: Path, size: int, writer: threading.Thread) -> bool:
    return not writer.is_alive() or (log.exists() and log.stat().st_size > size)


def test_kill_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    # One pump after another is killed in mid-work; the next goes on with pipe and log as they are.
    log = tmp_path / "log"
    read_fd, write_fd = os.pipe()
    total = 60_000_000
    data = (PATTERN * (total // len(PATTERN) + 1))[:total]

    def write() -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(write_fd, view[:65_536]) :]
        os.close(write_fd)

    writer = threading.Thread(target=write)
    writer.start()
    argv = [sys.executable, "-I", "-S", "-c", PUMPING]
    argv += [str(Path(pump.__file__).parents[2]), str(log)]
    n_kills = 0
    while writer.is_alive():
        size = log.stat().st_size if log.exists() else 0
        worker = subprocess.Popen(argv, stdin=read_fd)
        wait_until(
            functools.partial(has_grown, log, size, writer),
            what="the log grows again",
        )
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        n_kills += 1
    writer.join()
    os.set_blocking(read_fd, False)
    log_fd = os.open(log, os.O_WRONLY)
    last = pump.Pump(read_fd, log_fd)
    wait_until(lambda: last.step() == pump.EOF, what="the rest has been moved")
    assert n_kills > 1
    assert log.read_bytes() == data
    os.close(read_fd)
    os.close(log_fd)
