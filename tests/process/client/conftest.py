"""What every test here gets: the options of a client on a state of its own; nothing is left."""

from pathlib import Path

import pytest

from sidecar.client.options import ClientOptions
from tests.support.serving import SESSION, environment


@pytest.fixture
def options(state_dir: Path, nothing_left: None, tmp_path: Path) -> ClientOptions:
    """Give the options of a client."""
    cwd = tmp_path / "project"
    cwd.mkdir()
    return ClientOptions(cwd=cwd, session_id=SESSION, env=environment(state_dir))
