"""The client's half: params as they are sent, and views as they were told."""

import msgspec
import orjson
import pytest

from sidecar.core.errors import Bug
from sidecar.core.states import Run
from sidecar.wire import convert, convert_events, decode, methods
from sidecar.wire.reading import from_object, to_object
from sidecar.wire.results import RunEventsResult, RunGetResult, RunResultResult
from tests.support import samples
from tests.unit.wire.samples import PARAMS


@pytest.mark.parametrize("name", PARAMS)
def test_params_are_sent_as_they_are_read(name: str) -> None:
    kind = methods.BY_NAME[name].params
    sent = orjson.dumps(to_object(decode.decode(kind, PARAMS[name])))
    assert orjson.loads(sent) == PARAMS[name]


@pytest.mark.parametrize("run", [samples.queued(), samples.running(), samples.ended()])
def test_a_run_is_read_as_it_was_told(run: Run) -> None:
    told = RunGetResult(run=convert.run_view(run))
    assert from_object(RunGetResult, convert.to_object(told)) == told


def test_events_are_read_as_they_were_told() -> None:
    events = tuple(convert_events.event_view(event) for event in samples.recorded())
    told = RunEventsResult(events=events, last_seq=len(events))
    assert from_object(RunEventsResult, convert.to_object(told)) == told


def test_a_result_is_read_as_it_was_told() -> None:
    told = convert.result_view(samples.result())
    assert from_object(RunResultResult, convert.to_object(told)) == told


def test_a_field_that_is_not_known_is_let_pass() -> None:
    told = convert.to_object(RunGetResult(run=convert.run_view(samples.queued())))
    told["run"]["brandNew"] = told["brandNew"] = 1
    assert from_object(RunGetResult, told).run.run_id == samples.RUN_ID


@pytest.mark.parametrize("odd", [None, [], {}, {"run": {"runId": 7}}])
def test_what_is_something_else_is_refused(odd: object) -> None:
    with pytest.raises(Bug) as refused:
        from_object(RunGetResult, odd)
    assert refused.value.hint is not None
    assert isinstance(refused.value.__cause__, msgspec.ValidationError)
