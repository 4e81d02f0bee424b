"""Runs of a private state directory, launched through control, after which nothing may be left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.runs import Runs


@pytest.fixture
def runs(state_dir: Path, nothing_left: None) -> Iterator[Runs]:
    """Give ``Runs`` whose runners are reaped at the end."""
    found = Runs(state_dir)
    yield found
    found.close()
