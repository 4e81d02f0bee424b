"""Events as clients see them: one whole object for each kind there is."""

from typing import Any, get_args

import msgspec
import orjson
import pytest

from sidecar.core import events
from sidecar.core.events import EVENT_TYPES, Event, Recorded
from sidecar.core.ids import ProcId
from sidecar.core.plan import Mode
from sidecar.core.states import (
    AgentExit,
    Failure,
    Outcome,
    Proof,
    ProofState,
    RunState,
    StopCause,
)
from sidecar.wire import convert, event_views
from sidecar.wire.convert_events import event_view
from sidecar.wire.results import RunEventsResult

PROC = ProcId(pid=7, start_ticks=8, boot_id="b")
PROC_SHOWN = {"pid": 7, "startTicks": 8, "bootId": "b"}
FAILURE = Failure(code="spawn-failed", message="no\x1b[1m such file")
ERROR = {"code": "spawn-failed", "message": "no such file"}
PROOF = Proof(state=ProofState.OBSERVED, mechanism="subreaper", verified_at=5, killed=2)
OF_ATTEMPT = {"step": 0, "attempt": 1}

STORIES: list[tuple[Event, dict[str, Any]]] = [
    (
        events.RunLaunched(
            run_id="r",
            mode=Mode.SINGLE,
            session_id="s",
            cwd="/x",
            label="a\nlabel",
            parent_run_id="p",
            timeout_ms=5,
            steps=(events.PlannedStep(id="s0", agent="command", label="l", timeout_ms=6),),
        ),
        {
            "kind": "run-launched",
            "runId": "r",
            "mode": "single",
            "sessionId": "s",
            "cwd": "/x",
            "label": "a label",
            "parentRunId": "p",
            "timeoutMs": 5,
            "steps": [{"id": "s0", "agent": "command", "label": "l", "timeoutMs": 6}],
        },
    ),
    (
        events.RunLaunched(
            run_id="r",
            mode=Mode.CHAIN,
            session_id="s",
            cwd="/x",
            label=None,
            parent_run_id=None,
            timeout_ms=None,
            steps=(),
        ),
        {
            "kind": "run-launched",
            "runId": "r",
            "mode": "chain",
            "sessionId": "s",
            "cwd": "/x",
            "steps": [],
        },
    ),
    (
        events.RunnerStarted(runner=PROC, adopted=True),
        {"kind": "runner-started", "runner": PROC_SHOWN, "adopted": True},
    ),
    (
        events.AgentSpawned(step=0, attempt=1, agent=PROC),
        {"kind": "agent-spawned", "agent": PROC_SHOWN} | OF_ATTEMPT,
    ),
    (
        events.SpawnFailed(step=0, attempt=1, failure=FAILURE),
        {"kind": "spawn-failed", "error": ERROR} | OF_ATTEMPT,
    ),
    (
        events.OutputSeen(step=0, attempt=1, stdout_bytes=3, stderr_bytes=4),
        {"kind": "output-seen", "stdoutBytes": 3, "stderrBytes": 4} | OF_ATTEMPT,
    ),
    (
        events.StopRequested(
            cause=StopCause.USER, client="nvim", reason="why\x07", grace_ms=9, command_id="1-stop"
        ),
        {
            "kind": "stop-requested",
            "cause": "user",
            "client": "nvim",
            "reason": "why",
            "graceMs": 9,
            "commandId": "1-stop",
        },
    ),
    (
        events.StopRequested(
            cause=StopCause.SIGNAL, client=None, reason=None, grace_ms=0, command_id=None
        ),
        {"kind": "stop-requested", "cause": "signal", "graceMs": 0},
    ),
    (
        events.DeadlinePassed(step=0, timeout_ms=5),
        {"kind": "deadline-passed", "step": 0, "timeoutMs": 5},
    ),
    (
        events.DeadlinePassed(step=None, timeout_ms=5),
        {"kind": "deadline-passed", "timeoutMs": 5},
    ),
    (
        events.AgentExited(step=0, attempt=1, exit=AgentExit(code=0)),
        {"kind": "agent-exited", "exitCode": 0} | OF_ATTEMPT,
    ),
    (
        events.AgentExited(step=0, attempt=1, exit=AgentExit(signal=15)),
        {"kind": "agent-exited", "signal": 15} | OF_ATTEMPT,
    ),
    (
        events.OutputDrained(
            step=0, attempt=1, stdout_bytes=3, stderr_bytes=4, complete=False, preview="x\x1b[1my"
        ),
        {
            "kind": "output-drained",
            "stdoutBytes": 3,
            "stderrBytes": 4,
            "complete": False,
            "answerPreview": "xy",
        }
        | OF_ATTEMPT,
    ),
    (
        events.TreeEnded(step=0, attempt=1, proof=PROOF),
        {
            "kind": "tree-ended",
            "proof": {
                "state": "observed", "mechanism": "subreaper", "verifiedAt": 5, "killed": 2,
            },
        }
        | OF_ATTEMPT,
    ),
    (
        events.WardenLost(step=0, attempt=1),
        {"kind": "warden-lost"} | OF_ATTEMPT,
    ),
    (
        events.RunnerLost(step=0, attempt=1, failure=FAILURE),
        {"kind": "runner-lost", "error": ERROR} | OF_ATTEMPT,
    ),
    (
        events.ResultStored(outcome=Outcome(state=RunState.COMPLETE, reason="completed")),
        {"kind": "result-stored", "state": "complete", "reason": "completed"},
    ),
    (
        events.ResultStored(
            outcome=Outcome(state=RunState.FAILED, reason="spawn-failed", failure=FAILURE)
        ),
        {"kind": "result-stored", "state": "failed", "reason": "spawn-failed", "error": ERROR},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event", "shown"), STORIES, ids=lambda item: getattr(item, "kind", ""))
def test_an_event_is_shown_whole(event: Event, shown: dict[str, Any]) -> None:
    view = event_view(Recorded(seq=3, at=4, event=event))
    assert orjson.loads(orjson.dumps(convert.to_object(view))) == {"seq": 3, "at": 4} | shown


def test_there_is_a_story_of_every_kind() -> None:
    assert {type(event) for event, _ in STORIES} == set(EVENT_TYPES)


def test_there_is_a_view_of_every_kind_and_of_no_other() -> None:
    tags = [view.__struct_config__.tag for view in get_args(event_views.EventView)]
    assert tags == [event.kind for event in EVENT_TYPES]


def test_a_page_of_events_can_be_read_back_by_its_kinds() -> None:
    views = tuple(event_view(Recorded(seq=1, at=2, event=event)) for event, _ in STORIES)
    page = RunEventsResult(events=views, last_seq=1)
    assert msgspec.convert(convert.to_object(page), RunEventsResult) == page
