"""The state directory of tests that start no process: nobody has to be looked for afterwards."""

from pathlib import Path

import pytest


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    """A private state directory."""
    state_dir = tmp_path / "state"
    state_dir.mkdir(mode=0o700)
    return state_dir
