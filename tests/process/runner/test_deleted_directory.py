"""Somebody deletes the directory of a living run: it goes on, and stays visible and stoppable."""

import os
import shutil
import signal
from pathlib import Path

from sidecar.control import stop
from sidecar.core.states import RunState
from sidecar.procs import spawn
from sidecar.store.lease import Holding, probe
from tests.support.runs import Runs
from tests.support.wait import wait_until


def deleted_and_back(runs: Runs, run_id: str) -> None:
    # Moved away first: its runner may write into it while it is being deleted.
    shutil.rmtree(runs.path(run_id).rename(Path(runs.layout.state_dir) / "deleted"))
    wait_until(
        (runs.path(run_id) / "status.json").exists,
        what="the directory made anew",
    )
    assert probe(str(runs.path(run_id))) is Holding.HELD


def test_it_is_told_and_stopped_as_before(runs: Runs) -> None:
    run_id = runs.launch("sh", "-c", "echo before; sleep 60")
    pid = runs.wait_running(run_id)
    deleted_and_back(runs, run_id)
    assert runs.read(run_id).state is RunState.RUNNING
    assert Path(f"/proc/{pid}").exists()
    stop.stop(runs.ctx, run_id)
    assert runs.wait(run_id).state is RunState.STOPPED
    assert not Path(f"/proc/{pid}").exists()


def test_its_end_and_its_later_output_are_kept(runs: Runs, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    run_id = runs.launch("sh", "-c", f"echo before; read x < {gate}; echo after; exit 3")
    runs.wait_running(run_id)
    wait_until(lambda: runs.stdout(run_id) == b"before\n", what="the first line")
    deleted_and_back(runs, run_id)
    gate.write_text("go\n")
    run = runs.wait(run_id)
    assert (run.state, run.outcome and run.outcome.reason) == (RunState.FAILED, "exit-status")
    assert runs.stdout(run_id) == b"\0" * len(b"before\n") + b"after\n"


def test_its_runner_may_still_die(runs: Runs) -> None:
    """The warden's record is among what was deleted; the log of the new directory has to do."""
    run_id = runs.launch("sleep", "60")
    pid = runs.wait_running(run_id)
    deleted_and_back(runs, run_id)
    os.kill(runs.runner_pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), what="the agent ended by its warden")

    def is_over() -> bool:
        path = str(runs.path(run_id))
        if not runs.read(run_id).is_over and probe(path) is Holding.FREE:
            adopter = spawn.spawn_adopter(path, runs.ctx.runner_env)
            wait_until(lambda: spawn.reap(adopter) is not None, what="the adopter ended")
        return runs.read(run_id).is_over

    wait_until(is_over, what="an end")
    outcome = runs.read(run_id).outcome
    assert outcome is not None
    assert outcome.reason == "runner-lost"
    (Path(runs.layout.active) / run_id).unlink(missing_ok=True)  # unproven: it would age out
