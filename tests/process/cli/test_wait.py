"""``sidecar wait``: for one, for all, for the first; mirrored, bounded, left alone."""

import os
import signal
from pathlib import Path

from tests.process.cli.calling import Cli, read_line
from tests.support.serving import Gate
from tests.support.wait import wait_until


def test_each_end_is_told_and_the_first_bad_one_mirrored(cli: Cli) -> None:
    good = cli.launch("exit 0")
    bad = cli.launch("exit 7")
    said = cli.call("wait", good, bad)
    assert said.code == 7
    told = {line.split()[0]: line.split()[1] for line in said.out.splitlines()}
    assert told == {good: "complete", bad: "failed"}


def test_without_ids_the_sessions_live_runs_are_meant(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    cli.ended("--", "false")
    other = Cli(state_dir=cli.state_dir, cwd=cli.cwd, env={"SIDECAR_SESSION": "other"})
    others = other.launch("sleep 60")
    run_id = cli.launch(gate.wait)
    with cli.started("wait", "--json") as call:
        # Its bell hangs once it knows whom it waits for.
        bells = cli.state_dir / "doorbells"
        wait_until(lambda: list(bells.glob(f"{call.pid}-*.sock")), what="it waits")
        gate.open()
        out, _ = call.communicate(timeout=40)
    assert call.returncode == 0
    assert out.count(b'"runId"') == 1
    assert run_id.encode() in out
    assert cli.ok("wait").out == ""
    other.ok("stop", others)


def test_the_first_is_enough_if_any_is_meant(cli: Cli) -> None:
    slow, quick = cli.launch("sleep 60"), cli.launch("exit 5")
    said = cli.call("wait", "--any", slow, quick)
    assert said.code == 5
    assert said.out.split()[0] == quick
    cli.ok("stop", slow)


def test_a_wait_has_an_end_and_the_run_goes_on(cli: Cli) -> None:
    run_id = cli.launch("sleep 60")
    said = cli.call("wait", run_id, "--timeout", "100ms")
    assert (said.code, said.out) == (124, "")
    assert "1 run goes on" in said.err
    said = cli.call("wait", run_id, "--timeout", "0s", "--json")
    assert said.code == 124
    assert said.document["timedOut"] is True
    cli.ok("stop", run_id)


def test_ctrl_c_leaves_the_runs_alone(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    over, run_id = cli.ended("--", "true"), cli.launch(gate.wait)
    with cli.started("wait", over, run_id) as call:
        # It tells of the one that is over, and then it waits.
        assert read_line(call).split()[0] == over.encode()
        os.killpg(call.pid, signal.SIGINT)
        _, err = call.communicate(timeout=40)
    assert call.returncode == 130
    assert b"the runs go on" in err
    gate.open()
    cli.wait_state(run_id, "complete")


def test_a_person_sees_what_is_awaited(cli: Cli) -> None:
    run_id = cli.launch("sleep 1")
    shown = cli.in_terminal("wait", run_id, NO_COLOR="1")
    assert "waiting for 1 running (Ctrl-C leaves them alone)" in shown
    # The line is gone before the next is written, and nothing of it is left at the end.
    assert shown.splitlines()[-1].split("\x1b[K")[-1].startswith(f"{run_id[:13]} complete after")
