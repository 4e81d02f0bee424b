"""The invariants hold for every order of events that can legally come.

I4 terminal absorbs; revision (seq) grows by one with every change; I5 the fold of the events is
the status; every live state can end.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sidecar.core import lifecycle
from sidecar.core.effects import AppendEvent, EndTree, StartAttempt, StoreResult
from sidecar.core.events import (
    DeadlinePassed,
    Event,
    OutputSeen,
    PlannedStep,
    Recorded,
    ResultStored,
    RunLaunched,
    RunnerLost,
    SpawnFailed,
    WardenLost,
)
from sidecar.core.states import Attempt, AttemptState, Failure, Outcome, Proof, ProofState, Run
from tests.unit.core.builders import (
    NOW,
    OBSERVED,
    drained,
    exited,
    launched,
    proven,
    spawned,
    started,
    stop,
)

UNKNOWN = Proof(state=ProofState.UNKNOWN, reason="verification-failed", detail="pid 1")


class Lifecycle(RuleBasedStateMachine):
    """Plays warden, runner, people and clock in any order that they keep to."""

    def __init__(self) -> None:
        super().__init__()
        self.run: Run = launched(timeout_ms=10, step_timeouts=(5, None))
        self.now = NOW
        self.log: list[Recorded] = []
        self.to_store: Outcome | None = None
        self.end_ordered: set[int] = set()
        self.final: Run | None = None
        first = self.run
        event = RunLaunched(
            run_id=first.run_id,
            mode=first.mode,
            session_id=first.session_id,
            cwd=first.cwd,
            label=first.label,
            parent_run_id=None,
            timeout_ms=first.timeout_ms,
            steps=tuple(
                PlannedStep(
                    id=item.id, agent=item.agent, label=item.label, timeout_ms=item.timeout_ms
                )
                for item in first.steps
            ),
        )
        self.log.append(Recorded(seq=1, at=NOW, event=event))

    def feed(self, event: Event) -> None:
        before = self.run
        self.now += 1
        self.run, effects = lifecycle.step(before, event, self.now)
        recorded = [effect.recorded for effect in effects if isinstance(effect, AppendEvent)]
        self.log += recorded
        assert len(recorded) == (0 if self.run is before else 1)
        assert self.run.seq == before.seq + len(recorded)
        for effect in effects:
            match effect:
                case StoreResult(outcome=outcome):
                    self.to_store = outcome
                case EndTree(step=step):
                    self.end_ordered.add(step)
                case StartAttempt(step=step):
                    assert self.run.stopping is None, step

    def live(self) -> tuple[int, Attempt] | None:
        for item in self.run.steps:
            if item.attempt is not None and item.attempt.state is not AttemptState.SETTLED:
                return item.index, item.attempt
        return None

    def in_state(self, *states: AttemptState) -> bool:
        live = self.live()
        return live is not None and live[1].state in states and not self.run.is_over

    @rule(adopted=st.booleans())
    def a_runner_starts(self, adopted: bool) -> None:
        self.feed(started(adopted))

    @rule(grace_ms=st.sampled_from([0, 3000]))
    def somebody_stops(self, grace_ms: int) -> None:
        self.feed(stop(grace_ms))

    @rule(of_run=st.booleans())
    def a_deadline_passes(self, of_run: bool) -> None:
        self.feed(DeadlinePassed(step=None if of_run else 0, timeout_ms=5))

    @precondition(lambda self: self.in_state(AttemptState.STARTING))
    @rule(works=st.booleans())
    def the_warden_spawns(self, works: bool) -> None:
        index, attempt = self.known()
        failure = Failure(code="spawn-failed", message="x")
        event: Event = spawned(index, attempt.number)
        if not works:
            event = SpawnFailed(step=index, attempt=attempt.number, failure=failure)
        self.feed(event)

    def known(self) -> tuple[int, Attempt]:
        live = self.live()
        assert live is not None
        return live

    @precondition(lambda self: self.live() is not None)
    @rule()
    def output_comes(self) -> None:
        index, attempt = self.known()
        self.feed(OutputSeen(step=index, attempt=attempt.number, stdout_bytes=9, stderr_bytes=0))

    @precondition(lambda self: self.in_state(AttemptState.RUNNING))
    @rule(code=st.sampled_from([0, 1]))
    def the_agent_exits(self, code: int) -> None:
        self.feed(exited(code, step=self.known()[0]))

    @precondition(lambda self: self.in_state(AttemptState.RUNNING))
    @rule()
    def the_tree_cannot_be_ended(self) -> None:
        self.feed(proven(self.known()[0], UNKNOWN))

    @precondition(lambda self: self.in_state(AttemptState.DRAINING, AttemptState.EMPTYING))
    @rule(complete=st.booleans())
    def the_output_ends(self, complete: bool) -> None:
        self.feed(drained(self.known()[0], complete))

    @precondition(lambda self: self.in_state(AttemptState.DRAINING, AttemptState.CLEARING))
    @rule(proof=st.sampled_from([OBSERVED, UNKNOWN]))
    def the_tree_ends(self, proof: Proof) -> None:
        self.feed(proven(self.known()[0], proof))

    @precondition(lambda self: self.live() is not None)
    @rule()
    def the_warden_vanishes(self) -> None:
        index, attempt = self.known()
        self.feed(WardenLost(step=index, attempt=attempt.number))

    @precondition(lambda self: self.live() is not None)
    @rule()
    def the_runner_vanished(self) -> None:
        index, attempt = self.known()
        failure = Failure(code="runner-lost", message="x")
        self.feed(RunnerLost(step=index, attempt=attempt.number, failure=failure))

    @precondition(lambda self: self.to_store is not None)
    @rule()
    def the_result_is_durable(self) -> None:
        assert self.to_store is not None
        self.feed(ResultStored(outcome=self.to_store))

    @invariant()
    def the_fold_of_the_events_is_the_status(self) -> None:
        folded: Run | None = None
        for recorded in self.log:
            folded = lifecycle.fold(folded, recorded)
        assert folded == self.run

    @invariant()
    def a_terminal_state_never_changes(self) -> None:
        if self.final is not None:
            assert self.run == self.final
        elif self.run.is_over:
            self.final = self.run

    @invariant()
    def it_is_over_only_with_settled_attempts_and_a_stored_result(self) -> None:
        if self.run.is_over:
            assert self.to_store is not None
            assert self.live() is None

    @invariant()
    def a_stopping_run_with_a_live_tree_has_ordered_its_end(self) -> None:
        live = self.live()
        if self.run.stopping is not None and live is not None:
            assert live[0] in self.end_ordered

    def teardown(self) -> None:
        """Every live state can end: by the shortest way from here."""
        if self.run.is_over:
            return
        self.feed(started(adopted=True))
        self.feed(stop(0))
        live = self.live()
        if live is not None:
            index, attempt = live
            if attempt.state in {AttemptState.STARTING, AttemptState.RUNNING}:
                self.feed(WardenLost(step=index, attempt=attempt.number))
            self.feed(proven(index))
            self.feed(drained(index))
        assert self.to_store is not None
        self.feed(ResultStored(outcome=self.to_store))
        assert self.run.is_over


Lifecycle.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, derandomize=True
)
TestLifecycle = Lifecycle.TestCase
