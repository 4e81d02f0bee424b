"""``initialize``: our options strictly, the rest as editors send it; which session follows."""

from pathlib import Path
from typing import Any

import pytest

from sidecar import settings
from sidecar.core.errors import InvalidParams
from sidecar.core.ids import session_of_folder
from sidecar.server import options

INSIDE = {"SIDECAR_SESSION": "around", "SIDECAR_RUN_ID": "0198c0de-0000-7000-8000-000000000000"}


def session(params: dict[str, Any], **environ: str) -> str:
    found = settings.from_environment({"HOME": "/home/somebody", **environ})
    return options.session_of(options.read(params), found)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"processId": "7", "rootUri": 7, "rootPath": [], "workspaceFolders": {}},
        {"workspaceFolders": [7], "capabilities": 7, "clientInfo": "an editor"},
        {"workspaceFolders": [{"uri": None}], "capabilities": {"window": 7}},
        {"clientInfo": {"name": 7}, "capabilities": {"window": {"workDoneProgress": "yes"}}},
        {"rootUri": "file:///a\ud800", "rootPath": "/a\0b", "clientInfo": {"name": "\ud800"}},
        {"initializationOptions": None},
        {"initializationOptions": {}},
        {"initializationOptions": []},
    ],
)
def test_what_is_odd_but_not_ours_is_not_said(params: dict[str, Any]) -> None:
    greeting = options.read(params)
    assert (greeting.process_id, greeting.client, greeting.folder) == (None, None, None)
    assert not greeting.has_progress
    assert session(params) == "default"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"statusIntervalMS": 1}, "statusIntervalMS"),
        ({"statusIntervalMs": -1}, "statusIntervalMs"),
        ({"recover": "yes"}, "recover"),
        ({"progressCancel": "interrupt"}, "progressCancel"),
        ({"progressCancel": "sometimes"}, "progressCancel"),
    ],
)
def test_an_option_of_ours_that_is_wrong_is_named(said: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        options.read({"initializationOptions": said})
    assert refused.value.field == f"initializationOptions.{field}"


@pytest.mark.parametrize("said", ["text", 7, [1]])
def test_options_that_are_none_are_refused(said: object) -> None:
    with pytest.raises(InvalidParams) as refused:
        options.read({"initializationOptions": said})
    assert refused.value.field == "initializationOptions"


def test_a_session_that_is_said_is_the_session() -> None:
    params = {"initializationOptions": {"sessionId": "mine"}, "rootUri": "file:///folder"}
    assert session(params, **INSIDE) == "mine"
    with pytest.raises(InvalidParams) as refused:
        session({"initializationOptions": {"sessionId": ""}})
    assert refused.value.field == "initializationOptions.sessionId"


def test_the_first_folder_names_the_session_however_it_is_said() -> None:
    expected = session_of_folder("/a folder/é")
    uri = "file:///a%20folder/%C3%A9"
    for params in (
        {"workspaceFolders": [{"uri": uri, "name": "one"}, {"uri": "file:///two"}]},
        {"workspaceFolders": [], "rootUri": uri},
        {"workspaceFolders": None, "rootUri": uri, "rootPath": "/other"},
        {"rootUri": None, "rootPath": "/a folder/é"},
        {"rootUri": "/a folder/é"},
    ):
        assert session(params) == expected


def test_one_folder_has_one_session_whatever_leads_to_it(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    sessions = {session({"rootUri": path.as_uri()}) for path in (folder, link)}
    assert sessions == {session_of_folder(str(folder))}


def test_a_folder_of_another_machine_names_a_session_but_no_directory() -> None:
    params = {"rootUri": "vscode-vfs://github/somebody/something"}
    greeting = options.read(params)
    assert greeting.directory() is None
    assert session(params) == session_of_folder("vscode-vfs://github/somebody/something")


def test_a_folder_that_is_gone_is_no_directory(tmp_path: Path) -> None:
    assert options.read({"rootUri": tmp_path.as_uri()}).directory() == str(tmp_path)
    assert options.read({"rootUri": (tmp_path / "gone").as_uri()}).directory() is None


def test_inside_a_run_the_run_decides_outside_the_folder() -> None:
    params = {"rootUri": "file:///folder"}
    assert session(params, **INSIDE) == "around"
    assert session(params, SIDECAR_SESSION="said") == session_of_folder("/folder")
    assert session({}, SIDECAR_SESSION="said") == "said"
    assert session({}) == "default"
