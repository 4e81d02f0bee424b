"""Any value of each stored type, for Hypothesis: spelled out, so that a new field is met here."""

from hypothesis import strategies as st

from sidecar.core.commands import StopCommand
from sidecar.core.dismissal import Dismissal
from sidecar.core.events import (
    AgentExited,
    AgentSpawned,
    DeadlinePassed,
    Event,
    OutputDrained,
    OutputSeen,
    PlannedStep,
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
from sidecar.core.ids import ProcId, new_run_id
from sidecar.core.plan import Launch, Mode, StepRequest
from sidecar.core.result import RunResult, StepResult
from sidecar.core.states import (
    LIVE_RUN_STATES,
    AgentExit,
    Attempt,
    AttemptState,
    Failure,
    Outcome,
    Proof,
    ProofState,
    Run,
    RunState,
    Step,
    StepState,
    StopCause,
    Stopping,
)

# Every character there is, lone surrogates too: names of files are made of such.
text = st.text(max_size=12)
maybe_text = st.none() | text
count = st.integers(0, 2**63 - 1)
positive = st.integers(1, 2**63 - 1)
maybe_count = st.none() | count
run_ids = st.builds(new_run_id, st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
maybe_run_id = st.none() | run_ids
pairs = st.lists(st.tuples(text, text), max_size=3).map(tuple)
json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)
meta = st.none() | st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"])), json, max_size=3
)

processes = st.builds(ProcId, pid=positive, start_ticks=count, boot_id=text)
exits = st.builds(AgentExit, code=count) | st.builds(AgentExit, signal=positive)
failures = st.builds(Failure, code=text, message=text)
proofs = st.builds(
    Proof,
    state=st.sampled_from(ProofState),
    mechanism=maybe_text,
    verified_at=maybe_count,
    killed=maybe_count,
    reason=maybe_text,
    detail=maybe_text,
)
outcomes = st.builds(
    Outcome, state=st.sampled_from(RunState), reason=text, failure=st.none() | failures
)
stoppings = st.builds(
    Stopping,
    cause=st.sampled_from(StopCause),
    requested_at=count,
    client=maybe_text,
    reason=maybe_text,
    grace_ms=count,
)
attempts = st.builds(
    Attempt,
    number=positive,
    state=st.sampled_from(AttemptState),
    started_at=count,
    agent=st.none() | processes,
    exit=st.none() | exits,
    failure=st.none() | failures,
    proof=proofs,
    stdout_bytes=count,
    stderr_bytes=count,
    output_at=maybe_count,
    output_complete=st.booleans(),
    preview=text,
)


def _step(index: int) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        index=st.just(index),
        id=text,
        agent=text,
        label=maybe_text,
        timeout_ms=maybe_count,
        state=st.sampled_from(StepState),
        attempt=st.none() | attempts,
        started_at=maybe_count,
        ended_at=maybe_count,
        outcome=st.none() | outcomes,
    )


steps = st.integers(0, 3).flatmap(lambda n: st.tuples(*(_step(index) for index in range(n))))


def _run(state: RunState) -> st.SearchStrategy[Run]:
    live = state in LIVE_RUN_STATES
    return st.builds(
        Run,
        run_id=run_ids,
        seq=positive,
        state=st.just(state),
        mode=st.sampled_from(Mode),
        session_id=text,
        cwd=text,
        label=maybe_text,
        parent_run_id=maybe_run_id,
        timeout_ms=maybe_count,
        created_at=count,
        updated_at=count,
        started_at=maybe_count,
        ended_at=maybe_count if live else count,
        leader=st.none() | processes,
        adoptions=count,
        stopping=st.none() | stoppings,
        outcome=st.none() | outcomes if live else outcomes,
        steps=steps,
    )


runs = st.sampled_from(RunState).flatmap(_run)

step_requests = st.builds(
    StepRequest,
    agent=text,
    label=maybe_text,
    prompt=maybe_text,
    command=st.none() | st.lists(text, max_size=3).map(tuple),
    shell=maybe_text,
    cwd=maybe_text,
    env=pairs,
    timeout_ms=maybe_count,
)
launches = st.builds(
    Launch,
    run_id=run_ids,
    session_id=text,
    cwd=text,
    mode=st.sampled_from(Mode),
    steps=st.lists(step_requests, min_size=1, max_size=2).map(tuple),
    label=maybe_text,
    env=pairs,
    timeout_ms=maybe_count,
    parent_run_id=maybe_run_id,
    client_token=maybe_text,
    meta=meta,
    created_at=count,
)
results = st.builds(
    RunResult,
    run_id=run_ids,
    outcome=outcomes,
    ended_at=count,
    duration_ms=count,
    proof=proofs,
    steps=st.lists(
        st.builds(
            StepResult,
            index=count,
            id=text,
            agent=text,
            label=maybe_text,
            state=st.sampled_from(StepState),
            reason=maybe_text,
            failure=st.none() | failures,
            exit=st.none() | exits,
            answer=text,
            answer_truncated=st.booleans(),
            stdout_bytes=count,
            stderr_bytes=count,
            stderr_tail=text,
            proof=proofs,
        ),
        max_size=2,
    ).map(tuple),
)
commands = st.builds(
    StopCommand,
    cause=st.sampled_from(StopCause),
    client=maybe_text,
    reason=maybe_text,
    grace_ms=count,
    at=count,
)
dismissals = st.builds(Dismissal, dismissed=st.booleans(), changes=count, at=count, at_seq=count)

_planned = st.builds(PlannedStep, id=text, agent=text, label=maybe_text, timeout_ms=maybe_count)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        RunLaunched,
        run_id=run_ids,
        mode=st.sampled_from(Mode),
        session_id=text,
        cwd=text,
        label=maybe_text,
        parent_run_id=maybe_run_id,
        timeout_ms=maybe_count,
        steps=st.lists(_planned, max_size=2).map(tuple),
    ),
    st.builds(RunnerStarted, runner=processes, adopted=st.booleans()),
    st.builds(AgentSpawned, step=count, attempt=positive, agent=processes),
    st.builds(SpawnFailed, step=count, attempt=positive, failure=failures),
    st.builds(OutputSeen, step=count, attempt=positive, stdout_bytes=count, stderr_bytes=count),
    st.builds(
        StopRequested,
        cause=st.sampled_from(StopCause),
        client=maybe_text,
        reason=maybe_text,
        grace_ms=count,
        command_id=maybe_text,
    ),
    st.builds(DeadlinePassed, step=maybe_count, timeout_ms=count),
    st.builds(AgentExited, step=count, attempt=positive, exit=exits),
    st.builds(
        OutputDrained,
        step=count,
        attempt=positive,
        stdout_bytes=count,
        stderr_bytes=count,
        complete=st.booleans(),
        preview=text,
    ),
    st.builds(TreeEnded, step=count, attempt=positive, proof=proofs),
    st.builds(WardenLost, step=count, attempt=positive),
    st.builds(RunnerLost, step=count, attempt=positive, failure=failures),
    st.builds(ResultStored, outcome=outcomes),
)
recorded = st.builds(Recorded, seq=positive, at=count, event=events)
