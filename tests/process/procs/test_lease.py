"""The lease is the runner's alone: whoever it starts has no copy, so it falls with the runner.

A copy in a warden or an agent would make the run look alive for ever.
"""

import fcntl
import os
import signal
from pathlib import Path

from tests.process.procs.rig import Rig
from tests.support.wait import wait_until

SIT = "echo up $$; sleep 100"


def is_held(rig: Rig) -> bool:
    fd = os.open(rig.dir / "lease", os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)


def holders(rig: Rig) -> list[int]:
    """Who has the file open, as the links of all descriptors say."""
    lease = rig.dir / "lease"
    return [pid for pid in (*rig.agents(), *rig.wardens()) if holds(pid, lease)]


def holds(pid: int, path: Path) -> bool:
    try:
        return path in [link.readlink() for link in Path(f"/proc/{pid}/fd").iterdir()]
    except FileNotFoundError:
        return False


def test_lease_is_handed_to_the_runner_as_descriptor_3(rig: Rig) -> None:
    rig.launch(["sh", "-c", SIT])
    _, pid, fds = rig.hears("started")
    assert pid == rig.runner_pid
    assert Path(f"/proc/{pid}/fd/3").readlink() == rig.dir / "lease"
    assert fds[:4] == [0, 1, 2, 3]
    assert is_held(rig)
    rig.printed_fields(b"up", 1)
    assert holders(rig) == [rig.runner_pid]


def test_lease_falls_with_the_runner_though_warden_and_agent_live(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"trap '' TERM; setsid sh -c \"{SIT}\" & {SIT}"])
    rig.printed_fields(b"up", 2)
    # Stopped, the warden cannot have closed anything late.
    os.kill(int(rig.record()[0].split()[1]), signal.SIGSTOP)
    rig.kill_runner()
    assert not is_held(rig)
    assert len(rig.wardens()) == 1
    assert rig.agents() != []
    os.kill(int(rig.record()[0].split()[1]), signal.SIGCONT)


def test_second_warden_has_no_copy_either(rig: Rig) -> None:
    rig.launch(["true"])
    rig.hears("proof")
    rig.says_bye()
    rig.write_order(["sh", "-c", SIT], attempt=2)
    rig.say("start 2")
    wait_until(lambda: rig.output(2), what="the second agent runs")
    assert holders(rig) == [rig.runner_pid]


def test_warden_has_nothing_of_its_runner_but_what_it_needs(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    rig.hears("running")
    folder = Path(f"/proc/{rig.record()[0].split()[1]}/fd")
    links = {int(link.name): str(link.readlink()) for link in folder.iterdir()}
    # The record was made under a name of its own, and that is the one the system shows.
    record = f"{rig.attempt()}/warden.{rig.record()[0].split()[1]}.new (deleted)"
    kinds = sorted(link.partition(":")[0] for fd, link in links.items() if fd > 2)
    # Socket; reading ends of stdout and stderr; both ends of its own wake-up; record, directory.
    assert kinds == sorted([str(rig.attempt()), record, "socket", *["pipe"] * 4])
    log = str(rig.dir / "runner.log")
    assert [links[fd] for fd in range(3)] == ["/dev/null", log, log]


def test_descriptors_of_the_launcher_end_at_the_runner(rig: Rig, tmp_path: Path) -> None:
    # Inheritable on purpose, as a careless library of a server would leave them.
    leaked = [os.open(tmp_path, os.O_RDONLY) for _ in range(5)]
    for fd in leaked:
        os.set_inheritable(fd, True)
    try:
        rig.launch(["sh", "-c", SIT])
    finally:
        for fd in leaked:
            os.close(fd)
    rig.printed_fields(b"up", 1)
    everybody = [*rig.agents(), *rig.wardens()]
    assert len(everybody) >= 3
    assert [pid for pid in everybody if holds(pid, tmp_path)] == []
