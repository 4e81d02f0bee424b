"""Runs that nobody leads: whoever takes them over keeps what was promised, and harms nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sidecar.control import stop
from sidecar.core import policy
from sidecar.core.states import ProofState, RunState, run_proof
from sidecar.procs import spawn
from sidecar.procs.records import WardenRecord
from sidecar.runner import takeover
from sidecar.store.lease import Holding, probe
from tests.support.runs import Runs
from tests.support.wait import wait_until

ROOT = Path(__file__).parents[3]
SLOW_ADOPTER = ROOT / "tests/support/children/slow_adopter.py"


class NoRunner:
    """A spawner whose runners die before they have done anything."""

    def spawn_runner(self, run_dir: str, lease_fd: int, env: Mapping[str, str], /) -> int:
        """Start something else, without the lease."""
        return os.posix_spawn("/bin/true", ["true"], {})

    def spawn_adopter(self, run_dir: str, env: Mapping[str, str], /) -> int:
        """Start the real one."""
        return spawn.spawn_adopter(run_dir, env)

    def reap(self, pid: int, /) -> int | None:
        """Collect it."""
        return spawn.reap(pid)


@pytest.fixture
def leaderless(state_dir: Path, nothing_left: None) -> Iterator[Runs]:
    """Give ``Runs`` whose launches all lose their runner at once."""
    found = Runs(state_dir, spawner=NoRunner())
    yield found
    found.close()


def adopt(runs: Runs, run_id: str) -> None:
    """Have the run taken over, and wait for the adopter's end."""
    adopter = spawn.spawn_adopter(str(runs.path(run_id)), runs.ctx.runner_env)
    wait_until(lambda: spawn.reap(adopter) is not None, what="the adopter ended")


def test_a_stop_that_no_runner_had_taken_is_taken_by_the_adopter(runs: Runs) -> None:
    run_id = runs.launch("sleep", "60")
    runs.wait_running(run_id)
    os.kill(runs.runner_pid, signal.SIGSTOP)
    assert stop.stop(runs.ctx, run_id, reason="enough").run.stopping is not None
    os.kill(runs.runner_pid, signal.SIGKILL)
    run = runs.wait(run_id)
    assert (run.state, run.outcome and run.outcome.reason) == (RunState.STOPPED, "stopped-by-user")
    assert run.stopping is not None
    assert (run.stopping.client, run.stopping.reason) == ("test", "enough")
    assert [path.suffix for path in runs.path(run_id).glob("inbox/done/*")] == [".json"]


def test_a_stop_before_any_start_starts_nothing(leaderless: Runs, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    run_id = leaderless.launch("touch", str(mark))
    stop.stop(leaderless.ctx, run_id)
    adopt(leaderless, run_id)
    run = leaderless.read(run_id)
    assert (run.state, run_proof(run).state) == (RunState.STOPPED, ProofState.NOT_STARTED)
    assert not mark.exists()


def test_a_stop_of_a_first_attempt_that_only_its_warden_knows_of(leaderless: Runs) -> None:
    run_id = leaderless.launch("true")
    told = "spawning 7 1 boot 5\nrunning 8 2 6\nexited code 3 7\nproof observed subreaper 0 8\n"
    (leaderless.path(run_id) / "steps/0/1/warden").write_text(told)
    stop.stop(leaderless.ctx, run_id)
    adopt(leaderless, run_id)
    run = leaderless.read(run_id)
    attempt = run.steps[0].attempt
    assert attempt is not None
    assert (run.state, run_proof(run).state) == (RunState.STOPPED, ProofState.OBSERVED)
    assert (attempt.agent and attempt.agent.pid, attempt.exit and attempt.exit.code) == (8, 3)


def test_an_adopter_does_not_take_its_own_warden_for_one_that_was_lost(leaderless: Runs) -> None:
    run_id = leaderless.launch("sh", "-c", "echo begun; sleep 1; echo done")
    argv = [sys.executable, str(SLOW_ADOPTER), str(leaderless.path(run_id))]
    with (leaderless.path(run_id) / "runner.log").open("ab") as log:
        subprocess.run(
            [*argv, *spawn.package_paths()],
            env={**leaderless.ctx.runner_env, "PYTHONPATH": str(ROOT)},
            stderr=log,
            check=True,
            start_new_session=True,
        )
    run = leaderless.read(run_id)
    assert (run.state, run.outcome and run.outcome.reason) == (RunState.COMPLETE, "completed")
    assert leaderless.stdout(run_id) == b"begun\ndone\n"


def test_a_run_whose_request_is_lost_fails_instead_of_losing_every_leader(leaderless: Runs) -> None:
    run_id = leaderless.launch("true")
    (leaderless.path(run_id) / "request.json").write_bytes(b"{")
    adopt(leaderless, run_id)
    run = leaderless.read(run_id)
    assert run.outcome is not None
    assert run.outcome.failure is not None
    assert (run.state, run.outcome.reason) == (RunState.FAILED, "spawn-failed")
    assert "request.json" in run.outcome.failure.message


def test_a_log_that_became_a_link_is_not_followed_and_delays_no_end(
    runs: Runs, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("CANARY")
    run_id = runs.launch("sh", "-c", "echo begun; sleep 60")
    runs.wait_running(run_id)
    wait_until(lambda: runs.stdout(run_id) == b"begun\n", what="the first line")
    log = runs.path(run_id) / "steps/0/1/stdout.log"
    log.unlink()
    log.symlink_to(tmp_path / "secret")
    os.kill(runs.runner_pid, signal.SIGKILL)
    run = runs.wait(run_id)
    assert (run.state, run.outcome and run.outcome.reason) == (RunState.FAILED, "runner-lost")
    result = runs.dir(run_id).read_result()
    assert result is not None
    assert (result.steps[0].answer, result.steps[0].stdout_bytes) == ("", 0)
    wait_until(lambda: probe(str(runs.path(run_id))) is Holding.FREE, what="the lease fallen")


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_a_record_that_something_else_stands_in_the_place_of_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "warden"
    if kind == "link":
        path.symlink_to("/dev/null")
    else:
        path.mkdir()
    monkeypatch.setattr(policy, "WARDEN_WAIT_MS", 0)
    assert takeover._final_record(str(path)) == WardenRecord(is_alive=None)
