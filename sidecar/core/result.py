"""The result of a run: what is left to read once it is over.

Written once, durably, before the status turns terminal: whoever sees a terminal status finds it.

This module must never hold the prompt; the answer is the agent's own words.
"""

from dataclasses import dataclass

from sidecar.core.states import AgentExit, Failure, Outcome, Proof, StepState


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step's end.  ``answer`` is the beginning of what the agent answered, as plain text;
    ``answer_truncated`` says that the log holds more.  Byte counts are those of the logs."""

    index: int
    id: str
    agent: str
    label: str | None
    state: StepState
    reason: str | None
    failure: Failure | None
    exit: AgentExit | None
    answer: str
    answer_truncated: bool
    stdout_bytes: int
    stderr_bytes: int
    stderr_tail: str
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A run's end.  ``duration_ms`` counts from its start (0 if it never started)."""

    run_id: str
    outcome: Outcome
    ended_at: int
    duration_ms: int
    proof: Proof
    steps: tuple[StepResult, ...]
