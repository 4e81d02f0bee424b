"""Stories of a run: what each event makes of it, and what is ordered."""

from dataclasses import replace

import pytest

from sidecar.core import lifecycle
from sidecar.core.effects import (
    AppendEvent,
    ClearDeadlines,
    Dismiss,
    EndTree,
    FinishCommand,
    Leave,
    ReleaseMarker,
    SetDeadline,
    StartAttempt,
    StoreResult,
    Urgency,
    WatchDrain,
    WriteStatus,
)
from sidecar.core.errors import Bug
from sidecar.core.events import (
    AgentExited,
    DeadlinePassed,
    OutputSeen,
    Recorded,
    ResultStored,
    RunnerLost,
    SpawnFailed,
    WardenLost,
)
from sidecar.core.outcome import COMPLETED
from sidecar.core.states import (
    AttemptState,
    Failure,
    Outcome,
    Proof,
    ProofState,
    RunState,
    StepState,
    StopCause,
    run_proof,
)
from tests.unit.core.builders import (
    NOW,
    OBSERVED,
    drained,
    exited,
    launched,
    play,
    proven,
    spawned,
    started,
    stop,
)

NOW_WRITE = WriteStatus(urgency=Urgency.IMMEDIATE)
STORED = ResultStored(outcome=COMPLETED)


def test_a_launched_run_is_queued_with_pending_steps() -> None:
    run = launched()
    assert (run.state, run.seq) == (RunState.QUEUED, 1)
    assert [item.state for item in run.steps] == [StepState.PENDING]


def test_a_runner_starts_the_first_attempt() -> None:
    run, effects = play(launched(), started())
    assert run.state is RunState.RUNNING
    assert run.steps[0].state is StepState.RUNNING
    assert effects == [StartAttempt(step=0, attempt=1), NOW_WRITE]


def test_the_event_is_recorded_before_anything_else() -> None:
    _, effects = lifecycle.step(launched(), started(), NOW)
    assert isinstance(effects[0], AppendEvent)
    assert (effects[0].recorded.seq, effects[0].recorded.at) == (2, NOW)


def test_a_clean_exit_completes_only_after_output_proof_and_result() -> None:
    run, effects = play(launched(), started(), spawned(), exited(0))
    assert run.state is RunState.RUNNING
    assert WatchDrain(step=0, attempt=1) in effects
    run, effects = play(run, drained())
    assert effects == [NOW_WRITE, EndTree(step=0, attempt=1, grace_ms=3000)]
    run, effects = play(run, proven())
    assert run.state is RunState.RUNNING  # the result is not durable yet
    assert effects == [
        NOW_WRITE,
        Dismiss(step=0, attempt=1),
        ClearDeadlines(),
        StoreResult(outcome=COMPLETED),
    ]
    run, effects = play(run, STORED)
    assert (run.state, run.outcome) == (RunState.COMPLETE, COMPLETED)
    assert effects == [WriteStatus(urgency=Urgency.DURABLE), ReleaseMarker(), Leave()]


def test_the_proof_may_come_before_the_output_is_complete() -> None:
    run, _ = play(launched(), started(), spawned(), exited(0), proven())
    attempt = run.steps[0].attempt
    assert attempt is not None
    assert attempt.state is AttemptState.EMPTYING
    run, effects = play(run, drained())
    assert StoreResult(outcome=COMPLETED) in effects


@pytest.mark.parametrize(
    ("exit_event", "reason"),
    [(exited(3), "exit-status"), (exited(signal=9), "signal")],
)
def test_a_failed_exit_fails_the_run(exit_event: AgentExited, reason: str) -> None:
    run, _ = play(launched(), started(), spawned(), exit_event, drained(), proven())
    assert run.outcome is not None
    assert (run.outcome.state, run.outcome.reason) == (RunState.FAILED, reason)


def test_an_agent_that_cannot_be_started_fails_without_a_tree() -> None:
    failure = Failure(code="spawn-failed", message="no such file: x")
    run, effects = play(launched(), started(), SpawnFailed(step=0, attempt=1, failure=failure))
    assert run.outcome == Outcome(state=RunState.FAILED, reason="spawn-failed", failure=failure)
    run, effects = play(run, ResultStored(outcome=run.outcome))
    assert ReleaseMarker() in effects


