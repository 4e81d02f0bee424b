"""The tables are dense, absorbing and live."""

import pytest

from sidecar.core.events import EVENT_TYPES, ResultStored, RunLaunched
from sidecar.core.states import LIVE_RUN_STATES, TERMINAL_RUN_STATES, AttemptState, RunState
from sidecar.core.transitions import ATTEMPT_EVENTS, ATTEMPT_TABLE, RUN_TABLE, Cell


def test_every_run_state_has_a_cell_for_every_event() -> None:
    assert set(RUN_TABLE) == set(RunState)
    for state, row in RUN_TABLE.items():
        assert set(row) == set(EVENT_TYPES), state


def test_every_attempt_state_has_a_cell_for_every_attempt_event() -> None:
    assert set(ATTEMPT_TABLE) == set(AttemptState)
    for state, row in ATTEMPT_TABLE.items():
        assert set(row) == set(ATTEMPT_EVENTS), state


@pytest.mark.parametrize("state", sorted(TERMINAL_RUN_STATES))
def test_a_terminal_state_absorbs_every_event(state: RunState) -> None:
    row = dict(RUN_TABLE[state])
    assert row.pop(RunLaunched) is Cell.ILLEGAL
    assert set(row.values()) == {Cell.IGNORE}


@pytest.mark.parametrize("state", sorted(LIVE_RUN_STATES))
def test_every_live_state_can_end(state: RunState) -> None:
    assert RUN_TABLE[state][ResultStored] is Cell.APPLY


def test_a_settled_attempt_stays_settled() -> None:
    row = ATTEMPT_TABLE[AttemptState.SETTLED].values()
    assert not [cell for cell in row if isinstance(cell, AttemptState)]


def test_every_attempt_state_can_settle_and_is_reachable() -> None:
    def reach(start: AttemptState) -> set[AttemptState]:
        seen, todo = {start}, [start]
        while todo:
            for cell in ATTEMPT_TABLE[todo.pop()].values():
                if isinstance(cell, AttemptState) and cell not in seen:
                    seen.add(cell)
                    todo.append(cell)
        return seen

    assert reach(AttemptState.STARTING) == set(AttemptState)
    for state in AttemptState:
        assert AttemptState.SETTLED in reach(state)
