"""Starting our own programs: detached from whoever launches, with the lease and nothing else."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from sidecar.core.errors import SpawnRefused
from sidecar.procs import spawn, warden
from tests.process.procs.rig import RUNNER_ENV, Rig
from tests.support.wait import wait_until


def open_fds() -> list[str]:
    return sorted(link.name for link in Path("/proc/self/fd").iterdir())


def test_runner_is_detached(rig: Rig) -> None:
    rig.launch(["true"])
    pid = rig.runner_pid
    assert os.getsid(pid) == pid
    log = rig.dir / "runner.log"
    links = [Path(f"/proc/{pid}/fd/{fd}").readlink() for fd in range(3)]
    assert links == [Path("/dev/null"), log, log]
    assert log.stat().st_mode & 0o777 == 0o600


def test_runner_environment_is_what_was_handed_in(rig: Rig) -> None:
    rig.launch(["true"])
    pairs = Path(f"/proc/{rig.runner_pid}/environ").read_bytes().split(b"\0")
    found = dict(pair.decode().split("=", 1) for pair in pairs if pair)
    assert found == RUNNER_ENV


def test_log_that_is_a_link_is_refused_and_its_target_untouched(rig: Rig, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("untouched")
    (rig.dir / "runner.log").symlink_to(canary)
    with pytest.raises(SpawnRefused, match="ELOOP"):
        spawn.spawn_adopter(str(rig.dir), RUNNER_ENV)
    assert canary.read_text() == "untouched"


def test_refusal_leaves_the_lease_with_the_launcher(rig: Rig) -> None:
    fd = os.open(rig.dir / "lease", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    before = open_fds()
    with pytest.raises(SpawnRefused):
        spawn.spawn_runner(str(rig.dir / "not there"), fd, RUNNER_ENV)
    assert open_fds() == before
    os.close(fd)
    other_fd = os.open(rig.dir / "lease", os.O_RDWR)
    fcntl.flock(other_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other_fd)


@pytest.mark.parametrize("lease_number", [3, 4, 17, 200])
def test_lease_arrives_whatever_its_number_was(rig: Rig, lease_number: int) -> None:
    # In a process of its own, where every number is free.
    rig.write_order(["true"])
    program = f"""
import fcntl, os, sys
sys.path.insert(0, {str(Path(warden.__file__).parents[2])!r})
from sidecar.procs import spawn
spawn.package_paths = lambda: [{str(rig.base / "shadow")!r}]
os.closerange(3, 1000)
fd = os.open({str(rig.dir / "lease")!r}, os.O_RDWR | os.O_CREAT, 0o600)
if fd != {lease_number}:
    os.dup2(fd, {lease_number}, False)
    os.close(fd)
fcntl.flock({lease_number}, fcntl.LOCK_EX | fcntl.LOCK_NB)
print(spawn.spawn_runner({str(rig.dir)!r}, {lease_number}, {RUNNER_ENV!r}))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    pid = int(done.stdout)
    rig.hears("started", pid)
    rig.hears("exited", "code", 0)
    assert Path(f"/proc/{pid}/fd/3").readlink() == rig.dir / "lease"
    fd = os.open(rig.dir / "lease", os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.close(fd)


def test_runner_works_below_a_careless_launcher(rig: Rig) -> None:
    # Without standard descriptors, with SIGCHLD ignored and blocked, as by some service managers.
    rig.write_order(["sh", "-c", "echo out; echo err >&2"])
    paths = [str(rig.base / "shadow")]
    argv = warden.boot_argv("run", str(rig.dir), paths)
    lease_fd = os.open(rig.dir / "lease", os.O_RDWR | os.O_CREAT, 0o600)
    actions: list[tuple[int, ...]] = [
        (os.POSIX_SPAWN_DUP2, lease_fd, 99),
        (os.POSIX_SPAWN_DUP2, 99, 3),
        *((os.POSIX_SPAWN_CLOSE, fd) for fd in (0, 1, 2, 99)),
    ]
    handler = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    try:
        rig.runner_pid = os.posix_spawn(argv[0], argv, RUNNER_ENV, file_actions=actions)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGCHLD, handler)
    os.close(lease_fd)
    rig.hears("exited", "code", 0)
    wait_until(lambda: rig.output(name="stderr.log"), what="stderr is pumped")
    assert (rig.output(), rig.output(name="stderr.log")) == (b"out\n", b"err\n")
    rig.says_bye()


def test_adopter_is_started_without_a_lease(rig: Rig) -> None:
    with mock.patch.object(spawn, "package_paths", return_value=[str(rig.base / "shadow")]):
        pid = spawn.spawn_adopter(str(rig.dir), RUNNER_ENV)
    [[adopter_pid, session, _, _]] = rig.adopted()
    assert adopter_pid == session == pid
    assert wait_until(lambda: [spawn.reap(pid)] != [None], what="it has ended")


def test_reap_tells_how_it_ended_and_forgets() -> None:
    for script, expected in (("exit 7", 7), ("kill -9 $$", -9)):
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", script], {})
        found: list[int] = []

        def collect(pid: int = pid, found: list[int] = found) -> bool:
            code = spawn.reap(pid)
            found.extend([] if code is None else [code])
            return code is not None

        wait_until(collect, what="it has ended")
        assert found == [expected]
        assert spawn.reap(pid) == 0


def test_paths_hold_sidecar_and_orjson() -> None:
    paths = [Path(path) for path in spawn.package_paths()]
    assert (paths[0] / "sidecar" / "__init__.py").is_file()
    assert any((path / "orjson").is_dir() for path in paths)
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("argv", [[], ["run"], ["run", "/x"], ["serve", "/x", "/y"]])
def test_boot_refuses_what_it_does_not_know(argv: list[str]) -> None:
    script = Path(warden.__file__).with_name("boot.py")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-E", script, *argv], check=False, capture_output=True
    )
    assert done.returncode == 64
    assert done.stderr.startswith(b"usage: boot.py")


def test_boot_without_a_lease_fails_and_says_so(rig: Rig) -> None:
    argv = warden.boot_argv("run", str(rig.dir), [str(rig.base / "shadow")])
    done = subprocess.run(argv, check=False, capture_output=True)
    assert done.returncode == 70
    assert b"Bad file descriptor" in done.stderr
