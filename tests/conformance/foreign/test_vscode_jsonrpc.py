"""Microsoft's own JSON-RPC library as the client: a session that no code of ours has written."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import environment, server_command

HERE = Path(__file__).parent
DEADLINE_S = 50


@pytest.fixture(scope="session")
def library() -> Path:
    """Give the installed library; installs it, pinned and checked by its lock, if it is missing."""
    installed = HERE / "node_modules" / "vscode-jsonrpc"
    if not installed.is_dir():
        subprocess.run(
            ["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=HERE,
            check=True,
            timeout=DEADLINE_S,
        )
    return installed


@pytest.fixture
def report(
    request: pytest.FixtureRequest, library: Path, state_dir: Path, nothing_left: None
) -> dict[str, Any]:
    """Give what the session reports of itself."""
    assert library.is_dir()
    session = subprocess.run(
        ["node", str(HERE / "session.mjs"), *server_command(request.config)],
        cwd=state_dir.parent,
        env=environment(state_dir),
        check=False,
        capture_output=True,
        timeout=DEADLINE_S,
    )
    assert session.returncode == 0, session.stderr.decode(errors="replace")
    told: dict[str, Any] = json.loads(session.stdout)
    return told


def test_a_whole_session(report: dict[str, Any]) -> None:
    short, long = report["runs"]["short"], report["runs"]["long"]
    text = "caf\u00e9 \U0001f680\n"
    assert report["server"] == "sidecar"
    assert report["label"] == text.strip()
    assert report["followed"] == report["output"]["text"] == text
    assert report["output"]["nextOffset"] == len(text.encode())
    assert (report["result"]["runId"], report["result"]["state"]) == (short, "complete")
    assert report["listed"] == [long]
    assert report["stopped"] == "stopped"
    assert report["mirror"]["run"]["runId"] == short
    assert report["crowd"] == 500
    assert (report["shutdown"], report["exitCode"]) == (None, 0)

    assert report["cancelled"]["code"] == -32800
    assert report["unknownMethod"]["code"] == report["methodNotFound"]
    assert report["unknownField"]["data"]["field"] == "limits"
    assert report["notFound"]["data"]["code"] == "not-found"
    assert report["byPosition"]["code"] == -32602
    assert report["unknown"] == []
    assert report["faults"] == []

    for run_id in (short, long):
        told = [status for status in report["statuses"] if status["runId"] == run_id]
        revisions = [status["revision"] for status in told]
        assert revisions == sorted(set(revisions))
    for token in {item["token"] for item in report["progress"]}:
        kinds = [item["kind"] for item in report["progress"] if item["token"] == token]
        assert (kinds[0], kinds[-1], kinds.count("end")) == ("begin", "end", 1)