def test_a_stop_keeps_the_run_live_until_its_tree_is_proven_gone() -> None:
    run, effects = play(launched(), started(), spawned(), stop(grace_ms=700))
    assert run.state is RunState.RUNNING
    assert run.stopping is not None
    assert run.stopping.cause is StopCause.USER
    assert effects[-3:] == [
        NOW_WRITE,
        FinishCommand(command_id="1-stop"),
        EndTree(step=0, attempt=1, grace_ms=700),
    ]
    run, _ = play(run, exited(signal=15), drained(), proven())
    assert run.outcome == Outcome(state=RunState.STOPPED, reason="stopped-by-user")
    assert run.steps[0].state is StepState.STOPPED


def test_a_second_stop_hastens_but_does_not_change_who_stopped() -> None:
    run, _ = play(launched(), started(), spawned(), stop(grace_ms=60_000))
    again, effects = play(run, replace(stop(grace_ms=0), client="other"))
    assert EndTree(step=0, attempt=1, grace_ms=0) in effects
    assert again.stopping is not None
    assert (again.stopping.client, again.stopping.grace_ms) == ("test", 0)
    same, effects = play(again, stop(grace_ms=5000))
    assert same is again
    assert effects == [FinishCommand(command_id="1-stop")]


def test_a_queued_run_that_is_stopped_never_starts() -> None:
    run, effects = play(launched(), stop())
    outcome = Outcome(state=RunState.STOPPED, reason="stopped-by-user")
    assert StoreResult(outcome=outcome) in effects
    again, effects = play(run, started())
    assert not [e for e in effects if isinstance(e, StartAttempt)]
    assert StoreResult(outcome=outcome) in effects
    over, effects = play(again, ResultStored(outcome=outcome))
    assert over.state is RunState.STOPPED
    assert run_proof(over).state is ProofState.NOT_STARTED


def test_a_deadline_ends_the_tree_and_fails_the_run() -> None:
    run, effects = play(launched(timeout_ms=1000), started(), spawned())
    assert SetDeadline(step=None, delay_ms=1000, timeout_ms=1000) in effects
    run, effects = play(run, DeadlinePassed(step=None, timeout_ms=1000))
    assert run.state is RunState.RUNNING
    assert EndTree(step=0, attempt=1, grace_ms=3000) in effects
    run, _ = play(run, exited(signal=15), drained(), proven())
    assert run.outcome is not None
    assert (run.outcome.state, run.outcome.reason) == (RunState.FAILED, "deadline")


def test_a_persons_stop_outranks_a_deadline_that_came_first() -> None:
    run, _ = play(
        launched(timeout_ms=1000),
        started(),
        spawned(),
        DeadlinePassed(step=None, timeout_ms=1000),
        stop(),
        exited(signal=15),
        drained(),
        proven(),
    )
    assert run.outcome is not None
    assert run.outcome.state is RunState.STOPPED


@pytest.mark.parametrize("cause", [StopCause.PARENT, StopCause.SIGNAL])
def test_only_a_persons_stop_does(cause: StopCause) -> None:
    run, _ = play(
        launched(timeout_ms=100),
        started(),
        spawned(),
        DeadlinePassed(step=None, timeout_ms=100),
        stop(500, cause),
    )
    assert run.stopping is not None
    assert (run.stopping.cause, run.stopping.grace_ms) == (StopCause.DEADLINE, 500)


def test_a_deadline_is_counted_from_the_start_also_after_an_adoption() -> None:
    run, _ = play(launched(timeout_ms=1000), started(), spawned())
    _, effects = play(run, started(adopted=True), now=NOW + 400)
    assert SetDeadline(step=None, delay_ms=600, timeout_ms=1000) in effects


def test_a_clock_that_was_set_back_lengthens_no_deadline() -> None:
    run, _ = play(launched(timeout_ms=1000), started(), spawned())
    _, effects = play(run, started(adopted=True), now=NOW - 86_400_000)
    assert SetDeadline(step=None, delay_ms=1000, timeout_ms=1000) in effects


def test_a_lost_warden_fails_the_attempt_but_its_tree_is_still_ended() -> None:
    run, effects = play(launched(), started(), spawned(), WardenLost(step=0, attempt=1))
    assert EndTree(step=0, attempt=1, grace_ms=3000) in effects
    run, _ = play(run, exited(signal=15), proven(), drained())
    assert run.outcome is not None
    assert run.outcome.reason == "warden-lost"


def test_what_is_lost_after_the_agents_own_end_does_not_change_its_outcome() -> None:
    lost = RunnerLost(step=0, attempt=1, failure=Failure(code="runner-lost", message="gone"))
    run, _ = play(launched(), started(), spawned(), exited(0), lost, drained(), proven())
    assert run.outcome == COMPLETED


