"""What is left when runner and warden are both gone is searched for and ended, nobody else."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.procs import identity, orphans
from tests.process.procs.rig import Rig
from tests.support.wait import wait_until

RUN_ID = "0190-orphans-test"
SIT = "echo up $$; sleep 100"
DEAF = "trap '' TERM; echo up $$; while :; do sleep 100; done"


def lose_both(rig: Rig) -> tuple[int, int]:
    """Kill runner and warden together; the recorded agent."""
    _, pid, ticks, _ = rig.hears("running")
    warden_pid = int(rig.record()[0].split()[1])
    os.kill(warden_pid, signal.SIGSTOP)
    rig.kill_runner()
    os.kill(warden_pid, signal.SIGKILL)
    wait_until(lambda: not rig.wardens(), what="both are gone")
    return pid, ticks


def end(agent: tuple[int, int] | None, grace_ms: int = 3000, run_id: str = RUN_ID) -> str:
    state, reason, diagnostic = orphans.end_orphans(run_id, agent, grace_ms)
    assert (state, reason) == ("unknown", "warden-lost")
    return diagnostic


def test_marked_and_recorded_are_ended(rig: Rig) -> None:
    script = f"setsid sh -c '{SIT}' & (setsid sh -c '{SIT}' &) ; {SIT}"
    rig.launch(["sh", "-c", script], env={"SIDECAR_RUN_ID": RUN_ID})
    pids = [int(pid) for [pid] in rig.printed_fields(b"up", 3)]
    story = end(lose_both(rig))
    rig.assert_nobody_left()
    for pid in pids:
        assert str(pid) in story
    assert "marker" in story


def test_descendants_of_the_recorded_agent_are_ended_without_a_marker(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"setsid sh -c '{SIT}' & {SIT}"])
    rig.printed_fields(b"up", 2)
    end(lose_both(rig))
    rig.assert_nobody_left()


def test_orphans_of_a_dead_agent_are_found_by_their_marker(rig: Rig) -> None:
    script = f"setsid sh -c '{SIT}' & exit 0"
    rig.launch(["sh", "-c", script], env={"SIDECAR_RUN_ID": RUN_ID})
    rig.printed_fields(b"up", 1)
    rig.hears("exited")
    lose_both(rig)
    end(None)
    rig.assert_nobody_left()


def test_deaf_orphans_are_killed(rig: Rig) -> None:
    script = f'setsid sh -c "{DEAF}" & {DEAF}'
    rig.launch(["sh", "-c", script], env={"SIDECAR_RUN_ID": RUN_ID})
    rig.printed_fields(b"up", 2)
    story = end(lose_both(rig), 100)
    rig.assert_nobody_left()
    assert "killed 0" not in story


def test_nobody_left_is_still_no_proof() -> None:
    assert "found nobody" in end(None)


def test_doing_it_twice_changes_nothing(rig: Rig) -> None:
    rig.launch(["sh", "-c", SIT], env={"SIDECAR_RUN_ID": RUN_ID})
    agent = lose_both(rig)
    end(agent)
    assert "found nobody" in end(agent)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of another run, whose id begins like ours."""
    env = {"SIDECAR_RUN_ID": RUN_ID + "-and-more", "OTHER": f"SIDECAR_RUN_ID={RUN_ID}"}
    with subprocess.Popen(["sleep", "100"], env=env) as process:
        yield process
        process.kill()


def test_another_run_is_left_alone(bystander: subprocess.Popen[bytes]) -> None:
    assert "found nobody" in end(None)
    assert bystander.poll() is None


def test_recorded_pid_that_belongs_to_another_now_is_left_alone(
    bystander: subprocess.Popen[bytes],
) -> None:
    ticks = identity.start_ticks(bystander.pid)
    assert ticks is not None
    assert "found nobody" in end((bystander.pid, ticks - 1))
    assert bystander.poll() is None


def test_runner_and_warden_of_a_run_within_are_left_alone(rig: Rig) -> None:
    # A run that was launched by a marked agent: its runner stands below it, with the marker or not.
    rig.launch(["sh", "-c", SIT])
    rig.printed_fields(b"up", 1)
    before = sorted([*rig.wardens(), *rig.agents()])
    runner_ticks = identity.start_ticks(rig.runner_pid)
    assert runner_ticks is not None
    assert "found nobody" in end((rig.runner_pid, runner_ticks))
    assert sorted([*rig.wardens(), *rig.agents()]) == before


SEARCHING = """
import os, sys
sys.path.insert(0, sys.argv[1])
from sidecar.procs import orphans
print(*orphans.end_orphans(os.environ['SIDECAR_RUN_ID'], None, 1000), sep='|')
"""


def test_searcher_spares_itself_and_its_ancestors() -> None:
    # Marked itself, below a shell that is marked too and waits for it.
    argv = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", SEARCHING]
    argv.append(str(Path(orphans.__file__).parents[2]))
    env = {"SIDECAR_RUN_ID": RUN_ID}
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "found nobody" in done.stdout


def test_another_users_process_is_left_alone() -> None:
    # Needs root, as CI is, to have another user at all.
    env = {"SIDECAR_RUN_ID": RUN_ID}
    with subprocess.Popen(["sleep", "100"], env=env, user=65534) as process:
        assert "found nobody" in end(None)
        assert process.poll() is None
        process.kill()
