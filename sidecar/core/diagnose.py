"""What became of a run that nobody leads: evidence in, events out.

Adopt feeds these events to the same ``lifecycle.step`` as a live runner does, so that a repaired
run and an undisturbed one end alike.  Evidence comes from the warden's record, which the warden
wrote durably before it told anybody anything.

Unknown is never treated as dead, and nothing here is decided by silence or age.  This module must
never look at the machine itself.
"""

from dataclasses import dataclass

from sidecar.core.events import (
    AgentExited,
    AgentSpawned,
    Event,
    OutputDrained,
    RunnerLost,
    SpawnFailed,
    TreeEnded,
    WardenLost,
)
from sidecar.core.ids import ProcId
from sidecar.core.states import (
    AgentExit,
    Attempt,
    AttemptState,
    Failure,
    Proof,
    ProofState,
)

NO_PROOF = Proof(
    state=ProofState.UNKNOWN,
    reason="warden-lost",
    detail="the warden vanished before it could prove anything",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEvidence:
    """What can be found of one attempt once its warden is gone.

    ``has_record``: the warden was forked at all.  The other fields are what the record says;
    ``runner_vanished`` means that the warden ended the tree because it had lost its runner, and
    ``exit_before_loss`` that the agent had ended by itself before that.  ``proof`` is the record's,
    or what adopt's own search gave.  ``complete`` is false if the output was still held open.
    """

    has_record: bool
    agent: ProcId | None = None
    spawn_failure: Failure | None = None
    exit: AgentExit | None = None
    runner_vanished: bool = False
    exit_before_loss: bool = False
    proof: Proof | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    complete: bool = True
    preview: str = ""
    runner_log: str = ""


NEVER_STARTED = Failure(code="never-started", message="stopped before the agent was started")


def attempt_events(
    step: int, attempt: Attempt, evidence: AttemptEvidence, *, is_stopping: bool
) -> tuple[Event, ...]:
    """The events that lead a live attempt, whose warden is gone, to its end.

    An attempt without a record was never started, unless the log tells that it was (then the record
    was lost): it needs no events, since the runner that is told to start it does so now, unless the
    run is being stopped.  Events that the run has already
    seen are left out, so that doing it twice changes nothing.
    """
    number = attempt.number
    if attempt.state is AttemptState.SETTLED:
        return ()
    if not evidence.has_record and attempt.state is AttemptState.STARTING:
        if is_stopping:
            return (SpawnFailed(step=step, attempt=number, failure=NEVER_STARTED),)
        return ()
    events: list[Event] = []
    if attempt.state is AttemptState.STARTING:
        if evidence.spawn_failure is not None:
            return (SpawnFailed(step=step, attempt=number, failure=evidence.spawn_failure),)
        if evidence.agent is not None:
            events.append(AgentSpawned(step=step, attempt=number, agent=evidence.agent))
    if not evidence.exit_before_loss:
        events.append(RunnerLost(step=step, attempt=number, failure=_runner_lost(evidence)))
    started = evidence.agent is not None or attempt.state is not AttemptState.STARTING
    if evidence.exit is not None and started:
        events.append(AgentExited(step=step, attempt=number, exit=evidence.exit))
    elif attempt.state in {AttemptState.STARTING, AttemptState.RUNNING}:
        events.append(WardenLost(step=step, attempt=number))
    if attempt.state is not AttemptState.EMPTYING:
        proof = evidence.proof or NO_PROOF
        events.append(TreeEnded(step=step, attempt=number, proof=proof))
    if attempt.state is not AttemptState.CLEARING:
        events.append(
            OutputDrained(
                step=step,
                attempt=number,
                stdout_bytes=evidence.stdout_bytes,
                stderr_bytes=evidence.stderr_bytes,
                complete=evidence.complete,
                preview=evidence.preview,
            )
        )
    return tuple(events)


def _runner_lost(evidence: AttemptEvidence) -> Failure:
    message = "the runner vanished; its warden ended the agent"
    if not evidence.runner_vanished:
        message = "the runner and the warden vanished"
    if evidence.runner_log:
        message = f"{message}; the runner's last words: {evidence.runner_log}"
    return Failure(code="runner-lost", message=message)
