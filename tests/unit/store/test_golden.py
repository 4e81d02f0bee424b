"""What the first version wrote is read as it was meant, and what is written today still says it."""

import json

import pytest

from sidecar.core.events import EVENT_TYPES
from tests.support import samples
from tests.unit.store.documents import GOLDEN, GOLDENS, Golden


def holds(today: object, golden: object) -> bool:
    """Whether ``today`` says all that ``golden`` says; it may say more."""
    if isinstance(golden, dict) and isinstance(today, dict):
        return all(key in today and holds(today[key], value) for key, value in golden.items())
    if isinstance(golden, list) and isinstance(today, list):
        return len(golden) == len(today) and all(map(holds, today, golden))
    return today == golden


@pytest.mark.parametrize("golden", GOLDENS, ids=str)
def test_a_golden_file_is_read_as_it_was_meant(golden: Golden) -> None:
    assert golden.decode(golden.data) == golden.meaning


@pytest.mark.parametrize("golden", GOLDENS, ids=str)
def test_no_field_that_was_once_written_is_renamed_or_dropped(golden: Golden) -> None:
    assert holds(json.loads(golden.encode()), json.loads(golden.data))


def test_every_golden_file_is_tried() -> None:
    tried = {golden.name.partition(":")[0] for golden in GOLDENS}
    assert tried == {path.name for path in GOLDEN.iterdir()}


def test_every_kind_of_event_has_a_golden_line() -> None:
    assert {type(event) for event in samples.EVENTS} == set(EVENT_TYPES)
