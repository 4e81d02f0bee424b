"""What holds for every test: its mark and its turn by folder, and a private state directory.

A folder of tests is a kind of test; a new folder has to be added to ``TURNS`` on purpose. The cheap
kinds come first, so that a plain mistake is told before the slow kinds have begun.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.support.left import assert_nothing_left
from tests.support.procs import kill_processes

TESTS = Path(__file__).parent
TURNS = ("unit", "conformance", "process", "fault", "agents", "editor")

# Examples differ from run to run on a developer's machine and are the same in CI, where a new
# finding would hit whoever comes by. No deadline: how long an example takes is not a promise.
hypothesis.settings.register_profile("sidecar", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("sidecar")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its folder, and put the folders in their order (stable within each)."""
    for item in items:
        item.add_marker(_kind_of(item))
    items.sort(key=lambda item: TURNS.index(_kind_of(item)))


def _kind_of(item: pytest.Item) -> str:
    kind = item.path.relative_to(TESTS).parts[0]
    if kind not in TURNS:
        msg = (
            f"a test must lie in a folder of tests/ that is named in tests/conftest.py: {item.path}"
        )
        raise pytest.UsageError(msg)
    return kind


@pytest.fixture
def state_dir(tmp_path: Path) -> Iterator[Path]:
    """Give a private state directory, and kill at the end whatever still has to do with it.

    The killing only protects the next test. Ask for ``nothing_left`` too where the promise is that
    there is nothing to kill.
    """
    state_dir = tmp_path / "state"
    state_dir.mkdir(mode=0o700)
    yield state_dir
    kill_processes(state_dir)


@pytest.fixture
def nothing_left(state_dir: Path) -> Iterator[None]:
    """Fail a test after which processes, markers or half-built runs are left in ``state_dir``."""
    yield
    assert_nothing_left(state_dir)
