"""A refusal arrives as what it was when it left: the class, the code, the field, the hint."""

from typing import Any

import pytest

from sidecar.client import errors
from sidecar.client.errors import Refused, WaitTimedOut
from sidecar.core import errors as core
from sidecar.core.errors import AmbiguousId, Bug, DamagedRun, SidecarError, StorageError
from sidecar.wire.errors import NUMBERS, RpcCode, code_of, error_object, fault_object

PLAIN = (
    core.InvalidParams,
    core.NotFound,
    core.OtherSession,
    core.RunLive,
    core.RunOver,
    core.AlreadyResolved,
    core.AgentUnavailable,
    core.LimitReached,
    core.SpawnRefused,
    core.Bug,
)

SENT: tuple[SidecarError, ...] = (
    *(kind("what", field="step.command[1]", hint="do this", run_id="0190") for kind in PLAIN),
    AmbiguousId("which", candidates=("0190aaaa", "0190bbbb")),
    StorageError("full", errno_name="ENOSPC", hint="make room"),
    *(DamagedRun("odd", path="/state/x", damage=damage) for damage in ("corrupt", "foreign")),
    *(DamagedRun("odd", path="/x", damage=damage) for damage in ("future-format", "unreadable")),
)


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: str(code_of(sent)))
def test_what_is_refused_arrives_whole(sent: SidecarError) -> None:
    heard = errors.of_object(error_object(sent))
    assert type(heard) is type(sent)
    assert vars(heard) == vars(sent)
    assert str(heard) == str(sent)


def test_every_code_arrives_as_something() -> None:
    for code in NUMBERS:
        heard = errors.of_object({"code": -32803, "message": "what", "data": {"code": code}})
        assert code in {code_of(heard), getattr(heard, "said", None)}


def test_a_code_of_a_later_version() -> None:
    heard = errors.of_object(
        {"code": -32803, "message": "what", "data": {"code": "brand-new", "hint": "wait"}}
    )
    assert isinstance(heard, Refused)
    assert (heard.number, heard.said, heard.hint) == (-32803, "brand-new", "wait")


def test_a_fault_of_the_protocol() -> None:
    heard = errors.of_object(fault_object(RpcCode.METHOD_NOT_FOUND, "no such", hint="not yet"))
    assert isinstance(heard, Refused)
    assert (heard.number, heard.said, heard.hint) == (-32601, None, "not yet")


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        {},
        {"code": "x", "message": 7, "data": []},
        {"data": {"code": 5}},
        {"data": {"code": "ambiguous-id", "candidates": "x"}},
        {"data": {"code": "corrupt"}},
        {"data": {"code": "storage", "errno": 5}},
    ],
)
def test_an_odd_error_is_an_error_all_the_same(odd: Any) -> None:
    heard = errors.of_object(odd)
    assert not isinstance(heard, Bug)
    assert str(heard) == "refused without a word"


def test_a_wait_that_timed_out_is_a_timeout() -> None:
    assert issubclass(WaitTimedOut, TimeoutError)
    assert WaitTimedOut("not yet", run_id="0190").run_id == "0190"
