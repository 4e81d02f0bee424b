"""A launcher that dies at any point leaves nothing, or a run that is led to its end, once."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sidecar.control import read
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Context
from sidecar.control.launch import launch
from sidecar.core.asked import Asked
from sidecar.core.plan import Mode, StepRequest
from sidecar.core.states import RunState
from sidecar.store import markers
from tests.support.children.crashing_launcher import POINTS
from tests.support.runs import Runs
from tests.support.wait import wait_until

BEFORE_COMMIT = [
    *(f"{when}-{name}" for name in ("token", "stage", "request", "status", "order", "marker")
      for when in ("before", "after")),
    "before-commit",
]  # fmt: skip
AFTER_COMMIT = ["after-commit", "before-spawn", "after-spawn", "before-ring", "after-ring"]


def test_every_point_is_tried() -> None:
    assert {point.partition("-")[2] for point in BEFORE_COMMIT + AFTER_COMMIT} == set(POINTS)


def die_at(point: str, state_dir: Path, log: Path) -> None:
    """Let a launcher die."""
    launcher = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.support.children.crashing_launcher",
            str(state_dir),
            str(log),
            point,
        ],
        check=False,
    )
    assert launcher.returncode == -signal.SIGKILL


def take_care(ctx: Context) -> None:
    """Tend until nothing is active or half-built."""
    caretaker = Caretaker(ctx)

    def is_quiet() -> bool:
        for run_id in markers.active_ids(ctx.layout):
            caretaker.expect(run_id)
        tended = caretaker.tend(time.monotonic_ns() // 1_000_000)
        assert tended.problems == ()
        staging = Path(ctx.layout.staging)
        return not markers.active_ids(ctx.layout) and not list(staging.iterdir())

    wait_until(is_quiet, what="nothing active and nothing half-built")


def same_again(log: Path) -> Asked:
    """The launch that the dead one was to make."""
    step = StepRequest(agent="command", command=("sh", "-c", 'echo ran >>"$1"', "sh", str(log)))
    return Asked(mode=Mode.SINGLE, cwd="/", session_id="crash", client_token="once", steps=(step,))


@pytest.mark.parametrize("point", BEFORE_COMMIT)
def test_before_the_commit_nothing_is_left_and_a_retry_launches(
    runs: Runs, state_dir: Path, tmp_path: Path, point: str
) -> None:
    log = tmp_path / "log"
    die_at(point, state_dir, log)
    assert read.list_runs(runs.ctx, scope="all") == read.Page(
        snapshots=(), next_cursor=None, problems=()
    )
    take_care(runs.ctx)
    assert list((state_dir / "runs").iterdir()) == []
    made = launch(runs.ctx, same_again(log))
    assert made.created
    assert runs.wait(made.snapshot.run.run_id).state is RunState.COMPLETE
    assert log.read_text() == "ran\n"


@pytest.mark.parametrize("point", AFTER_COMMIT)
def test_after_the_commit_the_run_is_led_to_its_end_once(
    runs: Runs, state_dir: Path, tmp_path: Path, point: str
) -> None:
    log = tmp_path / "log"
    die_at(point, state_dir, log)
    (snapshot,) = read.list_runs(runs.ctx, scope="all").snapshots
    take_care(runs.ctx)
    assert runs.wait(snapshot.run.run_id).state is RunState.COMPLETE
    again = launch(runs.ctx, same_again(log))
    assert (again.created, again.snapshot.run.run_id) == (False, snapshot.run.run_id)
    assert log.read_text() == "ran\n"
