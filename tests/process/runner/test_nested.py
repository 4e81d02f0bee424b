"""Runs within runs end with their parent: by themselves, truly, and without anybody's help."""

import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from sidecar.control import stop
from sidecar.core.states import ProofState, Run, RunState, run_proof
from tests.support.runs import Runs
from tests.support.wait import wait_until

ROOT = Path(__file__).parents[3]

STUBBORN = "trap '' TERM; echo up; while :; do sleep 1; done"
WILLING = "echo up; exec sleep 60"


def nest(runs: Runs, inner: str, then: str) -> tuple[str, str]:
    """A run that launches another one and goes on with ``then``; both ids, once both run."""
    words = [sys.executable, "-m", "sidecar", "launch", "--shell", inner]
    script = f"{shlex.join(words)} && {then}"
    outer = runs.launch("sh", "-c", script, env={"PYTHONPATH": str(ROOT)})

    def nested() -> list[str]:
        return [path.name for path in Path(runs.layout.runs).iterdir() if path.name != outer]

    wait_until(nested, what=lambda: f"a nested run: {runs.story(outer)}")
    (found,) = nested()
    wait_until(lambda: runs.stdout(found) == b"up\n", what="the nested agent up")
    return outer, found


def assert_ended_with_parent(run: Run) -> None:
    assert (run.state, run.outcome and run.outcome.reason) == (RunState.STOPPED, "parent-ended")
    assert run_proof(run).state is ProofState.OBSERVED


@pytest.mark.parametrize("inner", [WILLING, STUBBORN], ids=["willing", "stubborn"])
def test_by_a_stop_of_the_parent(runs: Runs, inner: str) -> None:
    outer, nested = nest(runs, inner, "sleep 60")
    stop.stop(runs.ctx, outer)
    assert runs.wait(outer).state is RunState.STOPPED
    assert_ended_with_parent(runs.wait(nested))


def test_by_the_parents_own_end(runs: Runs, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    outer, nested = nest(runs, STUBBORN, f"read x < {gate}")
    gate.write_text("go\n")
    assert runs.wait(outer).state is RunState.COMPLETE
    assert_ended_with_parent(runs.wait(nested))


def test_by_the_death_of_the_parents_runner(runs: Runs) -> None:
    outer, nested = nest(runs, STUBBORN, "sleep 60")
    os.kill(runs.runner_pid, signal.SIGKILL)
    assert runs.wait(outer).state is RunState.FAILED
    assert_ended_with_parent(runs.wait(nested))
