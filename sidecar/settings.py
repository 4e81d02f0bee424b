"""The one door to the environment: what it says, read once, handed on as values.

Nothing below a program's own shell looks at ``os.environ``; whoever needs something of it is given
a ``Settings`` or a part of one.

This module must never change the environment, nor create anything on disk.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sidecar.core import ids
from sidecar.core.errors import InvalidParams
from sidecar.drivers.base import RUN_ID_VARIABLE, SESSION_VARIABLE, STATE_DIR_VARIABLE

RUNNER_VARIABLES = frozenset({
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
})  # fmt: skip
"""What a runner and its wardens are started with, besides ``LC_*``.  Agents are given their own
environment by the launch; a runner that lives for days must not hold everybody's keys."""

PROJECT_MARKS = (".git", ".hg", ".jj")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says.

    ``state_dir`` is absolute, and need not exist.  ``session_id`` and ``parent_run_id`` are those
    of the run whose agent started this process, if one did; the latter is unchecked.  ``base_env``
    is everything, for the agents (see ``control.environment``); ``runner_env`` the little that our
    own processes need.  ``no_color`` is as in the convention of that name.
    """

    state_dir: str
    session_id: str | None
    parent_run_id: str | None
    base_env: tuple[tuple[str, str], ...]
    runner_env: Mapping[str, str]
    no_color: bool
    terminal: str

    def __repr__(self) -> str:
        return f"Settings(state_dir={self.state_dir!r}, session_id={self.session_id!r})"


def of_process(*, state_dir: str | None = None) -> Settings:
    """The settings of this process; see ``from_environment``."""
    return from_environment(os.environ, state_dir=state_dir)


def from_environment(environ: Mapping[str, str], *, state_dir: str | None = None) -> Settings:
    """What ``environ`` says; ``state_dir`` is what the caller was told instead, if anything.

    Raises ``InvalidParams`` if no state directory can be named, or the session's name is none.
    """
    session_id = environ.get(SESSION_VARIABLE) or None
    if session_id is not None:
        ids.parse_session(session_id, field=SESSION_VARIABLE)
    return Settings(
        state_dir=_state_dir(environ, state_dir),
        session_id=session_id,
        parent_run_id=environ.get(RUN_ID_VARIABLE) or None,
        base_env=tuple(environ.items()),
        runner_env={name: value for name, value in environ.items() if _for_runners(name)},
        no_color=bool(environ.get("NO_COLOR")),
        terminal=environ.get("TERM", ""),
    )


def project_root(cwd: str) -> str:
    """The folder of the project that ``cwd`` (absolute) lies in: the nearest one with a mark of
    version control, else ``cwd`` itself.  Links are resolved, so that one folder has one name."""
    start = os.path.realpath(cwd)
    folder = start
    while True:
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in PROJECT_MARKS):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return start
        folder = above


def session_of(settings: Settings, cwd: str) -> str:
    """The session of a terminal in ``cwd``: that of the run around it, else of its project."""
    return settings.session_id or ids.session_of_folder(project_root(cwd))


def _state_dir(environ: Mapping[str, str], told: str | None) -> str:
    chosen = told or environ.get(STATE_DIR_VARIABLE)
    if chosen:
        if "\0" in chosen:
            raise InvalidParams("a path with a NUL character", field="stateDir")
        return os.path.abspath(chosen)
    # The XDG base directory specification: a relative path is to be ignored.
    xdg = environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(xdg):
        return os.path.join(os.path.abspath(xdg), "sidecar")
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        raise InvalidParams(
            f"no place for the state directory, since HOME is no absolute path: {home!r}",
            field="stateDir",
            hint=f"set {STATE_DIR_VARIABLE}, XDG_STATE_HOME or HOME",
        )
    return os.path.join(os.path.abspath(home), ".local", "state", "sidecar")


def _for_runners(name: str) -> bool:
    return name in RUNNER_VARIABLES or name.startswith("LC_")
