"""What a vanished runner or warden left, row by row, ends in one true outcome."""

import pytest

from sidecar.core import diagnose
from sidecar.core.diagnose import AttemptEvidence
from sidecar.core.events import Event
from sidecar.core.outcome import COMPLETED
from sidecar.core.states import AgentExit, AttemptState, Failure, Outcome, ProofState, Run, RunState
from tests.unit.core.builders import (
    AGENT,
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

TERM = AgentExit(signal=15)
ENDED_BY_WARDEN = AttemptEvidence(
    has_record=True, agent=AGENT, exit=TERM, runner_vanished=True, proof=OBSERVED
)
EXITED_BEFORE = AttemptEvidence(
    has_record=True,
    agent=AGENT,
    exit=AgentExit(code=0),
    runner_vanished=True,
    exit_before_loss=True,
    proof=OBSERVED,
)
ALL_GONE = AttemptEvidence(has_record=True, agent=AGENT)
SPAWN_FAILED = AttemptEvidence(
    has_record=True, spawn_failure=Failure(code="spawn-failed", message="no such file")
)
FORKED_ONLY = AttemptEvidence(has_record=True)


def repaired(run: Run, evidence: AttemptEvidence) -> Run:
    """``run`` after an adopter has fed what ``diagnose`` concludes, twice."""
    run, _ = play(run, started(adopted=True))
    for _ in range(2):
        attempt = run.steps[0].attempt
        assert attempt is not None
        events = diagnose.attempt_events(0, attempt, evidence, is_stopping=run.stopping is not None)
        run, _ = play(run, *events)
    return run


STARTING: tuple[Event, ...] = (started(),)
RUNNING: tuple[Event, ...] = (started(), spawned())
DRAINING: tuple[Event, ...] = (*RUNNING, exited(0))
CLEARING: tuple[Event, ...] = (*DRAINING, drained())
EMPTYING: tuple[Event, ...] = (*DRAINING, proven())


@pytest.mark.parametrize(
    ("story", "evidence", "reason"),
    [
        (STARTING, ENDED_BY_WARDEN, "runner-lost"),
        (RUNNING, ENDED_BY_WARDEN, "runner-lost"),
        (STARTING, EXITED_BEFORE, "completed"),
        (RUNNING, EXITED_BEFORE, "completed"),
        (DRAINING, EXITED_BEFORE, "completed"),
        (CLEARING, EXITED_BEFORE, "completed"),
        (EMPTYING, EXITED_BEFORE, "completed"),
        (STARTING, ALL_GONE, "runner-lost"),
        (RUNNING, ALL_GONE, "runner-lost"),
        (DRAINING, ALL_GONE, "completed"),
        (CLEARING, ALL_GONE, "completed"),
        (EMPTYING, ALL_GONE, "completed"),
        (STARTING, SPAWN_FAILED, "spawn-failed"),
        (STARTING, FORKED_ONLY, "runner-lost"),
    ],
)
def test_every_row_ends_in_one_outcome(
    story: tuple[Event, ...], evidence: AttemptEvidence, reason: str
) -> None:
    run, _ = play(launched(), *story)
    run = repaired(run, evidence)
    attempt = run.steps[0].attempt
    assert attempt is not None
    assert attempt.state is AttemptState.SETTLED
    assert run.outcome is not None
    assert run.outcome.reason == reason


def test_an_attempt_without_a_record_was_never_started() -> None:
    run, _ = play(launched(), started())
    attempt = run.steps[0].attempt
    assert attempt is not None
    evidence = AttemptEvidence(has_record=False)
    assert diagnose.attempt_events(0, attempt, evidence, is_stopping=False) == ()
    stopped = repaired(play(run, stop())[0], evidence)
    assert stopped.outcome == Outcome(state=RunState.STOPPED, reason="stopped-by-user")


def test_without_a_word_of_the_warden_the_proof_is_unknown() -> None:
    run = repaired(play(launched(), *RUNNING)[0], ALL_GONE)
    attempt = run.steps[0].attempt
    assert attempt is not None
    assert attempt.proof.state is ProofState.UNKNOWN


def test_a_stop_that_was_under_way_stays_a_stop() -> None:
    run = repaired(play(launched(), *RUNNING, stop())[0], ENDED_BY_WARDEN)
    assert run.outcome == Outcome(state=RunState.STOPPED, reason="stopped-by-user")


def test_the_runners_last_words_are_told() -> None:
    evidence = AttemptEvidence(has_record=True, agent=AGENT, runner_log="ImportError: x")
    run = repaired(play(launched(), *RUNNING)[0], evidence)
    assert run.outcome is not None
    assert run.outcome != COMPLETED
    assert run.outcome.failure is not None
    assert "ImportError: x" in run.outcome.failure.message
