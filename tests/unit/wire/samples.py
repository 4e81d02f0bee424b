"""One whole example of the params of every request: each field is there, none at its default."""

from typing import Any

RUN_ID = "018bcfe5-6800-7001-8203-040506070809"

META = {"mine": [1, None, {"deep": 0.5}]}

PARAMS: dict[str, dict[str, Any]] = {
    "run/launch": {
        "_meta": META,
        "step": {
            "agent": "command",
            "label": "the step",
            "prompt": "read me",
            "command": ["make", "test"],
            "shell": "make test",
            "cwd": "sub",
            "env": {"A": "1"},
            "timeoutMs": 5,
        },
        "runId": RUN_ID,
        "label": "the run",
        "sessionId": "mine",
        "cwd": "/tmp",
        "env": {"B": "2"},
        "timeoutMs": 7,
        "parentRunId": RUN_ID,
        "clientToken": "once",
    },
    "run/get": {"_meta": META, "runId": "018b"},
    "run/list": {
        "_meta": META,
        "scope": "session",
        "states": ["running", "failed"],
        "limit": 7,
        "cursor": RUN_ID,
        "includeDismissed": True,
    },
    "run/wait": {
        "_meta": META,
        "runIds": ["018b", RUN_ID],
        "until": "any",
        "timeoutMs": 0,
        "onAttention": True,
    },
    "run/stop": {
        "_meta": META,
        "runId": "018b",
        "anySession": True,
        "step": 0,
        "reason": "enough",
        "graceMs": 1,
        "waitMs": 2,
    },
    "run/dismiss": {"_meta": META, "runId": "018b", "anySession": True},
    "run/undismiss": {"_meta": META, "runId": "018b", "anySession": True},
    "run/events": {"_meta": META, "runId": "018b", "afterSeq": 3, "limit": 4},
    "run/output": {
        "_meta": META,
        "runId": "018b",
        "stream": "stderr",
        "offset": -5,
        "limit": 6,
        "raw": True,
        "encoding": "base64",
    },
    "run/result": {"_meta": META, "runId": "018b"},
    "run/subscribe": {
        "_meta": META,
        "runId": "018b",
        "output": False,
        "stream": "stdout",
        "fromOffset": -1,
    },
    "run/unsubscribe": {"_meta": META, "runId": "018b"},
    "run/remove": {"_meta": META, "runId": "018b", "anySession": True},
    "agent/list": {"_meta": META},
    "server/status": {"_meta": META},
}


def _needed(method: str) -> dict[str, Any]:
    if method == "run/launch":
        return {"step": {"agent": "command"}}
    return {"runId": "018b"} if "runId" in PARAMS[method] else {}


NEEDED = {method: _needed(method) for method in PARAMS}
"""The least that each takes."""
