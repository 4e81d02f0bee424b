"""What ``initialize`` says of the client, and which session follows from it.

Two kinds of carefulness. Our own options are read strictly: an option that is not known is refused
by its name, since a typo that is ignored is a setting that silently does nothing. Everything else
belongs to LSP and to editors, who send what they like: what is odd there is taken as not said.

This module must never create anything, and never refuse an editor for what is not ours.
"""

import os
from dataclasses import dataclass
from typing import Any

from pygls import uris

from sidecar.core import ids, text
from sidecar.core.errors import InvalidParams
from sidecar.settings import Settings
from sidecar.wire import decode
from sidecar.wire.params import InitializationOptions

OPTIONS = "initializationOptions"
DEFAULT_SESSION = "default"

CLIENT_MAX = 100
"""Characters of a client's name: it is recorded with every stop that the client asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What the client said.  ``folder`` is its first workspace folder: a path, or, where the
    folder is on no file system of ours, its URI."""

    process_id: int | None
    client: str | None
    folder: str | None
    has_progress: bool
    options: InitializationOptions

    def directory(self) -> str | None:
        """The first workspace folder, if runs can start in it: it may be another machine's, or
        gone.  Looks at the disk."""
        folder = self.folder
        return folder if folder is not None and os.path.isdir(folder) else None


def read(params: Any) -> Greeting:
    """The greeting in the params of ``initialize``.

    Raises ``InvalidParams`` for options of ours that are unknown or out of range.
    """
    if not isinstance(params, dict):
        raise InvalidParams("not an object", field="params", hint="InitializeParams of LSP")
    options = params.get(OPTIONS)
    process_id = params.get("processId")
    client = _part(params, "clientInfo").get("name")
    window = _part(_part(params, "capabilities"), "window")
    return Greeting(
        process_id=process_id if type(process_id) is int else None,
        client=(text.one_line(client, CLIENT_MAX) or None) if isinstance(client, str) else None,
        folder=_first_folder(params),
        has_progress=window.get("workDoneProgress") is True,
        # An empty Lua table is sent as an array, by editors whose user configured nothing.
        options=decode.decode(
            InitializationOptions, None if options == [] else options, at=OPTIONS
        ),
    )


def session_of(greeting: Greeting, settings: Settings) -> str:
    """The session of the client.

    What it says; else, inside a run, the run's; else the one of its first workspace folder, so
    that a reopened window gets its own runs back; else what the environment says, or ``default``.
    Raises ``InvalidParams`` for a name that is none.
    """
    said = greeting.options.session_id
    if said is not None:
        return ids.parse_session(said, field=f"{OPTIONS}.sessionId")
    if settings.parent_run_id is not None and settings.session_id is not None:
        return settings.session_id
    if greeting.folder is not None:
        return ids.session_of_folder(_one_name(greeting.folder))
    return settings.session_id or DEFAULT_SESSION


def _one_name(folder: str) -> str:
    return os.path.realpath(folder) if os.path.isabs(folder) else folder


def _first_folder(params: dict[str, Any]) -> str | None:
    folders = params.get("workspaceFolders")
    first = folders[0] if isinstance(folders, list) and folders else None
    candidates = (
        _part({"folder": first}, "folder").get("uri"),
        params.get("rootUri"),
        params.get("rootPath"),
    )
    for candidate in candidates:
        if isinstance(candidate, str) and candidate and _is_sound(candidate):
            return _path_of(candidate)
    return None


def _path_of(uri: str) -> str:
    if os.path.isabs(uri):
        return uri  # rootPath, and editors that take a path for a URI
    if not uri.startswith("file:"):
        return uri
    path = uris.to_fs_path(uri)
    return path if path is not None and os.path.isabs(path) and _is_sound(path) else uri


def _is_sound(path: str) -> bool:
    """Whether it can be given to the system at all."""
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return "\0" not in path


def _part(of: dict[str, Any], name: str) -> dict[str, Any]:
    part = of.get(name)
    return part if isinstance(part, dict) else {}
