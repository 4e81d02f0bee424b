"""One signal reaches the process that was recorded, or nobody; refusals are told, not swallowed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.procs import identity, tree


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "100"]) as process:
        yield process
        process.kill()


def open_fds() -> list[str]:
    return sorted(link.name for link in Path("/proc/self/fd").iterdir())


def ticks_of(pid: int) -> int:
    ticks = identity.start_ticks(pid)
    assert ticks is not None
    return ticks


def test_signal_reaches_the_recorded_process(sleeper: subprocess.Popen[bytes]) -> None:
    assert tree.send_to(sleeper.pid, ticks_of(sleeper.pid), signal.SIGTERM) == tree.SENT
    assert sleeper.wait() == -signal.SIGTERM


def test_signal_does_not_reach_another_with_the_same_pid(sleeper: subprocess.Popen[bytes]) -> None:
    for other in (-1, 1):
        ticks = ticks_of(sleeper.pid) + other
        assert tree.send_to(sleeper.pid, ticks, signal.SIGKILL) == tree.GONE
    assert sleeper.poll() is None


def test_signal_to_one_that_has_ended_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    ticks = ticks_of(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    assert tree.send_to(sleeper.pid, ticks, signal.SIGTERM) == tree.GONE


def test_signal_without_pidfd_compares_all_the_same(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int) -> int:
        raise OSError(24, "too many open files")

    monkeypatch.setattr("posix.pidfd_open", refuse)
    ticks = ticks_of(sleeper.pid)
    assert tree.send_to(sleeper.pid, ticks + 1, signal.SIGTERM) == tree.GONE
    assert sleeper.poll() is None
    assert tree.send_to(sleeper.pid, ticks, signal.SIGTERM) == tree.SENT
    assert sleeper.wait() == -signal.SIGTERM


def test_no_descriptor_is_left_behind(sleeper: subprocess.Popen[bytes]) -> None:
    before = open_fds()
    tree.send_to(sleeper.pid, ticks_of(sleeper.pid), signal.SIGCONT)
    tree.send_to(sleeper.pid, 1, signal.SIGCONT)
    tree.send_to(2**22 - 1, 1, signal.SIGCONT)
    assert open_fds() == before


# Keeps a child of root's, then becomes somebody who may not signal it. Needs root, as CI is.
REFUSED = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from sidecar.core import policy
from sidecar.procs import identity, prctl, scopes, tree
policy.KILL_VERIFY_MS = 200
assert prctl.set_subreaper()
quiet = [(os.POSIX_SPAWN_OPEN, fd, '/dev/null', os.O_WRONLY, 0) for fd in (1, 2)]
pid = os.posix_spawn('/bin/sleep', ['sleep', '100'], {}, file_actions=quiet)
os.setresuid(65534, 65534, 65534)
ticks = identity.start_ticks(pid)
print(pid, tree.send_to(pid, ticks, 15), identity.state_of(pid, ticks, identity.boot_id()))
now = lambda: time.monotonic_ns() // 1000000
ending = tree.TreeEnding(now(), 100, scopes.Below())
while (wake_at := ending.advance(now())) is not None:
    time.sleep(max(0, wake_at - now()) / 1000)
print(*ending.result, sep='|')
"""


def test_member_that_may_not_be_signalled_is_named_and_never_called_gone() -> None:
    argv = [sys.executable, "-c", REFUSED, str(Path(tree.__file__).parents[2])]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    pid, answer, state = first.split()
    try:
        assert (answer, state) == ("not-permitted", "alive")
        assert second.split("|")[:2] == ["unknown", "not-permitted"]
        assert pid in second.split("|")[2].split()
        assert Path(f"/proc/{pid}").exists()
    finally:
        os.kill(int(pid), signal.SIGKILL)
