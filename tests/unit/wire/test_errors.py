"""Refusals: every error has a code, every code a number, and nothing is passed on unseen."""

from typing import Any, get_args

import orjson
import pytest

from sidecar.core import errors as core
from sidecar.core.errors import Damage, SidecarError
from sidecar.wire import errors
from sidecar.wire.errors import RpcCode

CONTRACT = {
    "not-found", "ambiguous-id", "invalid-params", "agent-unavailable", "run-live", "run-over",
    "already-resolved", "stale-turn", "not-steerable", "not-resumable", "limit-reached", "storage",
    "other-session", "internal",
}  # fmt: skip


def error_types(base: type[SidecarError] = SidecarError) -> set[type[SidecarError]]:
    """Every error that sidecar raises on purpose."""
    return {base}.union(*(error_types(sub) for sub in base.__subclasses__()))


def codes_of_core() -> set[str]:
    # Only those of the tree itself; a test elsewhere may have made subclasses of its own.
    own = {error for error in error_types() if error.__module__ == core.__name__}
    return {error.code for error in own} | set(get_args(Damage))


def test_every_code_of_the_core_has_a_number() -> None:
    assert codes_of_core() <= errors.NUMBERS.keys()


def test_there_is_no_code_that_nobody_knows() -> None:
    assert errors.NUMBERS.keys() == codes_of_core() | CONTRACT
    assert len(errors.NUMBERS) == len(errors.REFUSALS)


def test_the_numbers_are_those_of_the_contract() -> None:
    by_number = {
        RpcCode.INVALID_PARAMS: {"invalid-params"},
        RpcCode.CONTENT_MODIFIED: {"already-resolved", "stale-turn"},
        RpcCode.INTERNAL_ERROR: {"internal"},
    }
    for number, codes in by_number.items():
        assert {code for code, found in errors.NUMBERS.items() if found is number} == codes
    rest = errors.NUMBERS.keys() - set().union(*by_number.values())
    assert {errors.NUMBERS[code] for code in rest} == {RpcCode.REQUEST_FAILED}
    assert int(RpcCode.REQUEST_FAILED) == -32803
    assert int(RpcCode.CONTENT_MODIFIED) == -32801


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            core.InvalidParams("bad: 7", field="step.cwd", hint="a directory"),
            {
                "code": -32602,
                "message": "bad: 7",
                "data": {"code": "invalid-params", "field": "step.cwd", "hint": "a directory"},
            },
        ),
        (
            core.InvalidParams("unknown field: ", field="", hint="known fields: x"),
            {
                "code": -32602,
                "message": "unknown field: ",
                "data": {"code": "invalid-params", "field": "", "hint": "known fields: x"},
            },
        ),
        (
            core.NotFound("no such run: 018b", field="runId", run_id="018b"),
            {
                "code": -32803,
                "message": "no such run: 018b",
                "data": {"code": "not-found", "field": "runId", "runId": "018b"},
            },
        ),
        (
            core.AmbiguousId("two runs: 018b", candidates=("018b1", "018b2")),
            {
                "code": -32803,
                "message": "two runs: 018b",
                "data": {
                    "code": "ambiguous-id",
                    "field": "runId",
                    "hint": "give more characters of the id",
                    "candidates": ["018b1", "018b2"],
                },
            },
        ),
        (
            core.StorageError("no room: /state", errno_name="ENOSPC", hint="make room"),
            {
                "code": -32803,
                "message": "no room: /state",
                "data": {"code": "storage", "hint": "make room", "errno": "ENOSPC"},
            },
        ),
        (
            core.DamagedRun("from the future: 9", path="/state/runs/x", damage="future-format"),
            {
                "code": -32803,
                "message": "from the future: 9",
                "data": {"code": "future-format", "path": "/state/runs/x"},
            },
        ),
        (
            core.AlreadyResolved("too late"),
            {"code": -32801, "message": "too late", "data": {"code": "already-resolved"}},
        ),
        (
            core.Bug("impossible"),
            {"code": -32603, "message": "impossible", "data": {"code": "internal"}},
        ),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, SidecarError) else "",
)
def test_an_error_as_clients_see_it(error: SidecarError, expected: dict[str, Any]) -> None:
    assert errors.error_object(error) == expected


@pytest.mark.parametrize("damage", get_args(Damage))
def test_damage_is_its_own_code(damage: Damage) -> None:
    assert errors.code_of(core.DamagedRun("x", path="/", damage=damage)) == damage


def test_what_others_wrote_is_shown_as_plain_text() -> None:
    error = core.InvalidParams("not: \x1b[31m\ud800x", field="a\x07b", hint="c\x00d")
    told = errors.error_object(error)
    assert (told["message"], told["data"]["field"], told["data"]["hint"]) == ("not: x", "ab", "cd")
    orjson.dumps(told)


def test_faults_of_the_protocol() -> None:
    assert errors.fault_object(RpcCode.PARSE_ERROR, "not JSON") == {
        "code": -32700,
        "message": "not JSON",
    }
    assert errors.fault_object(RpcCode.METHOD_NOT_FOUND, "no such: x", hint="later") == {
        "code": -32601,
        "message": "no such: x",
        "data": {"hint": "later"},
    }