def test_an_agent_that_cannot_be_ended_keeps_its_run_live_and_says_why() -> None:
    refused = Proof(state=ProofState.UNKNOWN, reason="not-permitted", detail="pid 7")
    run, _ = play(launched(), started(), spawned(), stop(), proven(proof=refused))
    assert run.state is RunState.RUNNING
    assert run_proof(run) == refused
    run, _ = play(run, exited(0), drained(), proven())
    assert run.outcome is not None
    assert run.outcome.state is RunState.STOPPED
    assert run_proof(run) == OBSERVED


def test_a_run_whose_proof_cannot_be_had_keeps_its_marker() -> None:
    unknown = Proof(state=ProofState.UNKNOWN, reason="verification-failed", detail="pid 7")
    run, _ = play(launched(), started(), spawned(), exited(0), drained(), proven(proof=unknown))
    assert run.outcome is not None
    _, effects = play(run, ResultStored(outcome=run.outcome))
    assert ReleaseMarker() not in effects
    assert effects[-1] == Leave()


def test_output_is_coalesced_and_ignored_once_drained() -> None:
    seen = OutputSeen(step=0, attempt=1, stdout_bytes=5, stderr_bytes=1)
    run, effects = play(launched(), started(), spawned(), seen)
    assert effects[-1] == WriteStatus(urgency=Urgency.COALESCED)
    run, _ = play(run, exited(0), drained())
    same, effects = play(run, seen)
    assert same is run
    assert not effects


def test_an_adopter_of_a_decided_run_only_stores_the_result_again() -> None:
    run, _ = play(launched(), started(), spawned(), exited(0), drained(), proven())
    again, effects = play(run, started(adopted=True))
    assert again.adoptions == 1
    assert effects == [NOW_WRITE, StoreResult(outcome=COMPLETED)]


def test_an_adopter_orders_the_start_of_an_attempt_that_may_not_have_begun() -> None:
    run, _ = play(launched(), started())
    _, effects = play(run, started(adopted=True))
    assert StartAttempt(step=0, attempt=1) in effects


def test_an_adopter_of_a_stopping_run_orders_the_end_again() -> None:
    run, _ = play(launched(), started(), spawned(), stop())
    _, effects = play(run, started(adopted=True))
    assert EndTree(step=0, attempt=1, grace_ms=3000) in effects


def test_an_adopter_of_a_stopping_run_starts_nothing() -> None:
    run, _ = play(launched(), started(), stop())
    _, effects = play(run, started(adopted=True))
    assert not [effect for effect in effects if isinstance(effect, StartAttempt)]


def test_a_chain_goes_on_after_success_and_skips_after_failure() -> None:
    run, effects = play(
        launched(step_timeouts=(None, 50)), started(), spawned(), exited(0), drained(), proven()
    )
    assert effects[-3:] == [
        Dismiss(step=0, attempt=1),
        StartAttempt(step=1, attempt=1),
        SetDeadline(step=1, delay_ms=50, timeout_ms=50),
    ]
    run, effects = play(
        launched(step_timeouts=(None, None)), started(), spawned(), exited(1), drained(), proven()
    )
    assert run.steps[1].state is StepState.SKIPPED
    assert run.outcome is not None
    assert run.outcome.reason == "exit-status"


def test_a_record_that_is_late_to_this_version_still_uses_up_its_number() -> None:
    run, _ = play(launched(), started(), spawned(), exited(), drained(), proven())
    late = Recorded(seq=run.seq + 1, at=NOW, event=drained())
    assert lifecycle.step(run, late.event, NOW) == (run, ())
    assert lifecycle.fold(run, late) == replace(run, seq=run.seq + 1)


def test_an_impossible_event_is_a_bug_with_the_story() -> None:
    with pytest.raises(Bug, match="agent-exited in attempt state starting"):
        play(launched(), started(), exited(0))
    with pytest.raises(Bug, match="tree-ended in state queued"):
        play(launched(), proven())


def test_the_stored_outcome_is_the_truth() -> None:
    """Adopt found a result that the lost tail of the log did not explain."""
    stored = Outcome(state=RunState.STOPPED, reason="stopped-by-user")
    run, _ = play(launched(), started(), ResultStored(outcome=stored))
    assert (run.state, run.outcome) == (RunState.STOPPED, stored)


def test_the_run_proof_is_the_weakest_of_its_steps() -> None:
    run, _ = play(
        launched(step_timeouts=(None, None)), started(), spawned(), exited(0), drained(), proven()
    )
    assert run_proof(run).state is ProofState.PENDING
    run, _ = play(run, spawned(1), exited(0, step=1), drained(1), proven(1, OBSERVED))
    assert run_proof(run) == OBSERVED
