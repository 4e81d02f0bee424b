"""The page of one run: every fact once, in words."""

from dataclasses import replace

from sidecar.cli import detail
from sidecar.cli.spans import bare
from sidecar.core.dismissal import Dismissal
from sidecar.core.states import AgentExit, Proof, ProofState, Run, RunState
from sidecar.store.lease import Holding
from sidecar.store.rundir import Stream
from tests.unit.cli.building import NOW, complete, over, running, seen, stopping


def log_path(step: int, attempt: int, stream: Stream) -> str:
    return f"/state/{step}/{attempt}/{stream}.log"


def page(run: Run, *, hidden: bool = False, holding: Holding = Holding.HELD) -> str:
    snapshot = seen(run)
    if hidden:
        snapshot = seen(run, dismissal=Dismissal(dismissed=True, changes=1, at=NOW, at_seq=run.seq))
    return "\n".join(bare(line).rstrip() for line in detail.lines(snapshot, holding, log_path, NOW))


def facts(run: Run, *, hidden: bool = False) -> dict[str, str]:
    pairs = (line.strip().partition(" ") for line in page(run, hidden=hidden).splitlines())
    return {key: value.strip() for key, _, value in pairs if key}


def test_a_running_run_tells_who_runs_it_and_when_it_last_said_something() -> None:
    shown = page(running(label="fix the parser"))
    assert "fix the parser" in shown
    assert "pid 4711" in shown
    assert "2.0 KiB stdout, 0 B stderr, last 3s ago" in shown
    assert "/state/0/1/stdout.log" in shown
    assert "/state/0/1/stderr.log" in shown


def test_a_complete_run_shows_its_answer_and_its_proof() -> None:
    shown = facts(complete(preview="all tests pass"))
    assert shown["answer"] == "all tests pass"
    assert shown["proof"] == "nothing is left (by subreaper)"
    assert shown["exit"] == "status 0"
    assert shown["agent"] == "pid 4711, gone"
    assert "runner" not in shown


def test_a_failure_tells_its_code_and_its_message() -> None:
    run = over(
        RunState.FAILED,
        "signal",
        exited=AgentExit(signal=11),
        message="the agent was ended by signal 11",
    )
    assert facts(run)["state"] == "failed (signal): the agent was ended by signal 11"
    assert facts(run)["exit"] == "signal 11"


def test_an_unknown_proof_is_not_told_as_a_good_one() -> None:
    unknown = Proof(state=ProofState.UNKNOWN, reason="warden-lost", detail="no trace")
    run = over(RunState.STOPPED, "stopped-by-user", proof=unknown)
    assert facts(run)["proof"] == "unknown: warden-lost: no trace"


def test_a_stop_tells_who_asked_and_what_they_said() -> None:
    shown = facts(stopping(reason="enough\x1b[31m"))
    assert shown["state"] == "stopping"
    assert shown["stop"] == "user (nvim), grace 3s: enough"


def test_what_is_left_of_a_deadline_is_told() -> None:
    run = replace(running(), timeout_ms=90_000)
    assert facts(run)["deadline"] == "1m30s (30s left)"
    assert facts(replace(run, timeout_ms=1000))["deadline"] == "1s (passed)"
    assert facts(replace(complete(), timeout_ms=90_000))["deadline"] == "1m30s"


def test_a_dismissal_an_adoption_and_a_parent_are_told() -> None:
    run = replace(complete(), adoptions=1, parent_run_id="0" * 36)
    shown = facts(run, hidden=True)
    assert shown["dismissed"].endswith("(now)")
    assert shown["adopted"] == "once"
    assert shown["parent"] == "0" * 36


def test_output_that_was_given_up_is_told() -> None:
    run = complete()
    (step,) = run.steps
    assert step.attempt is not None
    attempt = replace(step.attempt, output_complete=False)
    run = replace(run, steps=(replace(step, attempt=attempt),))
    assert "somebody held it open" in facts(run)["output"]


def test_a_step_that_never_started_has_no_logs() -> None:
    run = running()
    (step,) = run.steps
    run = replace(run, steps=(replace(step, attempt=None, started_at=None),))
    assert "stdout" not in facts(run)


def test_a_run_that_nobody_leads_is_told_apart() -> None:
    assert "pid 4700" in page(running())
    assert "nobody leads it" in page(running(), holding=Holding.FREE)
    assert "cannot be told" in page(running(), holding=Holding.UNKNOWN)
    assert "nobody leads it" not in page(complete(), holding=Holding.FREE)
    assert "is being started" in page(replace(running(), leader=None))
