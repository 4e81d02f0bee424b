"""A worked session, message by message, for protocol.md.

The messages are made by what makes the real ones: the run is the fold of its events, the answers
are views of it.  So the example cannot show what the server would not say.

This module must never be needed to serve anybody.
"""

import json
from collections.abc import Iterator
from typing import Any

from sidecar.core import events, ids, lifecycle, outcome
from sidecar.core.errors import SidecarError
from sidecar.core.ids import ProcId
from sidecar.core.plan import Mode
from sidecar.core.states import AgentExit, Proof, ProofState, Run
from sidecar.wire import convert, errors, methods
from sidecar.wire.decode import decode
from sidecar.wire.results import RunGetResult, RunOutputResult
from sidecar.wire.views import AgentView

_NOW = 1_760_000_000_000
_RUN_ID = ids.new_run_id(_NOW, bytes.fromhex("7d1a9f3e6b1f0e4c2a55"))
_CWD = "/srv/shop"
_SESSION = ids.session_of_folder(_CWD)
_VERSION = "0.1.0"
_ANSWER = b"3 passed\n"
_BOOT = "3a1d5c0e-8f0b-4a63-9d55-0b7f4a8d2f10"

_AGENT = AgentView(
    name="command", available=True, steer=False, interrupt=False, resume=False, permissions=False
)

Message = dict[str, Any]


def text() -> str:
    """The session as it goes over the pipe; ``-->`` is what the client writes."""
    frames = []
    for sender, message in messages():
        arrow = "-->" if sender is methods.Direction.CLIENT_TO_SERVER else "<--"
        body = encode(message)
        length = len(body.encode())
        frames.append(f"{arrow} Content-Length: {length}\\r\\n\n    \\r\\n\n    {body}")
    return "\n\n".join(frames)


def encode(message: Message) -> str:
    """The body of a message, as compact as the server writes it."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False)


def messages() -> Iterator[tuple[methods.Direction, Message]]:
    """Who sends what, in order."""
    client, server = methods.Direction.CLIENT_TO_SERVER, methods.Direction.SERVER_TO_CLIENT
    yield client, _request(1, "initialize", _initialize_params())
    yield server, _answer(1, _initialize_result())
    yield client, _notification("initialized", {})
    yield client, _request(2, "run/launch", _launch_params())
    queued, running, complete = _states()
    yield server, _answer(2, _run(queued))
    yield server, _notification("run/status", _run(running))
    yield server, _notification("run/status", _run(complete))
    yield client, _request(3, "run/output", {"runId": _RUN_ID[:8], "limit": 4096})
    yield server, _answer(3, _page())
    yield client, _request(4, "run/stop", {"runid": _RUN_ID})
    yield server, {"jsonrpc": "2.0", "id": 4, "error": _refusal("run/stop", {"runid": _RUN_ID})}
    yield client, _request(5, "shutdown", None)
    yield server, _answer(5, None)
    yield client, _notification("exit", None)


# --- envelopes -----------------------------------------------------------------------------------


def _request(number: int, method: str, params: Message | None) -> Message:
    return {"jsonrpc": "2.0", "id": number, **_notification(method, params)}


def _notification(method: str, params: Message | None) -> Message:
    said = {"jsonrpc": "2.0", "method": method}
    return said if params is None else {**said, "params": params}


def _answer(number: int, result: Message | None) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": result}


# --- contents ------------------------------------------------------------------------------------


def _initialize_params() -> Message:
    return {
        "processId": 4242,
        "clientInfo": {"name": "my-editor"},
        "capabilities": {},
        "workspaceFolders": [{"uri": f"file://{_CWD}", "name": "shop"}],
        "initializationOptions": {"statusIntervalMs": 200},
    }


def _initialize_result() -> Message:
    return {
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": 0,
            "executeCommandProvider": {"commands": list(methods.BY_COMMAND)},
            "experimental": {"sidecar": convert.to_object(methods.capabilities([_AGENT]))},
        },
        "serverInfo": {"name": "sidecar", "version": _VERSION},
    }


def _launch_params() -> Message:
    return {
        "label": "Tests \u2013 gr\u00fcn?",
        "step": {"agent": "command", "command": ["make", "test"]},
        "timeoutMs": 600_000,
        "clientToken": "my-editor-17",
    }


def _states() -> tuple[Run, Run, Run]:
    launch = _launch_params()
    run, _ = lifecycle.launched(
        events.RunLaunched(
            run_id=_RUN_ID,
            mode=Mode.SINGLE,
            session_id=_SESSION,
            cwd=_CWD,
            label=launch["label"],
            parent_run_id=None,
            timeout_ms=launch["timeoutMs"],
            steps=(events.PlannedStep(id="step-1", agent="command", label=None, timeout_ms=None),),
        ),
        _NOW,
    )
    states = [run]
    for after_ms, event in _story():
        run, _ = lifecycle.step(run, event, _NOW + after_ms)
        states.append(run)
    return states[0], states[2], states[-1]


def _story() -> Iterator[tuple[int, events.Event]]:
    runner = ProcId(pid=4301, start_ticks=881_200, boot_id=_BOOT)
    agent = ProcId(pid=4303, start_ticks=881_201, boot_id=_BOOT)
    n_bytes = len(_ANSWER)
    yield 12, events.RunnerStarted(runner=runner, adopted=False)
    yield 14, events.AgentSpawned(step=0, attempt=1, agent=agent)
    yield 2_170, events.AgentExited(step=0, attempt=1, exit=AgentExit(code=0))
    proof = Proof(
        state=ProofState.OBSERVED, mechanism="subreaper", verified_at=_NOW + 2_171, killed=0
    )
    yield 2_171, events.TreeEnded(step=0, attempt=1, proof=proof)
    yield (
        2_172,
        events.OutputDrained(
            step=0,
            attempt=1,
            stdout_bytes=n_bytes,
            stderr_bytes=0,
            complete=True,
            preview="3 passed",
        ),
    )
    yield 2_176, events.ResultStored(outcome=outcome.COMPLETED)


def _run(run: Run) -> Message:
    return convert.to_object(RunGetResult(run=convert.run_view(run)))


def _page() -> Message:
    return convert.to_object(
        RunOutputResult(
            text=convert.shown_bytes(_ANSWER),
            offset=0,
            next_offset=len(_ANSWER),
            eof=True,
            truncated=False,
        )
    )


def _refusal(method: str, params: Message) -> Message:
    try:
        decode(methods.BY_NAME[method].params, params)
    except SidecarError as error:
        return errors.error_object(error)
    raise AssertionError(method)
