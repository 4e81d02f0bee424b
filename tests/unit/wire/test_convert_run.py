"""Runs as clients see them: whole objects, for every state that a run can be in."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from sidecar.core import lifecycle, policy
from sidecar.core.dismissal import Dismissal
from sidecar.core.events import DeadlinePassed, ResultStored, RunnerLost, SpawnFailed
from sidecar.core.outcome import of_run
from sidecar.core.states import (
    Failure,
    Outcome,
    Proof,
    ProofState,
    Run,
    RunState,
    StepState,
    StopCause,
)
from sidecar.wire import convert
from tests.unit.core import builders
from tests.unit.core.builders import NOW, RUN_ID

AT = [NOW + number for number in range(20)]
PENDING = {"state": "pending"}
OBSERVED = {"state": "observed", "mechanism": "subreaper", "verifiedAt": NOW + 500, "killed": 0}
NO_OUTPUT = {"stdout": 0, "stderr": 0}

RUN: dict[str, Any] = {
    "runId": RUN_ID,
    "mode": "single",
    "sessionId": "s",
    "cwd": "/",
    "createdAt": NOW,
    "usage": {"turns": 0, "tools": 0},
    "resumable": False,
}
STEP: dict[str, Any] = {"index": 0, "id": "step-0", "agent": "command"}
LIVE_STEP = STEP | {"state": "running", "attempt": 1, "startedAt": AT[1], "proof": PENDING}
ENDED_STEP = STEP | {
    "attempt": 1,
    "pid": 200,
    "startedAt": AT[1],
    "endedAt": AT[5],
    "answerPreview": "ok",
    "outputBytes": {"stdout": 3, "stderr": 0},
    "proof": OBSERVED,
}


def shown(run: Run, dismissal: Dismissal | None = None) -> dict[str, Any]:
    """The run as it arrives at a client."""
    view = convert.run_view(run) if dismissal is None else convert.run_view(run, dismissal)
    arrived: dict[str, Any] = orjson.loads(orjson.dumps(convert.to_object(view)))
    return arrived


def ended(run: Run, *events: Any) -> Run:
    """``run`` after ``events`` and the storing of its result."""
    run, _ = builders.play(run, *events)
    run, _ = lifecycle.step(run, ResultStored(outcome=of_run(run)), AT[9])
    return run


def test_queued() -> None:
    assert shown(builders.launched()) == RUN | {
        "revision": 1,
        "state": "queued",
        "updatedAt": NOW,
        "steps": [
            STEP | {"state": "pending", "attempt": 0, "outputBytes": NO_OUTPUT, "proof": PENDING}
        ],
        "proof": PENDING,
    }


def test_starting() -> None:
    run, _ = builders.play(builders.launched(), builders.started())
    assert shown(run) == RUN | {
        "revision": 2,
        "state": "running",
        "startedAt": AT[1],
        "updatedAt": AT[1],
        "steps": [LIVE_STEP | {"outputBytes": NO_OUTPUT}],
        "proof": PENDING,
    }


def test_running_with_its_limits_and_names() -> None:
    launched = replace(
        builders.launched(timeout_ms=9000, step_timeouts=(7000,)),
        label="the run",
        parent_run_id="p",
        cwd="/srv",
    )
    launched = replace(launched, steps=(replace(launched.steps[0], label="the step"),))
    run, _ = builders.play(launched, builders.started(), builders.spawned())
    assert shown(run) == RUN | {
        "revision": 3,
        "state": "running",
        "label": "the run",
        "cwd": "/srv",
        "parentRunId": "p",
        "startedAt": AT[1],
        "updatedAt": AT[2],
        "limits": {"timeoutMs": 9000},
        "steps": [
            LIVE_STEP
            | {
                "label": "the step",
                "pid": 200,
                "limits": {"timeoutMs": 7000},
                "outputBytes": NO_OUTPUT,
            }
        ],
        "proof": PENDING,
    }


def test_running_with_output() -> None:
    run, _ = builders.play(builders.launched(), builders.started(), builders.spawned())
    attempt = run.steps[0].attempt
    assert attempt is not None
    attempt = replace(attempt, stdout_bytes=10, stderr_bytes=20, output_at=AT[3])
    run = replace(run, steps=(replace(run.steps[0], attempt=attempt),))
    step = shown(run)["steps"][0]
    assert step == LIVE_STEP | {
        "pid": 200,
        "outputBytes": {"stdout": 10, "stderr": 20},
        "lastOutputAt": AT[3],
    }


def test_stopping() -> None:
    run, _ = builders.play(
        builders.launched(), builders.started(), builders.spawned(), builders.stop()
    )
    assert shown(run) == RUN | {
        "revision": 4,
        "state": "running",
        "stopping": {
            "cause": "user", "requestedAt": AT[3], "client": "test", "graceMs": 3000,
        },
        "startedAt": AT[1],
        "updatedAt": AT[3],
        "steps": [LIVE_STEP | {"pid": 200, "outputBytes": NO_OUTPUT}],
        "proof": PENDING,
    }  # fmt: skip


def test_how_it_ends_is_not_told_before_it_is_durable() -> None:
    run, _ = builders.play(
        builders.launched(),
        builders.started(),
        builders.spawned(),
        builders.exited(),
        builders.proven(),
        builders.drained(),
    )
    assert run.outcome is not None
    told = shown(run)
    assert told["state"] == "running"
    assert told.keys().isdisjoint({"reason", "error", "endedAt", "stoppedBy"})
    assert told["steps"][0]["state"] == "complete"


def test_complete() -> None:
    run = ended(
        builders.launched(),
        builders.started(),
        builders.spawned(),
        builders.exited(),
        builders.proven(),
        builders.drained(),
    )
    assert shown(run) == RUN | {
        "revision": 7,
        "state": "complete",
        "reason": "completed",
        "startedAt": AT[1],
        "endedAt": AT[9],
        "updatedAt": AT[9],
        "steps": [ENDED_STEP | {"state": "complete", "exitCode": 0, "reason": "completed"}],
        "proof": OBSERVED,
    }


@pytest.mark.parametrize(
    ("code", "signal", "exit_fields", "error"),
    [
        (3, None, {"exitCode": 3}, {"code": "exit-status", "message": "the agent exited with 3"}),
        (
            None,
            9,
            {"signal": 9},
            {"code": "signal", "message": "the agent was ended by signal 9"},
        ),
    ],
)
def test_failed(
    code: int | None, signal: int | None, exit_fields: dict[str, int], error: dict[str, str]
) -> None:
    run = ended(
        builders.launched(),
        builders.started(),
        builders.spawned(),
        builders.exited(code, signal),
        builders.proven(),
        builders.drained(complete=False),
    )
    told = shown(run)
    why = {"state": "failed", "reason": error["code"], "error": error}
    assert told == RUN | why | {
        "revision": 7,
        "startedAt": AT[1],
        "endedAt": AT[9],
        "updatedAt": AT[9],
        "steps": [ENDED_STEP | why | exit_fields | {"outputIncomplete": True}],
        "proof": OBSERVED,
    }


def test_failed_to_start() -> None:
    failure = Failure(code="spawn-failed", message="ENOENT: no such file: m\x1b[31make")
    run = ended(
        builders.launched(),
        builders.started(),
        SpawnFailed(step=0, attempt=1, failure=failure),
    )
    error = {"code": "spawn-failed", "message": "ENOENT: no such file: make"}
    why = {"state": "failed", "reason": "spawn-failed", "error": error}
    assert shown(run) == RUN | why | {
        "revision": 4,
        "startedAt": AT[1],
        "endedAt": AT[9],
        "updatedAt": AT[9],
        "steps": [
            STEP
            | why
            | {
                "attempt": 1,
                "startedAt": AT[1],
                "endedAt": AT[2],
                "outputBytes": NO_OUTPUT,
                "proof": {"state": "not-started"},
            }
        ],
        "proof": {"state": "not-started"},
    }


def test_failed_by_the_deadline() -> None:
    run = ended(
        builders.launched(timeout_ms=50),
        builders.started(),
        builders.spawned(),
        DeadlinePassed(step=None, timeout_ms=50),
        builders.exited(None, 15),
        builders.proven(),
        builders.drained(),
    )
    told = shown(run)
    assert (told["state"], told["reason"]) == ("failed", "deadline")
    assert told["error"] == {"code": "deadline", "message": "the deadline passed after 50 ms"}
    assert told["stoppedBy"] == {
        "cause": "deadline",
        "reason": "the deadline of 50 ms passed",
    }
    assert "stopping" not in told


def test_stopped() -> None:
    run = ended(
        builders.launched(),
        builders.started(),
        builders.spawned(),
        replace(builders.stop(), reason="enough\n\x1b[2Jof it"),
        builders.exited(None, 15),
        builders.proven(),
        builders.drained(),
    )
    why = {"state": "stopped", "reason": "stopped-by-user"}
    told = shown(run)
    assert told == RUN | why | {
        "revision": 8,
        "stoppedBy": {"cause": "user", "client": "test", "reason": "enough of it"},
        "startedAt": AT[1],
        "endedAt": AT[9],
        "updatedAt": AT[9],
        "steps": [ENDED_STEP | why | {"endedAt": AT[6], "signal": 15}],
        "proof": OBSERVED,
    }


def test_stopped_before_it_was_started() -> None:
    run = ended(builders.launched(), builders.stop(cause=StopCause.PARENT))
    told = shown(run)
    assert (told["state"], told["reason"]) == ("stopped", "parent-ended")
    assert told["steps"] == [
        STEP
        | {
            "state": "stopped",
            "attempt": 0,
            "endedAt": AT[1],
            "outputBytes": NO_OUTPUT,
            "proof": {"state": "not-started"},
        }
    ]
    assert told["proof"] == {"state": "not-started"}
    assert "startedAt" not in told


def test_lost_with_a_proof_that_cannot_be_had() -> None:
    proof = Proof(state=ProofState.UNKNOWN, reason="not-permitted", detail="pid 7:\x07 EPERM")
    lost = Failure(code="runner-lost", message="the runner vanished")
    run = ended(
        builders.launched(),
        builders.started(),
        builders.spawned(),
        RunnerLost(step=0, attempt=1, failure=lost),
        builders.exited(None, 9),
        builders.proven(proof=proof),
        builders.drained(),
    )
    told = shown(run)
    unknown = {"state": "unknown", "reason": "not-permitted", "detail": "pid 7: EPERM"}
    assert (told["proof"], told["steps"][0]["proof"]) == (unknown, unknown)
    assert told["error"] == {"code": "runner-lost", "message": "the runner vanished"}


@pytest.mark.parametrize("state", list(RunState))
def test_every_state_of_a_run_is_shown_by_its_name(state: RunState) -> None:
    outcome = Outcome(state=RunState.REJECTED, reason="rejected")
    told = shown(replace(builders.launched(), state=state, outcome=outcome))
    assert told["state"] == state.value
    assert ("reason" in told) == (state in {"complete", "failed", "stopped", "rejected"})


@pytest.mark.parametrize("state", list(StepState))
def test_every_state_of_a_step_is_shown_by_its_name(state: StepState) -> None:
    run = builders.launched()
    run = replace(run, steps=(replace(run.steps[0], state=state),))
    assert shown(run)["steps"][0]["state"] == state.value


def test_several_steps_are_shown_in_their_order() -> None:
    told = shown(builders.launched(step_timeouts=(None, 5)))
    assert told["mode"] == "chain"
    assert [(step["index"], step["id"]) for step in told["steps"]] == [(0, "step-0"), (1, "step-1")]


def test_dismissed_and_shown_again() -> None:
    run = ended(
        builders.launched(),
        builders.started(),
        builders.spawned(),
        builders.exited(),
        builders.proven(),
        builders.drained(),
    )
    before = shown(run)
    hidden = Dismissal(dismissed=True, changes=1, at=AT[12], at_seq=run.seq)
    assert shown(run, hidden) == before | {
        "revision": before["revision"] + 1,
        "updatedAt": AT[12],
        "dismissedAt": AT[12],
    }
    again = Dismissal(dismissed=False, changes=2, at=AT[13], at_seq=run.seq)
    assert shown(run, again) == before | {
        "revision": before["revision"] + 2,
        "updatedAt": AT[13],
    }


def test_no_text_of_a_run_drives_a_panel() -> None:
    evil = "a\x1b[31mb\x07\r\n\u009bc\ud800"
    run = replace(
        builders.launched(),
        label=evil * 100,
        cwd="/home/\udcff\x1b]0;t\x07x",
        session_id=evil,
        parent_run_id=evil,
    )
    run = replace(run, steps=(replace(run.steps[0], label=evil, agent=evil, id=evil),))
    told = shown(run)  # and it can be encoded, lone surrogates or not
    assert len(told["label"]) == policy.LABEL_MAX
    assert told["cwd"] == "/home/\ufffdx"
    texts = [told["label"], told["sessionId"], told["parentRunId"], told["steps"][0]["label"]]
    assert not any(ord(char) < 0x20 and char != "\n" for text in texts for char in text)
