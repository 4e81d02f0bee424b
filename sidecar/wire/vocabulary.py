"""What the words mean that the wire shows: states, causes, proofs, reasons, kinds of notices.

One sentence each, for people who write a client; protocol.md shows them.  A member without a
meaning fails a test, so that no word reaches the wire unexplained.

This module must never decide anything, nor define a word: the sets stand where they are used.
"""

from sidecar.core.states import ProofState, RunState, StepState, StopCause
from sidecar.wire.notifications import NoticeKind

RUN_STATES = {
    RunState.QUEUED: "Durable; its runner has not taken over yet.",
    RunState.RUNNING: "Under way; with `stopping` it is being ended.",
    RunState.PAUSED: "Waits to be resumed. Not in this version.",
    RunState.COMPLETE: "Over: every step did what it should.",
    RunState.FAILED: "Over: an agent failed, or time was up; `error` says what.",
    RunState.STOPPED: "Over: somebody ended it; `stoppedBy` says who.",
    RunState.REJECTED: "Over: a checkpoint was rejected. Not in this version.",
}

STEP_STATES = {
    StepState.PENDING: "Has not begun.",
    StepState.RUNNING: "Its agent is started, runs, or is being ended.",
    StepState.PAUSED: "Waits to be resumed. Not in this version.",
    StepState.COMPLETE: "Over: the agent exited with 0 and nothing of its processes is left.",
    StepState.FAILED: "Over: it failed; `reason` and `error` say how.",
    StepState.STOPPED: "Over: it was ended with its run, or never begun because of that.",
    StepState.REJECTED: "Over: a checkpoint was rejected. Not in this version.",
    StepState.SKIPPED: "Never begun, because a step before it failed.",
}

PROOF_STATES = {
    ProofState.PENDING: "Nothing can be said yet: something is or may be running.",
    ProofState.OBSERVED: "Nothing of the process tree is left, as the operating system says.",
    ProofState.UNKNOWN: "It could not be proven; `reason` says why. Never taken for success.",
    ProofState.NOT_STARTED: "Nothing was ever started.",
}

STOP_CAUSES = {
    StopCause.USER: "A request: `run/stop`, or the command line.",
    StopCause.DEADLINE: "`timeoutMs` of the run or of the step passed.",
    StopCause.BUDGET: "A budget was used up. Not in this version.",
    StopCause.PARENT: "The run that it belongs to ended.",
    StopCause.SIGNAL: "Its runner was told to terminate, as when the machine shuts down.",
    StopCause.REPAIR: "Found in a state that it cannot go on from.",
}

NOTICE_KINDS = {
    NoticeKind.ATTENTION: "A person should look, for instance because a proof could not be had.",
    NoticeKind.REPAIRED: "Something of sidecar's own had vanished, and the run was put right.",
    NoticeKind.STORAGE: "The disk refuses; what cannot be written is kept and tried again.",
}

REASONS = {
    "completed": "`complete`: every agent exited with 0.",
    "exit-status": "`failed`: the agent exited with another status (`exitCode`).",
    "signal": "`failed`: a signal that was not ours ended the agent (`signal`).",
    "deadline": "`failed`: time was up.",
    "budget": "`failed`: a budget was used up. Not in this version.",
    "spawn-failed": "`failed`: the agent could not be started: no such program, no right to.",
    "never-started": "The agent was not started, because the run was stopped before.",
    "runner-lost": "`failed`: the run's runner vanished, and its warden ended the agent.",
    "warden-lost": "`failed`: the agent's warden vanished, and with it the agent's exit status.",
    "stopped-by-user": "`stopped`: somebody asked for it.",
    "parent-ended": "`stopped`: with the run that it belongs to.",
    "runner-terminated": "`stopped`: its runner was told to terminate.",
    "stopped-by-repair": "`stopped`: it could not go on.",
}
"""Values of ``reason``, and of ``error.code`` where something failed.  An open set: more will come,
and those that are here keep their meaning."""
