"""The state of a run: what is known, as frozen data.

A run has steps, a step has attempts; each is a small machine whose transitions stand in
``core.lifecycle``.  A fact that is not known is absent, never a default that looks like one.

This module must never decide anything: it only names what there is.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from sidecar.core.ids import ProcId
from sidecar.core.plan import Mode


class RunState(StrEnum):
    """The states of a run, as clients see them."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"
    REJECTED = "rejected"


LIVE_RUN_STATES = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.PAUSED})
TERMINAL_RUN_STATES = frozenset(RunState) - LIVE_RUN_STATES


class StepState(StrEnum):
    """The states of a step, as clients see them."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    PAUSED = "paused"
    STOPPED = "stopped"
    REJECTED = "rejected"
    SKIPPED = "skipped"


OPEN_STEP_STATES = frozenset({StepState.PENDING, StepState.RUNNING, StepState.PAUSED})


class AttemptState(StrEnum):
    """How far one attempt of a step has come.

    After the agent's exit two things are still owed, in either order: its output (drained) and
    the proof that nothing of its tree is left (proven).
    """

    STARTING = "starting"
    """The warden is asked to start the agent; nothing is known yet."""
    RUNNING = "running"
    """The agent lives."""
    DRAINING = "draining"
    """The agent is gone; output may still come, descendants may still live."""
    CLEARING = "clearing"
    """Output is complete; the tree is being ended."""
    EMPTYING = "emptying"
    """The tree is proven gone (or the proof unobtainable); output is being taken."""
    SETTLED = "settled"
    """Nothing of it is left to happen."""


class StopCause(StrEnum):
    """Who or what ends a run before its time."""

    USER = "user"
    DEADLINE = "deadline"
    BUDGET = "budget"
    PARENT = "parent"
    SIGNAL = "signal"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """A stop that was accepted.  The run stays live until its end is proven.

    ``client`` and ``reason`` are what the caller said of itself; ``grace_ms`` is TERM to KILL.
    """

    cause: StopCause
    requested_at: int
    client: str | None
    reason: str | None
    grace_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExit:
    """How a process ended, as waitpid(2) told it: exactly one of the two is set."""

    code: int | None = None
    signal: int | None = None


class ProofState(StrEnum):
    """What is known of the absence of an attempt's process tree."""

    PENDING = "pending"
    OBSERVED = "observed"
    UNKNOWN = "unknown"
    NOT_STARTED = "not-started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Evidence that nothing of a process tree is left.

    ``mechanism`` (``subreaper``, ``process-group``) with ``verified_at`` and ``killed`` (members
    that needed KILL) belong to an observed one; ``reason`` and ``detail`` to an unknown one.
    Unknown is never success.
    """

    state: ProofState
    mechanism: str | None = None
    verified_at: int | None = None
    killed: int | None = None
    reason: str | None = None
    detail: str | None = None


PROOF_PENDING = Proof(state=ProofState.PENDING)
PROOF_NOT_STARTED = Proof(state=ProofState.NOT_STARTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something failed: a stable kebab-case ``code`` and a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of a step.  Byte counts are those of the logs, ``output_at`` of the last byte."""

    number: int
    state: AttemptState
    started_at: int
    agent: ProcId | None = None
    exit: AgentExit | None = None
    failure: Failure | None = None
    """Set when the attempt failed by itself: not started, warden lost, runner lost."""
    proof: Proof = PROOF_PENDING
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    output_at: int | None = None
    output_complete: bool = True
    """False if somebody still held the output open when draining was given up."""
    preview: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run or step ended: decided once, in ``core.outcome``."""

    state: RunState
    reason: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the plan.  ``attempt`` is the newest one, ``None`` while the step is pending."""

    index: int
    id: str
    agent: str
    label: str | None
    timeout_ms: int | None
    state: StepState = StepState.PENDING
    attempt: Attempt | None = None
    started_at: int | None = None
    ended_at: int | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything that status.json says of a run: the fold of its events up to ``seq``.

    ``leader`` is the process that last took the lease; it is told to people, never used as proof
    of life.  ``outcome`` is set when the ending is decided; ``state`` becomes terminal only once
    the result is durable.
    """

    run_id: str
    seq: int
    state: RunState
    mode: Mode
    session_id: str
    cwd: str
    label: str | None
    parent_run_id: str | None
    timeout_ms: int | None
    created_at: int
    updated_at: int
    started_at: int | None = None
    ended_at: int | None = None
    leader: ProcId | None = None
    adoptions: int = 0
    stopping: Stopping | None = None
    outcome: Outcome | None = None
    steps: tuple[Step, ...] = field(default=())

    @property
    def is_over(self) -> bool:
        """Whether the state is terminal."""
        return self.state in TERMINAL_RUN_STATES


def run_proof(run: Run) -> Proof:
    """The proof for the whole run: the weakest of its attempts' (unknown, pending, observed)."""
    attempts = [step.attempt for step in run.steps if step.attempt is not None]
    if not attempts:
        return PROOF_NOT_STARTED if run.is_over or run.outcome is not None else PROOF_PENDING
    for state in (ProofState.UNKNOWN, ProofState.PENDING):
        for attempt in attempts:
            if attempt.proof.state is state:
                return attempt.proof
    observed = [a.proof for a in attempts if a.proof.state is ProofState.OBSERVED]
    if not observed:
        return PROOF_NOT_STARTED
    return Proof(
        state=ProofState.OBSERVED,
        mechanism=observed[-1].mechanism,
        verified_at=max(proof.verified_at or 0 for proof in observed),
        killed=sum(proof.killed or 0 for proof in observed),
    )
