"""Keywords become params: what was said, the library's own token, and nothing else."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from sidecar.client import options
from sidecar.client.options import LaunchOptions
from sidecar.core.errors import InvalidParams
from sidecar.wire import convert, decode
from sidecar.wire.params import InitializationOptions, RunLaunchParams
from sidecar.wire.reading import to_object
from tests.support import samples


def sent(command: list[str] | None, given: LaunchOptions) -> dict[str, Any]:
    """What goes over the wire, which a server has to understand."""
    launch = options.launch_params(command, given, cwd="/srv/shop", token="a-token")
    params: dict[str, Any] = orjson.loads(orjson.dumps(to_object(launch)))
    assert decode.decode(RunLaunchParams, params) == launch
    return params


def test_little_is_said_for_little() -> None:
    assert sent(["make", "-j2"], {}) == {
        "step": {"agent": "command", "command": ["make", "-j2"]},
        "clientToken": "a-token",
    }


def test_everything_that_can_be_said() -> None:
    given = LaunchOptions(
        shell="make",
        prompt="go",
        agent="command",
        cwd=Path("/srv"),
        env={"A": "1"},
        label="a label",
        timeout_ms=5000,
        client_token="mine",
        session_id="a session",
        run_id=samples.RUN_ID,
        parent_run_id=samples.OTHER_ID,
        meta={"mine": [1]},
    )
    assert sent(None, given) == {
        "step": {"agent": "command", "prompt": "go", "shell": "make"},
        "runId": samples.RUN_ID,
        "label": "a label",
        "sessionId": "a session",
        "cwd": "/srv",
        "env": {"A": "1"},
        "timeoutMs": 5000,
        "parentRunId": samples.OTHER_ID,
        "clientToken": "mine",
        "_meta": {"mine": [1]},
    }


def test_none_is_not_said() -> None:
    assert sent(["true"], {"label": None, "env": None, "cwd": None, "client_token": None}) == sent(
        ["true"], {}
    )


@pytest.mark.parametrize(
    ("told", "meant"), [("sub", "/srv/shop/sub"), ("/tmp", "/tmp"), ("~/x", "~/x"), (".", None)]
)
def test_a_directory_is_taken_from_that_of_the_client(told: str, meant: str | None) -> None:
    assert sent(["true"], {"cwd": told})["cwd"] == (meant or "/srv/shop/.")


def test_a_command_may_hold_paths() -> None:
    launch = options.launch_params([Path("/bin/true"), "x"], {}, cwd="/", token="t")
    assert launch.step.command == ("/bin/true", "x")


def test_a_string_is_not_taken_apart() -> None:
    with pytest.raises(InvalidParams) as refused:
        options.launch_params("make test", {}, cwd="/", token="t")
    assert refused.value.field == "step.command"
    with pytest.raises(InvalidParams):
        options.server_command({"command": "sidecar serve"})


def test_a_run_is_named_by_its_view_or_its_id() -> None:
    view = convert.run_view(samples.running())
    assert options.run_id_of(view) == options.run_id_of(samples.RUN_ID) == samples.RUN_ID


def test_the_greeting() -> None:
    said = options.greeting({"state_dir": "state"}, cwd="/srv/a shop", session_id="mine", pid=7)
    assert said["processId"] == 7
    assert said["workspaceFolders"] == [{"uri": "file:///srv/a%20shop", "name": "a shop"}]
    assert said["clientInfo"]["name"] == options.DEFAULT_NAME
    own = decode.decode(InitializationOptions, said["initializationOptions"])
    assert (own.session_id, own.state_dir) == ("mine", "/srv/a shop/state")
