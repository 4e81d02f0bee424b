"""``sidecar stop``, ``dismiss`` and ``remove``: acting on runs, and being refused."""

import os
import signal
from pathlib import Path

from tests.process.cli.calling import SESSION, Cli
from tests.support import callers
from tests.support.serving import Gate
from tests.support.wait import wait_until


def test_a_stop_waits_for_the_proof(cli: Cli) -> None:
    run_id = cli.launch("sleep 60 & sleep 60")
    cli.wait_state(run_id, "running")
    said = cli.ok("stop", run_id, "--reason", "enough")
    assert said.out.startswith(f"{run_id} stopped after ")
    assert "nothing is left" in said.out
    run = cli.run_of(run_id)
    assert run["stoppedBy"] == {"cause": "user", "client": "sidecar-cli", "reason": "enough"}
    assert run["proof"]["state"] == "observed"


def test_without_waiting_the_stop_is_only_asked_for(cli: Cli) -> None:
    run_id = cli.launch("trap '' TERM; echo ready; while :; do sleep 0.1; done")
    wait_until(lambda: cli.ok("logs", run_id).out, what="the agent ignores TERM")
    said = cli.ok("stop", run_id, "--no-wait", "--grace", "10m")
    assert said.out.split()[:2] == [run_id, "stopping"]
    assert cli.run_of(run_id)["stopping"]["graceMs"] == 600_000
    # A second one can only hasten.
    said = cli.ok("stop", run_id, "--force")
    assert "had to be killed" in said.out


def test_stopping_what_is_over_is_no_error(cli: Cli) -> None:
    run_id = cli.ended("--", "true")
    assert cli.ok("stop", run_id).out.split()[:2] == [run_id, "complete"]


def test_several_are_stopped_although_one_is_unknown(cli: Cli) -> None:
    first, second = cli.launch("sleep 60"), cli.launch("sleep 60")
    said = cli.call("stop", first, "0000", second, "--json")
    assert said.code == 4
    assert '"not-found"' in said.err
    assert [run["runId"] for run in said.document["runs"]] == [first, second]
    assert {run["state"] for run in said.document["runs"]} == {"stopped"}


def test_another_sessions_run_is_left_alone_unless_it_is_meant(cli: Cli) -> None:
    other = Cli(state_dir=cli.state_dir, cwd=cli.cwd, env={"SIDECAR_SESSION": "other"})
    run_id = other.launch("sleep 60")
    for words in (["stop", run_id], ["dismiss", run_id], ["remove", run_id]):
        said = cli.call(*words)
        assert (said.code, said.out) == (5, "")
        assert "--any-session" in said.err
    assert "stopping" not in cli.run_of(run_id)
    cli.ok("stop", run_id, "--any-session")
    cli.ok("remove", run_id, "--any-session")


def test_a_live_run_is_neither_dismissed_nor_removed(cli: Cli) -> None:
    run_id = cli.launch("sleep 60")
    for words in (["dismiss", run_id], ["remove", run_id]):
        said = cli.call(*words)
        assert said.code == 5
        assert said.err.startswith("sidecar: ")
        assert len(said.err.splitlines()) == 2
    cli.ok("stop", run_id)
    cli.ok("remove", run_id)
    assert cli.call("show", run_id).code == 4
    assert not (cli.state_dir / "runs" / run_id).exists()


def test_ctrl_c_takes_no_stop_back(cli: Cli) -> None:
    run_id = cli.launch("trap '' TERM; echo ready; while :; do sleep 0.1; done")
    wait_until(lambda: cli.ok("logs", run_id).out, what="the agent ignores TERM")
    with cli.started("stop", run_id, "--grace", "3s") as call:
        wait_until(lambda: "stopping" in cli.run_of(run_id), what="the stop is accepted")
        os.killpg(call.pid, signal.SIGINT)
        _, err = call.communicate(timeout=40)
    assert call.returncode == 130
    assert b"still ends" in err
    cli.wait_state(run_id, "stopped")


def test_a_run_that_nobody_leads_is_ended_all_the_same(cli: Cli) -> None:
    context = callers.context(cli.state_dir, session=SESSION)
    made, runner = callers.launched(context)
    runner.vanish()
    run_id = made.snapshot.run.run_id
    cli.ok("stop", run_id)
    run = cli.run_of(run_id)
    assert (run["state"], run["proof"]["state"]) == ("stopped", "not-started")


def test_a_run_that_nobody_leads_is_adopted_by_whoever_waits(cli: Cli) -> None:
    context = callers.context(cli.state_dir, session=SESSION)
    made, runner = callers.launched(context)
    runner.vanish()
    assert "complete" in cli.ok("wait", made.snapshot.run.run_id).out


def test_the_doctor_repairs_on_request(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    context = callers.context(cli.state_dir, session=SESSION)
    made, runner = callers.launched(context, shell=f"{gate.wait}; exit 0")
    runner.vanish()
    run_id = made.snapshot.run.run_id
    assert f"{run_id} is being adopted" in cli.ok("doctor", "--repair").out
    gate.open()
    cli.wait_state(run_id, "complete")
    assert cli.ok("doctor", "--repair", "--json").document["repaired"]["adopting"] == []
