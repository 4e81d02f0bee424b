"""The lifecycle of a run: every transition, and nothing else.

Rule 1: all that decides what becomes of a run is reached from ``step``.  Rule 2: nobody here knows
who is asking; the live runner, the adopter of a dead run and a reader that folds a log get the
same answers.  Rule 3: a terminal state absorbs.

Whoever calls ``step`` performs the returned effects in order and may crash between any two; what
each gap leaves is described in ARCHITECTURE.md, "What a crash leaves".

This module must never read a clock (``now`` is given), touch files or processes, or log.  An event
in a state that cannot receive it is a bug of ours, not of the agent, and raises ``Bug``.
"""

from dataclasses import replace

from sidecar.core import outcome as judge
from sidecar.core import policy, transitions
from sidecar.core.effects import (
    AppendEvent,
    ClearDeadlines,
    Dismiss,
    Effect,
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
    AgentSpawned,
    DeadlinePassed,
    Event,
    OutputDrained,
    OutputSeen,
    Recorded,
    ResultStored,
    RunLaunched,
    RunnerLost,
    RunnerStarted,
    SpawnFailed,
    StopRequested,
    TreeEnded,
    WardenLost,
)
from sidecar.core.states import (
    OPEN_STEP_STATES,
    PROOF_NOT_STARTED,
    Attempt,
    AttemptState,
    Failure,
    ProofState,
    Run,
    RunState,
    Step,
    StepState,
    StopCause,
    Stopping,
    run_proof,
)

Effects = tuple[Effect, ...]
AttemptEvent = (
    AgentSpawned
    | SpawnFailed
    | OutputSeen
    | AgentExited
    | OutputDrained
    | TreeEnded
    | WardenLost
    | RunnerLost
)

_NOW = WriteStatus(urgency=Urgency.IMMEDIATE)


def launched(event: RunLaunched, now: int) -> tuple[Run, Recorded]:
    """The first state of a run and the first record of its log."""
    recorded = Recorded(seq=1, at=now, event=event)
    return _begin(event, recorded), recorded


def step(run: Run, event: Event, now: int) -> tuple[Run, Effects]:
    """What becomes of ``run`` by ``event`` at ``now`` (ms since the epoch), and what to do.

    An ignored event changes nothing and is not recorded; a command is finished all the same.
    """
    recorded = Recorded(seq=run.seq + 1, at=now, event=event)
    after, effects = _apply(run, recorded)
    if after is run:
        return run, effects
    return after, (AppendEvent(recorded=recorded), *effects)


def epilogue(run: Run) -> Effects:
    """What is still to be done for a run that is over, in this order, however often."""
    effects: Effects = (WriteStatus(urgency=Urgency.DURABLE),)
    if run_proof(run).state in {ProofState.OBSERVED, ProofState.NOT_STARTED}:
        effects += (ReleaseMarker(),)
    return (*effects, Leave())


def fold(run: Run | None, recorded: Recorded) -> Run:
    """``run`` after a record of its log; a record that is already folded in changes nothing.

    One that was news to an older version, and is late to this one, still uses up its number.
    """
    if run is None:
        if not isinstance(recorded.event, RunLaunched):
            raise Bug(f"a log that begins with {recorded.event.kind}")
        return _begin(recorded.event, recorded)
    if recorded.seq <= run.seq:
        return run
    return replace(_apply(run, recorded)[0], seq=recorded.seq)


def _begin(event: RunLaunched, recorded: Recorded) -> Run:
    return Run(
        run_id=event.run_id,
        seq=recorded.seq,
        state=RunState.QUEUED,
        mode=event.mode,
        session_id=event.session_id,
        cwd=event.cwd,
        label=event.label,
        parent_run_id=event.parent_run_id,
        timeout_ms=event.timeout_ms,
        created_at=recorded.at,
        updated_at=recorded.at,
        steps=tuple(
            Step(
                index=index,
                id=planned.id,
                agent=planned.agent,
                label=planned.label,
                timeout_ms=planned.timeout_ms,
            )
            for index, planned in enumerate(event.steps)
        ),
    )


def _apply(run: Run, recorded: Recorded) -> tuple[Run, Effects]:
    event, now = recorded.event, recorded.at
    cell = transitions.RUN_TABLE[run.state][type(event)]
    if cell is transitions.Cell.ILLEGAL:
        raise Bug(f"{event.kind} in state {run.state} of run {run.run_id}")
    if cell is transitions.Cell.IGNORE:
        return run, _finish(event)
    match event:
        case RunnerStarted():
            after, effects = _runner_started(run, event, now)
        case StopRequested():
            after, effects = _stop_requested(run, event, now)
        case DeadlinePassed():
            after, effects = _deadline_passed(run, event, now)
        case ResultStored():
            after, effects = _result_stored(run, event, now)
        case RunLaunched():
            raise Bug(f"run {run.run_id} is launched twice")
        case _:
            after, effects = _attempt_event(run, event, now)
    if after is run:
        return run, effects
    return replace(after, seq=recorded.seq, updated_at=max(run.updated_at, now)), effects


