"""Whatever is written is read back as it was, however odd its strings."""

import json
from dataclasses import replace

import pytest
from hypothesis import given

from sidecar.core.commands import StopCommand
from sidecar.core.dismissal import Dismissal
from sidecar.core.errors import InvalidParams
from sidecar.core.events import Recorded
from sidecar.core.plan import Launch
from sidecar.core.result import RunResult
from sidecar.core.states import Run
from sidecar.store import codec
from tests.support import samples
from tests.unit.store import strategies as any_

PATH = "some/file"


@given(any_.launches)
def test_any_request_comes_back(launch: Launch) -> None:
    data = codec.encode_request(launch)
    assert codec.decode_request(data, PATH, run_id=launch.run_id) == launch


@given(any_.runs)
def test_any_status_comes_back(run: Run) -> None:
    data = codec.encode_status(run)
    assert codec.decode_status(data, PATH, run_id=run.run_id) == run


@given(any_.recorded)
def test_any_event_comes_back_from_one_line(recorded: Recorded) -> None:
    line = codec.encode_recorded(recorded)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert codec.decode_recorded(line, PATH) == recorded


@given(any_.results)
def test_any_result_comes_back(result: RunResult) -> None:
    data = codec.encode_result(result)
    assert codec.decode_result(data, PATH, run_id=result.run_id) == result


@given(any_.commands)
def test_any_command_comes_back(command: StopCommand) -> None:
    assert codec.decode_command(codec.encode_command(command), PATH) == command


@given(any_.dismissals)
def test_any_dismissal_comes_back(dismissal: Dismissal) -> None:
    assert codec.decode_dismissal(codec.encode_dismissal(dismissal), PATH) == dismissal


def test_strings_that_json_cannot_hold_are_packed_and_others_are_not() -> None:
    # A file name that is no UTF-8, half of an emoji, and bytes that would be UTF-8 if joined.
    odd = ("/srv/\udcff", "\ud83d", "\udcc3\udca9")
    launch = replace(
        samples.launch(),
        cwd=odd[0],
        env=(("NAME", odd[1]),),
        steps=(replace(samples.launch().steps[0], prompt=odd[2], command=("echo", *odd)),),
    )
    data = codec.encode_request(launch)
    assert codec.decode_request(data, PATH, run_id=launch.run_id) == launch
    written = json.loads(data)
    assert list(written["cwd"]) == ["wtf8"]
    assert written["label"] == launch.label
    assert written["steps"][0]["command"][0] == "echo"


def test_metadata_that_looks_packed_is_left_as_it_is() -> None:
    launch = replace(samples.launch(), cwd="/\udcff", meta={"a": {"wtf8": "7aCA"}})
    data = codec.encode_request(launch)
    assert codec.decode_request(data, PATH, run_id=launch.run_id) == launch


@pytest.mark.parametrize("meta", [{"a": "\ud800"}, {"\ud800": 1}, {"a": 2**64}, {"a": {1, 2}}])
def test_metadata_that_cannot_be_kept_is_refused_at_launch(meta: dict[str, object]) -> None:
    with pytest.raises(InvalidParams) as caught:
        codec.encode_request(replace(samples.launch(), meta=meta))
    assert caught.value.field == "_meta"


def test_secrets_stand_in_the_request_alone() -> None:
    written = [codec.encode_status(samples.running()), codec.encode_result(samples.result())]
    written += map(codec.encode_recorded, samples.recorded())
    assert b"prompt" not in b"".join(written)
    assert b"env" not in b"".join(written)
