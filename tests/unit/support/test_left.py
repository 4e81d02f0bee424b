"""What counts as left behind: things that only a live process has a use for."""

from pathlib import Path

import pytest

from tests.support.left import assert_nothing_left, leftovers
from tests.support.wait import DeadlineMissedError


@pytest.mark.parametrize(
    "leftover",
    ["active/r1", "staging/r1", "runs/r1/status.json.tmp", "runs/r1/bell"],
)
def test_names_what_is_left(state_dir: Path, leftover: str) -> None:
    (state_dir / leftover).parent.mkdir(parents=True)
    (state_dir / leftover).touch()

    assert leftovers(state_dir) == [leftover]
    with pytest.raises(DeadlineMissedError, match=leftover):
        assert_nothing_left(state_dir, deadline_s=0.01)


@pytest.mark.usefixtures("nothing_left")
def test_a_finished_run_is_not_left_behind(state_dir: Path) -> None:
    run_dir = state_dir / "runs" / "r1"
    run_dir.mkdir(parents=True)
    (state_dir / "active").mkdir()
    (run_dir / "status.json").touch()

    assert leftovers(state_dir) == []


def test_a_state_directory_that_was_never_used_is_clean(state_dir: Path) -> None:
    assert_nothing_left(state_dir)
    assert state_dir.stat().st_mode & 0o777 == 0o700