def _finish(event: Event) -> Effects:
    """A command that finds nothing to do has taken effect, too."""
    if isinstance(event, StopRequested) and event.command_id is not None:
        return (FinishCommand(command_id=event.command_id),)
    return ()


# --- the run -------------------------------------------------------------------------------------


def _runner_started(run: Run, event: RunnerStarted, now: int) -> tuple[Run, Effects]:
    """Also the beginning of an adoption: then everything that was owed is ordered again."""
    run = replace(run, leader=event.runner, adoptions=run.adoptions + (1 if event.adopted else 0))
    if run.outcome is not None:
        return run, (_NOW, StoreResult(outcome=run.outcome))
    if run.stopping is not None and not _live_attempts(run):
        return _advance(run, now, (_NOW,))
    effects: Effects = ()
    if run.state is RunState.QUEUED:
        run = replace(run, state=RunState.RUNNING, started_at=now)
    if run.timeout_ms is not None and run.started_at is not None:
        effects += (_deadline(None, run.started_at, run.timeout_ms, now),)
    if not _live_attempts(run):
        run, started = _start_next(run, now)
        return run, (*effects, *started, _NOW)
    for live_step, attempt in _live_attempts(run):
        if attempt.state is AttemptState.STARTING and run.stopping is None:
            effects += (StartAttempt(step=live_step.index, attempt=attempt.number),)
        if live_step.timeout_ms is not None:
            effects += (_deadline(live_step.index, attempt.started_at, live_step.timeout_ms, now),)
    return run, (*effects, *_end_live(run), _NOW)


def _stop_requested(run: Run, event: StopRequested, now: int) -> tuple[Run, Effects]:
    """A second stop can only hasten; a person's stop outranks a deadline that came first."""
    if run.outcome is not None:
        return run, _finish(event)
    grace_ms = min(event.grace_ms, run.stopping.grace_ms if run.stopping else event.grace_ms)
    outranks = event.cause is StopCause.USER
    if run.stopping is None or (outranks and run.stopping.cause is StopCause.DEADLINE):
        stopping = Stopping(
            cause=event.cause,
            requested_at=now,
            client=event.client,
            reason=event.reason,
            grace_ms=grace_ms,
        )
    elif grace_ms < run.stopping.grace_ms:
        stopping = replace(run.stopping, grace_ms=grace_ms)
    else:
        return run, _finish(event)
    run = replace(run, stopping=stopping)
    effects: Effects = (_NOW, *_finish(event), *_end_live(run))
    if _live_attempts(run):
        return run, effects
    return _advance(run, now, effects)


def _deadline_passed(run: Run, event: DeadlinePassed, now: int) -> tuple[Run, Effects]:
    """Late if the run is being ended anyway, or if the step it was for is over."""
    if run.stopping is not None or run.outcome is not None:
        return run, ()
    if event.step is not None and run.steps[event.step].state not in OPEN_STEP_STATES:
        return run, ()
    run = replace(
        run,
        stopping=Stopping(
            cause=StopCause.DEADLINE,
            requested_at=now,
            client=None,
            reason=f"the deadline of {event.timeout_ms} ms passed",
            grace_ms=policy.GRACE_MS,
        ),
    )
    if _live_attempts(run):
        return run, (_NOW, *_end_live(run))
    return _advance(run, now, (_NOW,))


def _result_stored(run: Run, event: ResultStored, now: int) -> tuple[Run, Effects]:
    """The point of no return.  The outcome is the stored one: the file is the truth."""
    run = replace(run, state=event.outcome.state, outcome=event.outcome, ended_at=now)
    return run, epilogue(run)


# --- steps ---------------------------------------------------------------------------------------


def _start_next(run: Run, now: int) -> tuple[Run, Effects]:
    """Starts the next pending step."""
    pending = next(item for item in run.steps if item.state is StepState.PENDING)
    attempt = Attempt(number=1, state=AttemptState.STARTING, started_at=now)
    started = replace(pending, state=StepState.RUNNING, started_at=now, attempt=attempt)
    effects: Effects = (StartAttempt(step=started.index, attempt=attempt.number),)
    if started.timeout_ms is not None:
        effects += (_deadline(started.index, now, started.timeout_ms, now),)
    return _with_step(run, started), effects


