"""The runner is killed after its k-th effect, for every k; what is left ends truly, and once.

Effects are data, so every point between two of them can be reached.  After each crash the warden
(or, where it had nothing left to do, an adopter started by hand) brings the run to its end without
any server; then the invariants must hold.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sidecar.control.caretaker import Caretaker
from sidecar.core import lifecycle
from sidecar.core.states import ProofState, Run, RunState, run_proof
from sidecar.procs import spawn
from sidecar.store.events import read_events
from sidecar.store.lease import Holding, probe
from tests.support.left import assert_nothing_left
from tests.support.runs import Runs
from tests.support.wait import wait_until

SCRIPT = Path(__file__).parents[1] / "support" / "children" / "crashing_runner.py"
ROOT = Path(__file__).parents[2]

MORE_THAN_ANY_RUN_HAS = 60


class Crashing:
    """A spawner whose runners kill themselves after ``last`` effects."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.runner: subprocess.Popen[bytes] | None = None

    def spawn_runner(self, run_dir: str, lease_fd: int, env: Mapping[str, str], /) -> int:
        """Start the crashing runner with the lease as its descriptor 3."""
        with Path(run_dir, "runner.log").open("ab") as log:
            self.runner = subprocess.Popen(
                [
                    *("bash", "-c", f'exec 3<&{lease_fd} {lease_fd}<&-; exec "$@"', "bash"),
                    *(sys.executable, str(SCRIPT), run_dir, str(self.last)),
                    *spawn.package_paths(),
                ],
                env={**env, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lease_fd,),
                start_new_session=True,
            )
        return self.runner.pid

    def spawn_adopter(self, run_dir: str, env: Mapping[str, str], /) -> int:
        """Start the real one."""
        return spawn.spawn_adopter(run_dir, env)

    def reap(self, pid: int, /) -> int | None:
        """Collect the crashing runner; what came of it is in ``runner``."""
        assert self.runner is not None
        return self.runner.poll() if pid == self.runner.pid else 0


def end_of(runs: Runs, spawner: Crashing, run_id: str) -> Run:
    """The run once somebody has brought it to its end, and its runner has died."""
    assert spawner.runner is not None
    spawner.runner.wait(20)
    path = str(runs.path(run_id))

    def is_over() -> bool:
        if runs.read(run_id).is_over:
            return True
        if probe(path) is Holding.FREE:
            pid = spawn.spawn_adopter(path, runs.ctx.runner_env)
            wait_until(lambda: spawn.reap(pid) is not None, what="the adopter ended")
        return runs.read(run_id).is_over

    wait_until(is_over, what=lambda: f"an end of {runs.read(run_id)}: {runs.story(run_id)}")
    wait_until(lambda: probe(path) is Holding.FREE, what="the lease fallen")
    # What is left between the terminal status and the marker's removal is a caretaker's.
    assert not Caretaker(runs.ctx).tend(0).problems
    return runs.read(run_id)


def assert_true(runs: Runs, run_id: str, run: Run) -> None:
    """The invariants of any end."""
    page = read_events(str(runs.path(run_id) / "events.jsonl"), 0, 1000)
    assert page.skipped == 0
    assert [recorded.seq for recorded in page.events] == list(range(1, run.seq + 1))
    state: Run | None = None
    for recorded in page.events:
        state = lifecycle.fold(state, recorded)
    assert state == run
    result = runs.dir(run_id).read_result()
    assert result is not None
    assert result.outcome == run.outcome
    assert run_proof(run).state is ProofState.OBSERVED


def crashes() -> Iterator[int]:
    return iter(range(1, MORE_THAN_ANY_RUN_HAS))


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("story", ["exits", "lives"])
def test_a_run_whose_runner_dies_anywhere_ends_truly_and_leaves_nothing(
    tmp_path: Path, story: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table: list[str] = []
    for last in crashes():
        state_dir = tmp_path / str(last)
        state_dir.mkdir(mode=0o700)
        spawner = Crashing(last)
        runs = Runs(state_dir, spawner=spawner)
        mark = state_dir / "starts"
        body = "echo out" if story == "exits" else "echo out; exec sleep 60"
        timeout_ms = None if story == "exits" else 300
        run_id = runs.launch("sh", "-c", f"echo x >> {mark}; {body}", timeout_ms=timeout_ms)
        run = end_of(runs, spawner, run_id)
        assert_true(runs, run_id, run)
        assert run.outcome is not None
        starts = mark.read_text() if mark.exists() else ""
        if run.outcome.reason == "runner-lost":  # the warden may have ended it in its first breath
            assert starts in {"", "x\n"}, "the agent was started twice"
        else:
            assert starts == "x\n", "the agent was not started exactly once"
            assert runs.stdout(run_id) == b"out\n"
        allowed = {"completed", "runner-lost"} if story == "exits" else {"deadline", "runner-lost"}
        assert run.outcome.reason in allowed
        if run.state is not RunState.COMPLETE and run.outcome.failure is not None:
            assert run.outcome.failure.message
        assert_nothing_left(state_dir)
        assert spawner.runner is not None
        words = runs.story(run_id).splitlines()
        point = words[0] if words else "the end"
        # Why a tree is ended is on disk before it is ended.
        assert "EndTree" not in point or run.outcome.reason != "runner-lost"
        table.append(f"{last:3} {point:45} {run.outcome.reason}")
        if spawner.runner.returncode == 0:
            break
    else:
        pytest.fail("the run was never led to its end by its own runner")
    with capsys.disabled():
        print(f"\n{story}: killed after ... -> outcome", *table, sep=os.linesep)
    assert run.outcome.reason in {"completed", "deadline"}
