"""Runs within runs: the parent is found, checked, and not nested without an end."""

from pathlib import Path

import pytest

from sidecar.control.launch import launch
from sidecar.core.errors import LimitReached, NotFound, RunOver
from sidecar.core.policy import NESTING_MAX
from tests.support.callers import StandIn, asked, context, launched, left_in

GIVEN = "01890a5d-ac96-774b-bcce-b302099a8057"


def test_the_run_around_the_caller_is_the_parent(state_dir: Path) -> None:
    spawner = StandIn()
    outer, _ = launched(context(state_dir, spawner=spawner))
    parent = outer.snapshot.run.run_id
    inner, _ = launched(context(state_dir, spawner=spawner, parent_run_id=parent))
    assert inner.snapshot.run.parent_run_id == parent
    asked_for, _ = launched(context(state_dir, spawner=spawner), parent_run_id=parent)
    assert asked_for.snapshot.run.parent_run_id == parent


@pytest.mark.parametrize("mark", ["no id", GIVEN])
def test_a_mark_of_another_state_directory_says_nothing(state_dir: Path, mark: str) -> None:
    made, _ = launched(context(state_dir, parent_run_id=mark))
    assert made.snapshot.run.parent_run_id is None


def test_a_parent_that_is_asked_for_has_to_exist(state_dir: Path) -> None:
    with pytest.raises(NotFound) as refused:
        launch(context(state_dir), asked(parent_run_id=GIVEN))
    assert refused.value.field == "parentRunId"
    assert left_in(state_dir) == set()


@pytest.mark.parametrize("inherited", [True, False])
def test_nothing_is_nested_in_a_run_that_is_over(state_dir: Path, inherited: bool) -> None:
    outer, runner = launched(context(state_dir))
    runner.start()
    runner.end()
    parent = outer.snapshot.run.run_id
    before = left_in(state_dir)
    ctx = context(state_dir, parent_run_id=parent if inherited else None)
    with pytest.raises(RunOver):
        launch(ctx, asked(parent_run_id=None if inherited else parent))
    assert left_in(state_dir) == before


def test_an_agent_that_launches_itself_over_and_over_is_stopped(state_dir: Path) -> None:
    spawner = StandIn()
    parent = None
    for _ in range(NESTING_MAX + 1):
        made, _ = launched(context(state_dir, spawner=spawner, parent_run_id=parent))
        parent = made.snapshot.run.run_id
    with pytest.raises(LimitReached) as refused:
        launch(context(state_dir, spawner=spawner, parent_run_id=parent), asked())
    assert refused.value.field == "parentRunId"