def _advance(run: Run, now: int, effects: Effects) -> tuple[Run, Effects]:
    """No attempt is live: go on with the plan, or decide the outcome."""
    failed = any(
        item.outcome is not None and item.outcome.state is not RunState.COMPLETE
        for item in run.steps
    )
    pending = [item for item in run.steps if item.state is StepState.PENDING]
    if pending and not failed and run.stopping is None:
        run, started = _start_next(run, now)
        return run, (*effects, *started)
    rest = StepState.STOPPED if run.stopping is not None else StepState.SKIPPED
    for item in pending:
        run = _with_step(run, replace(item, state=rest, ended_at=now))
    outcome = judge.of_run(run)
    run = replace(run, outcome=outcome)
    return run, (*effects, ClearDeadlines(), StoreResult(outcome=outcome))


def _attempt_event(run: Run, event: AttemptEvent, now: int) -> tuple[Run, Effects]:
    item = run.steps[event.step]
    attempt = item.attempt
    if attempt is None or event.attempt < attempt.number:
        return run, ()  # of an attempt that was replaced since: late
    to = transitions.ATTEMPT_TABLE[attempt.state][type(event)]
    if to is transitions.Cell.IGNORE:
        return run, ()
    if not isinstance(to, AttemptState):
        raise Bug(f"{event.kind} in attempt state {attempt.state} of run {run.run_id}")
    before = attempt.state
    attempt = replace(_learn(attempt, event, now), state=to)
    item = replace(item, attempt=attempt)
    run = _with_step(run, item)
    urgency = Urgency.COALESCED if isinstance(event, OutputSeen) else Urgency.IMMEDIATE
    effects: Effects = (WriteStatus(urgency=urgency),)
    grace_ms = run.stopping.grace_ms if run.stopping is not None else policy.GRACE_MS
    end_tree = EndTree(step=item.index, attempt=attempt.number, grace_ms=grace_ms)
    if to is AttemptState.DRAINING and before is not AttemptState.DRAINING:
        effects += (WatchDrain(step=item.index, attempt=attempt.number),)
    if isinstance(event, WardenLost) or to is AttemptState.CLEARING is not before:
        effects += (end_tree,)
    if to is AttemptState.SETTLED:
        return _settle(run, item, attempt, now, effects)
    return run, effects


def _settle(
    run: Run, item: Step, attempt: Attempt, now: int, effects: Effects
) -> tuple[Run, Effects]:
    result = judge.of_step(run, item, attempt)
    item = replace(item, state=judge.step_state(result), outcome=result, ended_at=now)
    dismiss = Dismiss(step=item.index, attempt=attempt.number)
    return _advance(_with_step(run, item), now, (*effects, dismiss))


def _learn(attempt: Attempt, event: AttemptEvent, now: int) -> Attempt:
    """The facts an event adds.  A first failure and a first exit stand."""
    match event:
        case AgentSpawned():
            return replace(attempt, agent=event.agent)
        case SpawnFailed():
            return replace(attempt, failure=event.failure, proof=PROOF_NOT_STARTED)
        case OutputSeen():
            return replace(
                attempt,
                stdout_bytes=event.stdout_bytes,
                stderr_bytes=event.stderr_bytes,
                output_at=now,
            )
        case AgentExited():
            return attempt if attempt.exit is not None else replace(attempt, exit=event.exit)
        case OutputDrained():
            return replace(
                attempt,
                stdout_bytes=event.stdout_bytes,
                stderr_bytes=event.stderr_bytes,
                output_complete=event.complete,
                preview=event.preview,
            )
        case TreeEnded():
            return replace(attempt, proof=event.proof)
        case WardenLost():
            failure = Failure(code="warden-lost", message="the warden of the agent vanished")
            return _failed_by(attempt, failure)
        case RunnerLost():
            return _failed_by(attempt, event.failure)


def _failed_by(attempt: Attempt, failure: Failure) -> Attempt:
    """An agent that had ended by itself before is not failed by what we lost afterwards."""
    if attempt.exit is not None or attempt.failure is not None:
        return attempt
    return replace(attempt, failure=failure)


# --- small things --------------------------------------------------------------------------------


def _with_step(run: Run, item: Step) -> Run:
    steps = (*run.steps[: item.index], item, *run.steps[item.index + 1 :])
    return replace(run, steps=steps)


def _live_attempts(run: Run) -> list[tuple[Step, Attempt]]:
    return [
        (item, item.attempt)
        for item in run.steps
        if item.attempt is not None and item.attempt.state is not AttemptState.SETTLED
    ]


def _end_live(run: Run) -> Effects:
    """The order to end every live tree, if the run is being stopped."""
    if run.stopping is None:
        return ()
    return tuple(
        EndTree(step=item.index, attempt=attempt.number, grace_ms=run.stopping.grace_ms)
        for item, attempt in _live_attempts(run)
    )


def _deadline(index: int | None, since: int, timeout_ms: int, now: int) -> SetDeadline:
    """An adopter only knows the wall clock; one that was set back must not lengthen a deadline."""
    left_ms = min(timeout_ms, since + timeout_ms - now)
    return SetDeadline(step=index, delay_ms=max(0, left_ms), timeout_ms=timeout_ms)
