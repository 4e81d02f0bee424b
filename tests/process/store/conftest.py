"""What the tests of the store stand on: an opened state directory, and a canary outside of it."""

from pathlib import Path

import pytest

from sidecar.store.layout import Layout, open_state_dir


@pytest.fixture
def layout(state_dir: Path) -> Layout:
    """Give an opened, empty state directory."""
    return open_state_dir(str(state_dir))


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Give a file that whoever follows a link would spoil."""
    canary = tmp_path / "canary"
    canary.write_text("alive")
    return canary
