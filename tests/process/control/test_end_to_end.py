"""Control with real runners: launch, look, stop, wait, lose a runner, and be done."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.control import read
from sidecar.control.caretaker import Caretaker
from sidecar.control.dismiss import dismiss
from sidecar.control.remove import remove
from sidecar.control.stop import stop
from sidecar.control.waiting import Until, wait
from sidecar.core import policy
from sidecar.core.states import ProofState, RunState, StopCause, run_proof
from sidecar.procs import spawn
from tests.support.runs import Runs
from tests.support.wait import wait_until


def test_a_run_from_launch_to_removal(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "two words").mkdir()
    run_id = runs.launch("sh", "-c", "pwd; cat", prompt="hello", cwd=tmp_path / "two words")
    waited = wait(runs.ctx, [run_id[:18]], Until.ALL)
    assert [snapshot.run.state for snapshot in waited.snapshots] == [RunState.COMPLETE]
    page = read.output(runs.ctx, run_id)
    assert page.data == f"{tmp_path}/two words\nhello".encode()
    assert page.eof
    result = read.result(runs.ctx, run_id)
    assert result.steps[0].answer == f"{tmp_path}/two words\nhello"
    numbers = [recorded.seq for recorded in read.events(runs.ctx, run_id).events]
    assert numbers == list(range(1, read.get(runs.ctx, run_id).run.seq + 1))
    dismiss(runs.ctx, run_id)
    assert read.list_runs(runs.ctx, scope="all").snapshots == ()
    remove(runs.ctx, run_id)
    assert list((Path(runs.layout.state_dir) / "runs").iterdir()) == []


def test_a_stop_is_answered_at_once_and_ends_in_a_proof(runs: Runs) -> None:
    run_id = runs.launch("sh", "-c", "sleep 600 & sleep 600")
    runs.wait_running(run_id)
    answer = stop(runs.ctx, run_id, reason="enough", grace_ms=1000)
    assert answer.run.stopping is not None
    stop(runs.ctx, run_id)
    (over,) = wait(runs.ctx, [run_id]).snapshots
    assert (over.run.state, run_proof(over.run).state) == (
        RunState.STOPPED,
        ProofState.OBSERVED,
    )
    assert over.run.stopping is not None
    assert (over.run.stopping.cause, over.run.stopping.client, over.run.stopping.reason) == (
        StopCause.USER,
        "test",
        "enough",
    )


class NoRunner:
    """Like ``procs.spawn``, but its runners never come to life; as after a crash of the machine."""

    def spawn_runner(self, run_dir: str, lease_fd: int, env: object) -> int:
        """Start nobody."""
        del run_dir, lease_fd, env
        return os.posix_spawn("/bin/true", ["true"], {})

    spawn_adopter = staticmethod(spawn.spawn_adopter)
    reap = staticmethod(spawn.reap)


def test_a_stop_of_a_run_that_nobody_leads_waits_for_its_adopter(state_dir: Path) -> None:
    runs = Runs(state_dir, spawner=NoRunner())
    run_id = runs.launch("sleep", "600")
    assert stop(runs.ctx, run_id).run.stopping is not None
    caretaker = Caretaker(runs.ctx)
    caretaker.expect(run_id)
    assert caretaker.tend(0).adopting == (run_id,)
    over = runs.wait(run_id)
    assert over.state is RunState.STOPPED
    runs.close()


@pytest.mark.parametrize("both", [False, True])
def test_a_lost_run_ends_without_being_asked(runs: Runs, both: bool) -> None:
    run_id = runs.launch("sh", "-c", "echo one; sleep 600")
    agent = runs.wait_running(run_id)
    warden = int(Path(f"/proc/{agent}/stat").read_text().rpartition(")")[2].split()[1])
    if both:
        os.kill(warden, signal.SIGKILL)
        os.kill(agent, signal.SIGKILL)
    os.kill(runs.runner_pid, signal.SIGKILL)
    caretaker = Caretaker(runs.ctx)

    def is_over() -> bool:
        caretaker.tend(time.monotonic_ns() // 1_000_000)
        return runs.read(run_id).is_over

    wait_until(
        is_over,
        what=lambda: f"the run over: {runs.read(run_id)} {runs.story(run_id)}",
    )
    assert runs.read(run_id).state is RunState.FAILED
    assert read.output(runs.ctx, run_id).data == b"one\n"
    if run_proof(runs.read(run_id)).state is ProofState.UNKNOWN:
        # Nobody can say any more that nothing is left: it is listed for another day.
        assert [item.run.run_id for item in read.list_runs(runs.ctx).snapshots] == [run_id]
        tomorrow = replace(runs.ctx, now_ms=lambda: runs.ctx.now_ms() + policy.MARKER_AGE_MS)
        assert Caretaker(tomorrow).tend(0).released == (run_id,)
    assert read.list_runs(runs.ctx).snapshots == ()
