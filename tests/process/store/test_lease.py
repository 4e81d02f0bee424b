"""The lease is held until its last holder is gone, whatever ended it, and never longer."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.core.errors import Bug, DamagedRun, StorageError
from sidecar.store.lease import Holding, Lease, probe
from tests.support.stored import output_of, python
from tests.support.wait import wait_until

# Takes the lease as it is told, says whether it has it, and holds it until its stdin ends.
TAKER = """
import sys
from sidecar.store.lease import Lease
lease = Lease.take(sys.argv[1], tries=int(sys.argv[2]))
print("led" if lease else "lost", flush=True)
sys.stdin.read()
"""

PROBER = """
import sys
from sidecar.store.lease import probe
print("probing", flush=True)
while True:
    probe(sys.argv[1])
"""

# A launcher that hands its lease to a runner by exec and is gone.
LAUNCHER = """
import os, subprocess, sys
from sidecar.store.lease import Lease
lease = Lease.create(sys.argv[1])
os.dup2(lease.fd, 3, inheritable=True)
child = subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]],
                         pass_fds=(3,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
os._exit(0)
"""

# The runner takes over, and starts an agent in the careless way: everything inheritable goes on.
RUNNER = """
import os, signal, subprocess, sys
from sidecar.store.lease import Lease
lease = Lease.inherit(3)
agent = subprocess.Popen(["sleep", "1000"], close_fds=False, cwd=sys.argv[1])
with open(sys.argv[1] + "/agent", "w") as file:
    file.write(str(agent.pid) + " ")
signal.pause()
"""


@pytest.fixture
def run_dir(state_dir: Path) -> Path:
    """Give a run directory whose lease nobody holds."""
    run_dir = state_dir / "run"
    run_dir.mkdir(mode=0o700)
    Lease.create(str(run_dir)).release()
    return run_dir


def test_a_lease_is_held_by_one_and_free_after_release(run_dir: Path) -> None:
    lease = Lease.take(str(run_dir))
    assert lease is not None
    assert probe(str(run_dir)) is Holding.HELD
    assert Lease.take(str(run_dir), tries=1) is None
    lease.release()
    lease.release()
    assert probe(str(run_dir)) is Holding.FREE


def test_a_released_lease_gives_no_rights(run_dir: Path) -> None:
    lease = Lease.take(str(run_dir))
    assert lease is not None
    lease.release()
    with pytest.raises(Bug):
        lease.require_held()
    with pytest.raises(Bug):
        _ = lease.fd


def test_a_lease_falls_when_its_holder_is_killed(run_dir: Path) -> None:
    with python(TAKER, run_dir, "1") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "led\n"
        assert probe(str(run_dir)) is Holding.HELD
        holder.kill()
    assert probe(str(run_dir)) is Holding.FREE


def test_a_descriptor_of_a_lease_is_never_inheritable(run_dir: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    leases = [Lease.create(str(made)), Lease.take(str(run_dir))]
    for lease in leases:
        assert lease is not None
        assert not os.get_inheritable(lease.fd)
        lease.release()


def test_a_lease_that_was_handed_over_outlives_its_launcher_and_not_its_runner(
    state_dir: Path,
) -> None:
    run_dir = state_dir / "run"
    run_dir.mkdir(mode=0o700)
    runner = int(output_of(LAUNCHER, run_dir, RUNNER))
    # The launcher is gone; the runner may not even have begun.
    assert probe(str(run_dir)) is Holding.HELD
    agent = run_dir / "agent"
    pid = wait_until(
        lambda: agent.exists() and agent.read_text().endswith(" ") and int(agent.read_text()),
        what="the runner has started its agent",
    )
    assert probe(str(run_dir)) is Holding.HELD
    os.kill(runner, signal.SIGKILL)
    wait_until(lambda: probe(str(run_dir)) is Holding.FREE, what="the lease falls")
    os.kill(pid, 0)  # although the agent lives, to which everything inheritable was passed on
    os.kill(pid, signal.SIGKILL)


def test_whoever_inherits_a_lease_cannot_pass_it_on_by_accident(run_dir: Path) -> None:
    lease = Lease.take(str(run_dir))
    assert lease is not None
    copy = os.dup(lease.fd)
    os.set_inheritable(copy, True)
    inherited = Lease.inherit(copy)
    assert not os.get_inheritable(inherited.fd)
    lease.release()
    assert probe(str(run_dir)) is Holding.HELD
    inherited.release()
    assert probe(str(run_dir)) is Holding.FREE


def test_a_descriptor_that_holds_nothing_is_no_lease(run_dir: Path) -> None:
    lease = Lease.take(str(run_dir))
    assert lease is not None
    other = os.open(run_dir / "lease", os.O_RDWR)
    with pytest.raises(Bug):
        Lease.inherit(other)
    os.close(other)
    with pytest.raises(Bug):
        Lease.inherit(other)
    lease.release()


def test_probers_never_make_a_taker_lose(run_dir: Path) -> None:
    with contextlib.ExitStack() as stack:
        probers = [stack.enter_context(python(PROBER, run_dir)) for _ in range(3)]
        for prober in probers:
            stack.callback(prober.kill)
            assert prober.stdout is not None
            assert prober.stdout.readline() == "probing\n"
        for _ in range(300):
            lease = Lease.take(str(run_dir))
            assert lease is not None
            lease.release()


def test_a_taker_outlasts_a_prober_that_is_in_the_way_just_then(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prober = os.open(run_dir / "lease", os.O_RDONLY)
    fcntl.flock(prober, fcntl.LOCK_SH)
    whole = fcntl.flock
    asked = []

    def gone_after_a_while(fd: int, operation: int) -> None:
        asked.append(operation)
        if len(asked) == 20:
            os.close(prober)
        whole(fd, operation)

    monkeypatch.setattr(fcntl, "flock", gone_after_a_while)
    lease = Lease.take(str(run_dir), tries=1)
    assert lease is not None
    lease.release()


def test_a_prober_that_hangs_is_not_waited_for_for_ever(run_dir: Path) -> None:
    prober = os.open(run_dir / "lease", os.O_RDONLY)
    fcntl.flock(prober, fcntl.LOCK_SH)
    assert Lease.take(str(run_dir), tries=2, pause_ms=1) is None
    os.close(prober)


def test_of_takers_at_once_exactly_one_leads(run_dir: Path) -> None:
    for _ in range(5):
        with contextlib.ExitStack() as stack:
            takers = [stack.enter_context(python(TAKER, run_dir, "5")) for _ in range(4)]
            said = []
            for taker in takers:
                assert taker.stdout is not None
                said.append(taker.stdout.readline().strip())
            assert sorted(said) == ["led", "lost", "lost", "lost"]


def test_a_holder_that_is_about_to_vanish_is_waited_for(run_dir: Path) -> None:
    lease = Lease.take(str(run_dir))
    assert lease is not None
    with python(TAKER, run_dir, "100000") as taker:
        assert taker.stdin is not None
        assert taker.stdout is not None
        lease.release()
        assert taker.stdout.readline() == "led\n"


def test_a_missing_lease_means_unknown_and_is_not_made_anew(run_dir: Path) -> None:
    # Whoever holds the lost one may be alive, and there would be two leaders.
    lease = Lease.take(str(run_dir))
    assert lease is not None
    (run_dir / "lease").unlink()
    assert probe(str(run_dir)) is Holding.UNKNOWN
    assert Lease.take(str(run_dir)) is None
    assert not (run_dir / "lease").exists()
    lease.release()
    assert probe(str(run_dir / "nothing")) is Holding.UNKNOWN
    assert Lease.take(str(run_dir / "nothing")) is None


def test_a_lease_that_was_replaced_while_it_was_taken_leads_nobody(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fcntl.flock

    def replaced(fd: int, operation: int) -> None:
        whole(fd, operation)
        (run_dir / "lease").rename(run_dir / "old")
        (run_dir / "lease").touch(0o600)

    monkeypatch.setattr(fcntl, "flock", replaced)
    assert Lease.take(str(run_dir), tries=1) is None


@pytest.mark.parametrize("what", ["link", "directory", "fifo"])
def test_what_is_no_lease_is_neither_taken_nor_called_free(run_dir: Path, what: str) -> None:
    place = run_dir / "lease"
    place.rename(run_dir / "elsewhere")
    if what == "link":
        place.symlink_to("elsewhere")
    elif what == "directory":
        place.mkdir()
    else:
        os.mkfifo(place)
    assert probe(str(run_dir)) is Holding.UNKNOWN
    with pytest.raises(DamagedRun):
        Lease.take(str(run_dir))


@pytest.mark.parametrize("name", ["ENOLCK", "EOPNOTSUPP"])
def test_where_there_are_no_locks_nothing_is_known_and_nothing_taken(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    import errno

    def refuse(*_: object) -> None:
        raise OSError(getattr(errno, name), "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert probe(str(run_dir)) is Holding.UNKNOWN
    with pytest.raises(StorageError) as caught:
        Lease.take(str(run_dir))
    assert caught.value.errno_name in {name, "ENOTSUP"}
    (run_dir / "lease").unlink()
    with pytest.raises(StorageError):
        Lease.create(str(run_dir))


def test_no_descriptor_is_left_behind(run_dir: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    lease = Lease.take(str(run_dir))
    assert lease is not None
    for _ in range(10):
        probe(str(run_dir))
        assert Lease.take(str(run_dir), tries=1) is None
    lease.release()
    assert descriptors() == before


def test_a_child_of_whoever_holds_a_lease_does_not_have_it(run_dir: Path) -> None:
    lease = Lease.take(str(run_dir))
    assert lease is not None
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        close_fds=False,
    )
    lease.release()
    # The child is there before its exec has closed what is not to be inherited.
    wait_until(lambda: probe(str(run_dir)) is Holding.FREE, what="the lease falls")
    child.communicate()
