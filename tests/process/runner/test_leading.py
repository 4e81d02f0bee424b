"""A run from its launch to its end, as its files tell it."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest

from sidecar.control import stop
from sidecar.core import lifecycle
from sidecar.core.states import ProofState, Run, RunState, StopCause, run_proof
from sidecar.runner import loop
from sidecar.store.events import read_events
from tests.support.marks import parent_of
from tests.support.runs import Runs
from tests.support.wait import wait_until


def folded(runs: Runs, run_id: str) -> Run:
    """What the event log alone says."""
    state: Run | None = None
    for recorded in read_events(str(runs.path(run_id) / "events.jsonl"), 0, 1000).events:
        state = lifecycle.fold(state, recorded)
    assert state is not None
    return state


def test_a_command_completes_with_its_output_result_and_proof(runs: Runs) -> None:
    run_id = runs.launch("sh", "-c", "echo out; echo err >&2")
    run = runs.wait(run_id)
    assert (run.state, run.outcome and run.outcome.reason) == (RunState.COMPLETE, "completed")
    attempt = run.steps[0].attempt
    assert attempt is not None
    assert (attempt.stdout_bytes, attempt.stderr_bytes, attempt.preview) == (4, 4, "out")
    assert attempt.proof.state is ProofState.OBSERVED
    result = runs.dir(run_id).read_result()
    assert result is not None
    assert (result.outcome, result.steps[0].answer, result.steps[0].stderr_tail) == (
        run.outcome,
        "out\n",
        "err\n",
    )


def test_the_log_folds_to_the_status(runs: Runs) -> None:
    run_id = runs.launch("sh", "-c", "echo x; exit 4")
    run = runs.wait(run_id)
    assert folded(runs, run_id) == run


@pytest.mark.parametrize("code", [0, 1, 2, 77, 126, 127, 128, 143, 255])
def test_the_exit_code_is_recorded_as_it_is(runs: Runs, code: int) -> None:
    run = runs.wait(runs.launch("sh", "-c", f"exit {code}"))
    attempt = run.steps[0].attempt
    assert attempt is not None
    assert attempt.exit is not None
    assert (attempt.exit.code, attempt.exit.signal) == (code, None)
    assert run.state is (RunState.COMPLETE if code == 0 else RunState.FAILED)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_is_never_an_exit_code(runs: Runs, number: signal.Signals) -> None:
    run = runs.wait(runs.launch("sh", "-c", f"kill -{int(number)} $$"))
    attempt = run.steps[0].attempt
    assert attempt is not None
    assert attempt.exit is not None
    assert (attempt.exit.code, attempt.exit.signal) == (None, int(number))
    assert run.outcome is not None
    assert run.outcome.reason == "signal"


def test_a_program_that_is_not_there_fails_by_name(runs: Runs) -> None:
    run = runs.wait(runs.launch("/no/such/program"))
    assert run.outcome is not None
    assert run.outcome.failure is not None
    assert run.outcome.reason == "spawn-failed"
    assert "/no/such/program" in run.outcome.failure.message
    assert run.steps[0].attempt is not None
    assert run.steps[0].attempt.proof.state is ProofState.NOT_STARTED


def test_a_directory_may_go_while_the_agent_runs_in_it(runs: Runs, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    run_id = runs.launch("sh", "-c", f"rmdir {gone}; exec cat", cwd=gone)
    assert runs.wait(run_id).state is RunState.COMPLETE


def test_the_prompt_arrives_and_ends(runs: Runs) -> None:
    run_id = runs.launch("cat", prompt="héllo\n" * 40_000)
    assert runs.wait(run_id).state is RunState.COMPLETE
    assert runs.stdout(run_id) == ("héllo\n" * 40_000).encode()
    assert not (runs.path(run_id) / "steps/0/1/stdin").exists()


def test_a_deadline_fails_the_run_with_proof(runs: Runs) -> None:
    run = runs.wait(runs.launch("sleep", "60", timeout_ms=200))
    assert run.outcome is not None
    assert (run.state, run.outcome.reason) == (RunState.FAILED, "deadline")
    assert run_proof(run).state is ProofState.OBSERVED


def test_a_deadline_also_ends_what_ignores_term(runs: Runs) -> None:
    run = runs.wait(
        runs.launch("sh", "-c", "trap '' TERM; while :; do sleep 1; done", timeout_ms=200)
    )
    attempt = run.steps[0].attempt
    assert attempt is not None
    assert attempt.exit is not None
    assert attempt.exit.signal == signal.SIGKILL
    assert (attempt.proof.killed or 0) >= 1


def test_a_runner_that_is_told_to_terminate_ends_its_run(runs: Runs) -> None:
    run_id = runs.launch("sleep", "60")
    runs.wait_running(run_id)
    os.kill(runs.runner_pid, signal.SIGTERM)
    run = runs.wait(run_id)
    assert run.outcome is not None
    assert (run.state, run.outcome.reason) == (RunState.STOPPED, "runner-terminated")
    assert run.stopping is not None
    assert run.stopping.cause is StopCause.SIGNAL


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_a_runner_does_not_care_for_terminals(runs: Runs, number: signal.Signals) -> None:
    run_id = runs.launch("sh", "-c", "read x; echo $x", prompt="on\n")
    os.kill(runs.runner_pid, number)
    assert runs.wait(run_id).state is RunState.COMPLETE


def test_leftovers_are_ended_after_a_normal_exit(runs: Runs, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = (
        f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 60' & until [ -s {pid_file} ]; do :; done"
    )
    run = runs.wait(runs.launch("sh", "-c", script))
    assert run.state is RunState.COMPLETE
    pid = int(pid_file.read_text())
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), what="the leftover gone")


def test_output_that_a_leftover_holds_open_does_not_delay_the_end_for_ever(runs: Runs) -> None:
    run_id = runs.launch("sh", "-c", "echo done; sleep 60 & exit 3")
    attempt = runs.wait(run_id).steps[0].attempt
    assert attempt is not None
    assert attempt.exit is not None
    assert attempt.exit.code == 3
    assert not attempt.output_complete
    assert runs.stdout(run_id) == b"done\n"


def test_nothing_that_is_secret_leaves_the_request(runs: Runs) -> None:
    run_id = runs.launch("sh", "-c", "true", prompt="CANARY-PROMPT", env={"K": "CANARY-ENV"})
    runs.wait(run_id)
    holders = [
        path.name
        for path in runs.path(run_id).rglob("*")
        if path.is_file() and b"CANARY" in path.read_bytes()
    ]
    assert holders == ["request.json"]


def test_a_warden_that_somebody_stopped_still_ends_its_tree(runs: Runs) -> None:
    run_id = runs.launch("sleep", "60")
    warden = parent_of(runs.wait_running(run_id))
    os.kill(warden, signal.SIGSTOP)
    stop.stop(runs.ctx, run_id)
    run = runs.wait(run_id)
    assert (run.state, run_proof(run).state) == (RunState.STOPPED, ProofState.OBSERVED)


def test_what_lies_in_the_inbox_and_is_no_command_is_told_in_the_log(runs: Runs) -> None:
    run_id = runs.launch("sleep", "60")
    runs.wait_running(run_id)
    (runs.path(run_id) / "inbox" / "strange").write_text("CANARY")
    stop.stop(runs.ctx, run_id)
    assert runs.wait(run_id).state is RunState.STOPPED
    assert "inbox/strange" in runs.story(run_id)
    assert "CANARY" not in runs.story(run_id)


def test_words_that_a_full_disk_refuses_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stderr", full)
        loop.log("to nobody")
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
