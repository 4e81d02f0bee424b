"""Real editors' capabilities: a whole session as each of them, checked by pytest-lsp.

Its client poses as an editor by that editor's recorded ``ClientCapabilities``, and warns whenever
an answer or a notice does not fit them; a warning is a failure here.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import make_test_lsp_client

from tests.support.serving import environment, server_command
from tests.support.wait import DEADLINE_S, wait_until_async

EDITORS = [
    "neovim@v0.6.1",
    "neovim@v0.7.0",
    "neovim@v0.8.0",
    "neovim@v0.9.1",
    "neovim@v0.10.0",
    "neovim@v0.11.0",
    "visual-studio-code@v1.65.2",
    "emacs@v29.1",
]


@pytest.fixture(params=EDITORS)
def capabilities(request: pytest.FixtureRequest) -> types.ClientCapabilities:
    """Give the recorded capabilities of one editor."""
    return client_capabilities(request.param)


@pytest_asyncio.fixture
async def editor(
    request: pytest.FixtureRequest, state_dir: Path, nothing_left: None
) -> AsyncIterator[LanguageClient]:
    """Give an editor whose server runs; at the end it must have been parted from in order."""
    client = make_test_lsp_client()
    command = server_command(request.config)
    await client.start_io(*command, env=environment(state_dir), cwd=state_dir.parent)
    yield client
    assert client.error is None
    await client.stop()  # type: ignore[no-untyped-call]


async def ask(client: LanguageClient, method: str, params: dict[str, Any]) -> Any:
    """Send a request that only sidecar knows."""
    asking = client.protocol.send_request_async(method, params)  # type: ignore[no-untyped-call]
    return await asyncio.wait_for(asking, DEADLINE_S)


async def test_a_session(
    editor: LanguageClient, capabilities: types.ClientCapabilities, state_dir: Path
) -> None:
    told: list[Any] = []
    editor.feature("run/status")(lambda params: told.append(params.run))
    folder = state_dir.parent.as_uri()
    result = await editor.initialize_session(
        types.InitializeParams(
            capabilities=capabilities,
            root_uri=folder,
            workspace_folders=[types.WorkspaceFolder(uri=folder, name="it")],
        )
    )
    assert result.server_info is not None
    assert result.server_info.name == "sidecar"
    launched = await ask(
        editor, "run/launch", {"step": {"agent": "command", "shell": "exec sleep 600"}}
    )
    run_id = launched.run.runId
    await wait_until_async(
        lambda: any(run.runId == run_id and run.state == "running" for run in told),
        what="to be told that it runs",
    )
    listed = await ask(editor, "run/list", {})
    assert [run.runId for run in listed.runs] == [run_id]

    # The same by the only request that every editor can send without a plugin.
    assert result.capabilities.execute_command_provider is not None
    assert "sidecar.run.stop" in result.capabilities.execute_command_provider.commands
    stopped = await editor.workspace_execute_command_async(
        types.ExecuteCommandParams(
            command="sidecar.run.stop", arguments=[{"runId": run_id, "waitMs": 20_000}]
        )
    )
    assert isinstance(stopped, dict)
    assert stopped["run"]["state"] == "stopped"
    await wait_until_async(
        lambda: any(run.runId == run_id and run.state == "stopped" for run in told),
        what="to be told that it is over",
    )
    await _progress_is_complete(editor, capabilities)
    await editor.shutdown_session()


async def _progress_is_complete(
    editor: LanguageClient, capabilities: types.ClientCapabilities
) -> None:
    """Whatever progress was begun has ended; an editor that cannot show it was sent none."""
    if capabilities.window is None or not capabilities.window.work_done_progress:
        assert editor.progress_reports == {}
        return
    assert editor.progress_reports != {}
    await wait_until_async(
        lambda: all(
            reports and isinstance(reports[-1], types.WorkDoneProgressEnd)
            for reports in editor.progress_reports.values()
        ),
        what=lambda: f"an end of all progress: {editor.progress_reports}",
    )


@pytest.mark.parametrize("name", ["neovim", "visual-studio-code", "emacs"])
async def test_a_workspace_that_changes_is_no_fault(
    editor: LanguageClient, name: str, state_dir: Path
) -> None:
    # What editors send to every server, whatever it offers.
    capabilities = client_capabilities(name)
    await editor.initialize_session(types.InitializeParams(capabilities=capabilities))
    uri = (state_dir.parent / "file.txt").as_uri()
    item = types.TextDocumentItem(uri=uri, language_id="text", version=1, text="a\n")
    editor.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings={}))
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=[]))
    editor.text_document_did_close(
        types.DidCloseTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=uri))
    )
    status = await ask(editor, "server/status", {})
    assert status.stateDir == str(state_dir)
    await editor.shutdown_session()
