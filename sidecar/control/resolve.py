"""From a launch as somebody asked for it to one that is complete and can be carried out.

What can be refused by looking at the request alone is refused first (``draft``), before anything
is looked up; directories are looked at afterwards (``complete``), since a retry of a launch that
went through must find its run even if the directory has vanished meanwhile.

This module must never write anything, nor resolve a name by the password database: a home directory
is what HOME of the caller's environment says, or there is none.
"""

import os
import stat
from dataclasses import replace

from sidecar.control import environment
from sidecar.control.context import Context
from sidecar.core import ids, plan
from sidecar.core.asked import Asked
from sidecar.core.errors import AgentUnavailable, InvalidParams
from sidecar.core.plan import Launch, Mode
from sidecar.drivers import registry

_SOME_RUN_ID = "00000000-0000-7000-8000-000000000000"


def session_of(ctx: Context, asked: Asked) -> str:
    """The session that the run will belong to.  Raises ``InvalidParams``."""
    if asked.session_id is not None:
        return ids.parse_session(asked.session_id)
    return ids.parse_session(ctx.caller.session_id)


def draft(ctx: Context, asked: Asked) -> Launch:
    """The launch as far as the request alone decides it: without run id, directory and parent.

    Raises ``InvalidParams`` or ``AgentUnavailable`` for what no machine could carry out.
    """
    if asked.mode is not Mode.SINGLE:
        raise InvalidParams(
            f"not in this version: {asked.mode}",
            field=asked.mode.value,
            hint="launch one run for each step",
        )
    if len(asked.steps) > 1:
        raise InvalidParams(f"a single run with {len(asked.steps)} steps", field="step")
    for step in asked.steps:
        if registry.find(step.agent) is None:
            raise AgentUnavailable(
                f"no such agent: {step.agent[:64]!r}",
                field="step.agent",
                hint="known: " + ", ".join(driver.name for driver in registry.drivers()),
            )
    launch = Launch(
        run_id=asked.run_id if asked.run_id is not None else _SOME_RUN_ID,
        session_id=session_of(ctx, asked),
        cwd="/",
        mode=asked.mode,
        steps=asked.steps,
        label=asked.label,
        env=environment.merged(ctx.base_env, asked.env),
        timeout_ms=asked.timeout_ms,
        client_token=asked.client_token,
        meta=asked.meta,
        created_at=ctx.now_ms(),
    )
    plan.check(launch)
    return launch


def complete(
    ctx: Context, asked: Asked, launch: Launch, *, run_id: str, parent_run_id: str | None
) -> Launch:
    """``launch``, a draft, in full: its directories are looked at.  Raises ``InvalidParams``."""
    cwd = _directory(ctx, asked.cwd if asked.cwd is not None else _here(), "cwd", within=None)
    steps = tuple(
        step
        if step.cwd is None
        else replace(step, cwd=_directory(ctx, step.cwd, "step.cwd", within=cwd))
        for step in launch.steps
    )
    return replace(launch, run_id=run_id, cwd=cwd, steps=steps, parent_run_id=parent_run_id)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError as exc:
        raise InvalidParams(
            "no directory is given, and the one of this process does not exist any more",
            field="cwd",
        ) from exc


def _directory(ctx: Context, path: str, field: str, *, within: str | None) -> str:
    """``path`` as an absolute one that is a directory now; otherwise as it was given.

    Links stay: a person who works in a linked directory expects to be told that name again.
    """
    found = _expanded(ctx, path, field)
    if not os.path.isabs(found):
        if within is None:
            raise InvalidParams(
                f"not an absolute path: {path!r}", field=field, hint="give the whole path"
            )
        found = os.path.join(within, found)
    try:
        mode = os.stat(found).st_mode
    except ValueError as exc:  # NUL, or a lone surrogate (UnicodeEncodeError is one)
        raise InvalidParams(f"not a path: {path!r}", field=field) from exc
    except OSError as exc:
        raise InvalidParams(f"not a directory ({exc.strerror}): {path!r}", field=field) from exc
    if not stat.S_ISDIR(mode):
        raise InvalidParams(f"not a directory: {path!r}", field=field)
    if not os.access(found, os.X_OK):
        raise InvalidParams(f"no right to work in this directory: {path!r}", field=field)
    return found


def _expanded(ctx: Context, path: str, field: str) -> str:
    if not path:
        raise InvalidParams("the path is empty", field=field)
    if not path.startswith("~"):
        return path
    name, slash, rest = path.partition("/")
    home = dict(ctx.base_env).get("HOME", "")
    if name != "~" or not os.path.isabs(home):
        why = "somebody else's home directory" if name != "~" else "HOME is no absolute path"
        raise InvalidParams(
            f"cannot be resolved, {why}: {path!r}", field=field, hint="give the whole path"
        )
    return os.path.join(home, rest) if slash else home
