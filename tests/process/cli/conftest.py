"""What every test here gets: a caller on a state directory of its own; nothing is left of it."""

from pathlib import Path

import pytest

from tests.process.cli.calling import Cli


@pytest.fixture
def cli(state_dir: Path, nothing_left: None, tmp_path: Path) -> Cli:
    """Give a caller in a directory of its own."""
    cwd = tmp_path / "project"
    cwd.mkdir()
    return Cli(state_dir=state_dir, cwd=cwd)
