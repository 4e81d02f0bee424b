"""Identity is raw start ticks and a boot id, read behind whatever name a process gives itself."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.procs import identity


def stat_line(pid: int, name: bytes, *, state: bytes = b"S", ticks: int = 4711) -> bytes:
    fields = [state, b"7", b"8", b"9", *[b"0"] * 15, b"%d" % ticks, *[b"0"] * 30]
    return b"%d (%s) %s\n" % (pid, name, b" ".join(fields))


@given(st.binary(max_size=15).filter(lambda name: b"\0" not in name))
def test_name_is_harmless(name: bytes) -> None:
    stat = identity.parse_stat(5, stat_line(5, name))
    assert stat is not None
    assert (stat.pid, stat.state, stat.parent, stat.pgrp, stat.session) == (5, b"S", 7, 8, 9)
    assert stat.ticks == 4711


@pytest.mark.parametrize("name", [b"my (agent", b") Z 1 1 1 (", b"a b c", b"))))", b"\n)"])
def test_names_of_known_trouble(name: bytes) -> None:
    stat = identity.parse_stat(5, stat_line(5, name, state=b"Z"))
    assert stat is not None
    assert stat.is_zombie
    assert stat.ticks == 4711


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    identity.parse_stat(1, data)


def test_own_ticks_are_those_of_proc() -> None:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert identity.start_ticks(os.getpid()) == int(fields[19])


def test_nobody_has_no_ticks() -> None:
    assert identity.start_ticks(2**22 + 1) is None


def test_living_process_is_alive_only_with_its_own_ticks_and_boot() -> None:
    pid, boot = os.getpid(), identity.boot_id()
    ticks = identity.start_ticks(pid)
    assert ticks is not None
    assert identity.state_of(pid, ticks, boot) == identity.ALIVE
    assert identity.state_of(pid, ticks + 1, boot) == identity.DEAD
    assert identity.state_of(pid, ticks - 1, boot) == identity.DEAD
    assert identity.state_of(pid, ticks, "another-boot") == identity.DEAD
    assert identity.state_of(2**22 + 1, ticks, boot) == identity.DEAD


def test_clock_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = os.getpid()
    ticks = identity.start_ticks(pid)
    assert ticks is not None
    for name in ("time", "time_ns", "monotonic", "monotonic_ns", "clock_gettime"):
        monkeypatch.setattr(f"time.{name}", lambda *_: 0)
    assert identity.state_of(pid, ticks, identity.boot_id()) == identity.ALIVE


def test_zombie_is_dead() -> None:
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.close(write_fd)
    os.read(read_fd, 1)  # its copy of the writing end is closed: it has exited
    try:
        stat = identity.stat_of(pid)
        assert stat is not None
        while not stat.is_zombie:
            stat = identity.stat_of(pid)
            assert stat is not None
        assert identity.state_of(pid, stat.ticks, identity.boot_id()) == identity.DEAD
    finally:
        os.close(read_fd)
        os.waitpid(pid, 0)


@pytest.mark.parametrize("error", [PermissionError(13, "no"), OSError(5, "io")])
def test_what_may_not_be_looked_at_is_unknown(
    monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise error

    boot = identity.boot_id()
    monkeypatch.setattr(identity, "boot_id", lambda: boot)
    monkeypatch.setattr("posix.open", refuse)
    assert identity.state_of(os.getpid(), 1, boot) == identity.UNKNOWN


def test_hidden_process_is_unknown_not_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    # hidepid: /proc says there is nobody, the kernel says that somebody may not be signalled.
    def refuse(pid: int, number: int) -> None:
        raise PermissionError(1, "not permitted")

    boot = identity.boot_id()
    monkeypatch.setattr(identity, "stat_of", lambda pid: None)
    monkeypatch.setattr("posix.kill", refuse)
    assert identity.state_of(1, 1, boot) == identity.UNKNOWN


def test_no_boot_id_is_unknown() -> None:
    assert identity.state_of(os.getpid(), 1, "") == identity.UNKNOWN
