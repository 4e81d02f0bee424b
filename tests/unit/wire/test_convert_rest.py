"""Results, problems, agents and pages of logs as clients see them."""

from dataclasses import dataclass

import orjson
import pytest

from sidecar.core.result import RunResult, StepResult
from sidecar.core.states import (
    AgentExit,
    Failure,
    Outcome,
    Proof,
    ProofState,
    RunState,
    StepState,
)
from sidecar.wire import convert
from sidecar.wire.fields import View
from sidecar.wire.params import Encoding

PROOF = Proof(state=ProofState.OBSERVED, mechanism="subreaper", verified_at=5, killed=0)
PROOF_SHOWN = {"state": "observed", "mechanism": "subreaper", "verifiedAt": 5, "killed": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnAgent:
    """What ``control.agents`` says of an agent, without importing it."""

    name: str = "command"
    available: bool = True
    version: str | None = None
    why_not: str | None = None
    steer: bool = False
    interrupt: bool = False
    resume: bool = True
    permissions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AProblem:
    """What ``control.read`` says of a run that it cannot read."""

    path: str
    error: str
    damage: str | None


def shown(view: View) -> object:
    return orjson.loads(orjson.dumps(convert.to_object(view)))


def step_result(**changes: object) -> StepResult:
    fields: dict[str, object] = {
        "index": 0,
        "id": "s0",
        "agent": "command",
        "label": None,
        "state": StepState.COMPLETE,
        "reason": "completed",
        "failure": None,
        "exit": AgentExit(code=0),
        "answer": "\x1b[32mok\x1b[0m\r\n",
        "answer_truncated": False,
        "stdout_bytes": 12,
        "stderr_bytes": 3,
        "stderr_tail": "a\x00b",
        "proof": PROOF,
    }
    return StepResult(**(fields | changes))  # type: ignore[arg-type]


def test_a_result() -> None:
    result = RunResult(
        run_id="r",
        outcome=Outcome(state=RunState.COMPLETE, reason="completed"),
        ended_at=9,
        duration_ms=4,
        proof=PROOF,
        steps=(step_result(),),
    )
    assert shown(convert.result_view(result)) == {
        "runId": "r",
        "state": "complete",
        "reason": "completed",
        "endedAt": 9,
        "durationMs": 4,
        "proof": PROOF_SHOWN,
        "steps": [
            {
                "index": 0,
                "id": "s0",
                "agent": "command",
                "state": "complete",
                "reason": "completed",
                "exitCode": 0,
                "answer": "ok\n",
                "answerTruncated": False,
                "outputBytes": {"stdout": 12, "stderr": 3},
                "stderrTail": "ab",
                "proof": PROOF_SHOWN,
            }
        ],
    }


def test_a_result_of_a_failure() -> None:
    failure = Failure(code="signal", message="the agent was ended by signal 9")
    step = step_result(
        label="the\nstep", state=StepState.FAILED, reason="signal", failure=failure,
        exit=AgentExit(signal=9), answer="", answer_truncated=True,
    )  # fmt: skip
    result = RunResult(
        run_id="r",
        outcome=Outcome(state=RunState.FAILED, reason="signal", failure=failure),
        ended_at=9,
        duration_ms=0,
        proof=PROOF,
        steps=(step,),
    )
    told = convert.to_object(convert.result_view(result))
    error = {"code": "signal", "message": "the agent was ended by signal 9"}
    assert (told["state"], told["reason"], told["error"]) == ("failed", "signal", error)
    assert (told["steps"][0]["label"], told["steps"][0]["signal"]) == ("the step", 9)
    assert told["steps"][0]["error"] == error
    assert told["steps"][0]["answerTruncated"] is True
    assert "exitCode" not in told["steps"][0]


@pytest.mark.parametrize("damage", ["corrupt", None])
def test_a_problem(damage: str | None) -> None:
    problem = AProblem(path="/state/runs/\udcffx", error="torn\x1b[1m at byte 3", damage=damage)
    expected = {"path": "/state/runs/\ufffdx", "error": "torn at byte 3"}
    code = {"code": damage} if damage else {}
    assert shown(convert.problem_view(problem)) == expected | code


def test_an_agent() -> None:
    flags = {"steer": False, "interrupt": False, "resume": True, "permissions": False}
    assert shown(convert.agent_view(AnAgent())) == {"name": "command", "available": True} | flags
    missing = AnAgent(name="x", available=False, version="1.0\n", why_not="no program\x07: x")
    assert (
        shown(convert.agent_view(missing))
        == {
            "name": "x",
            "available": False,
            "version": "1.0",
            "reason": "no program: x",
        }
        | flags
    )


@pytest.mark.parametrize(
    ("data", "raw", "encoding", "text"),
    [
        (b"plain\tt\n", False, Encoding.TEXT, "plain\tt\n"),
        (b"\x1b[31mred\x1b[0m\r\n", False, Encoding.TEXT, "red\n"),
        (b"\x1b[31mred\x1b[0m\r\n", True, Encoding.TEXT, "\x1b[31mred\x1b[0m\r\n"),
        (b"gr\xfc", False, Encoding.TEXT, "gr\ufffd"),
        (b"gr\xfc", True, Encoding.TEXT, "gr\ufffd"),
        (b"gr\xfc\x00", False, Encoding.BASE64, "Z3L8AA=="),
        (b"", True, Encoding.BASE64, ""),
    ],
)
def test_bytes_of_a_log(data: bytes, raw: bool, encoding: Encoding, text: str) -> None:
    assert convert.shown_bytes(data, raw=raw, encoding=encoding) == text
