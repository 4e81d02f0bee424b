"""What callers say, as keywords, and the params that it becomes.

Names are those of the wire in Python's spelling; a path may be any path, and a relative one is
taken from the client's directory.  What is left out, or None, is left to the server.

This module must never ask the machine anything, nor refuse what the server refuses better.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypedDict
from urllib.parse import quote

import sidecar
from sidecar.core.errors import InvalidParams
from sidecar.core.plan import COMMAND_AGENT
from sidecar.wire.params import InitializationOptions, RunLaunchParams, StepParams
from sidecar.wire.reading import to_object
from sidecar.wire.views import RunView

StrPath = str | os.PathLike[str]
RunRef = str | RunView
"""A run, its id, or a unique prefix of that."""

LogName = Literal["stdout", "stderr"]
StreamName = Literal["stdout", "stderr", "answer"]

DEFAULT_NAME: Final = "python"


class ClientOptions(TypedDict, total=False):
    """How a client is opened.

    ``cwd``          directory of runs that name none, and whose project names the session; else
                     the present one
    ``session_id``   the session; else, as on the command line, SIDECAR_SESSION or the project's
    ``state_dir``    where runs are kept; else as for everybody
    ``name``         who we are, as people see it where a run was stopped
    ``command``      what starts a server; else this installation's ``sidecar serve``
    ``env``          the whole environment of the server, and so of the agents; else ours
    ``reconnect``    start another server if one is lost (the default)
    """

    cwd: StrPath | None
    session_id: str | None
    state_dir: StrPath | None
    name: str | None
    command: Sequence[StrPath] | None
    env: Mapping[str, str] | None
    reconnect: bool


class LaunchOptions(TypedDict, total=False):
    """What can be said of a launch, beside the command; see RunLaunchParams in protocol.md.

    ``shell`` is one string for /bin/sh, instead of a command; ``prompt`` is what the agent finds on
    its stdin; ``env`` is added to the server's.  ``client_token`` makes launches one: without it
    the library makes one up for each, which is what lets it repeat a launch by itself.
    """

    shell: str | None
    prompt: str | None
    agent: str | None
    cwd: StrPath | None
    env: Mapping[str, str] | None
    label: str | None
    timeout_ms: int | None
    client_token: str | None
    session_id: str | None
    run_id: str | None
    parent_run_id: str | None
    meta: dict[str, Any] | None


class OutputOptions(TypedDict, total=False):
    """Which part of a log.

    ``offset`` is in bytes, a negative one counts from the present end.  ``follow`` goes on until
    the log is complete, instead of ending where it ends now.  ``raw`` (of text) leaves escape
    sequences and control characters in.
    """

    stream: StreamName
    offset: int
    follow: bool
    raw: bool


class ByteOptions(TypedDict, total=False):
    """The same, for bytes, which are as they are."""

    stream: StreamName
    offset: int
    follow: bool


class StopOptions(TypedDict, total=False):
    """How a run is stopped: why, how long from TERM to KILL, and how long to wait for its end."""

    reason: str | None
    grace_ms: int | None
    wait_ms: int | None
    any_session: bool


class ListOptions(TypedDict, total=False):
    """Which runs are listed; ``limit`` is for all pages together, without it there is none."""

    scope: Literal["active", "session", "all"]
    states: Sequence[str] | None
    include_dismissed: bool
    limit: int | None


def run_id_of(run: RunRef) -> str:
    """The id, or the prefix of one, that ``run`` stands for."""
    return run.run_id if isinstance(run, RunView) else run


def server_command(given: ClientOptions) -> tuple[str, ...] | None:
    """The command that starts a server, if the caller names one.  Raises ``InvalidParams``."""
    command = given.get("command")
    return (
        None
        if command is None
        else _words(command, "command", hint="a list, such as ['sidecar', 'serve']")
    )


def greeting(given: ClientOptions, *, cwd: str, session_id: str, pid: int) -> dict[str, Any]:
    """The params of ``initialize``; ``cwd`` is absolute."""
    state_dir = given.get("state_dir")
    options = InitializationOptions(
        session_id=session_id,
        state_dir=None if state_dir is None else _within(cwd, state_dir),
    )
    folder = {"uri": "file://" + quote(os.fsencode(cwd)), "name": os.path.basename(cwd) or cwd}
    return {
        "processId": pid,
        "clientInfo": {"name": given.get("name") or DEFAULT_NAME, "version": sidecar.__version__},
        "capabilities": {},
        "workspaceFolders": [folder],
        "initializationOptions": to_object(options),
    }


def launch_params(
    command: Sequence[StrPath] | None, given: LaunchOptions, *, cwd: str, token: str
) -> RunLaunchParams:
    """The params of a launch; ``token`` is for a launch that has none.

    Raises ``InvalidParams`` if ``command`` is one string, which would be taken apart.
    """
    directory = given.get("cwd")
    return RunLaunchParams(
        step=StepParams(
            agent=given.get("agent") or COMMAND_AGENT,
            prompt=given.get("prompt"),
            command=None
            if command is None
            else _words(command, "step.command", hint="a list; or shell=, which takes one string"),
            shell=given.get("shell"),
        ),
        run_id=given.get("run_id"),
        label=given.get("label"),
        session_id=given.get("session_id"),
        cwd=None if directory is None else _within(cwd, directory),
        env=dict(given.get("env") or {}),
        timeout_ms=given.get("timeout_ms"),
        parent_run_id=given.get("parent_run_id"),
        client_token=given.get("client_token") or token,
        meta=given.get("meta"),
    )


def _words(command: Sequence[StrPath], field: str, *, hint: str) -> tuple[str, ...]:
    """A string is a sequence, too, and would be taken apart."""
    if isinstance(command, str | bytes | os.PathLike):
        raise InvalidParams("a command is a list of words, not one string", field=field, hint=hint)
    return tuple(os.fspath(word) for word in command)


def _within(cwd: str, path: StrPath) -> str:
    told = os.fspath(path)
    return told if told.startswith("~") else os.path.join(cwd, told)
