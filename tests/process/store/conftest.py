"""What the tests of the store stand on: an opened state directory, and a canary outside of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.store.layout import Layout, open_state_dir
from tests.support.stored import release_all


@pytest.fixture
def layout(state_dir: Path) -> Iterator[Layout]:
    """Give an opened, empty state directory; what was led in it is let go at the end."""
    yield open_state_dir(str(state_dir))
    release_all()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Give a file that whoever follows a link would spoil."""
    canary = tmp_path / "canary"
    canary.write_text("alive")
    return canary
