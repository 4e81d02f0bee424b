"""The registry: complete, unique, and at one with the types that it names."""

import msgspec
import pytest

from sidecar.wire import convert, errors, methods
from sidecar.wire.fields import Params, View
from sidecar.wire.methods import Access, Request

OFFERED = [
    "run/launch", "run/get", "run/list", "run/wait", "run/stop", "run/dismiss", "run/undismiss",
    "run/events", "run/output", "run/result", "run/subscribe", "run/unsubscribe", "run/remove",
    "agent/list", "server/status",
]  # fmt: skip


def type_name(method: str, kind: str) -> str:
    """What the style asks for: ``run/get`` and ``Params`` make ``RunGetParams``."""
    return "".join(part.capitalize() for part in method.split("/")) + kind


def test_the_methods_of_this_version() -> None:
    assert list(methods.BY_NAME) == OFFERED
    assert len(methods.REQUESTS) == len(OFFERED)
    assert [told.name for told in methods.NOTIFICATIONS] == [
        "run/status", "run/output", "run/notice",
    ]  # fmt: skip


def test_what_comes_later_is_not_offered() -> None:
    assert set(methods.LATER_REQUESTS).isdisjoint(methods.BY_NAME)


@pytest.mark.parametrize("request_", methods.REQUESTS, ids=lambda request_: request_.name)
def test_a_request_and_its_types_fit(request_: Request) -> None:
    assert request_.params.__name__ == type_name(request_.name, "Params")
    assert request_.result.__name__ == type_name(request_.name, "Result")
    assert issubclass(request_.params, Params)
    assert issubclass(request_.result, View)
    assert request_.command == "sidecar." + request_.name.replace("/", ".")
    assert methods.BY_COMMAND[request_.command] is request_
    fields = request_.params.__struct_fields__
    assert ("any_session" in fields) == (request_.access is Access.ACTS)
    assert request_.summary.endswith(".")


@pytest.mark.parametrize("request_", methods.REQUESTS, ids=lambda request_: request_.name)
def test_the_errors_of_a_request_are_known(request_: Request) -> None:
    codes = (*methods.COMMON_ERRORS, *request_.errors)
    assert set(codes) <= errors.NUMBERS.keys()
    assert len(codes) == len(set(codes))
    assert ("other-session" in codes) == (request_.access is Access.ACTS)


def test_every_notification_and_its_type_fit() -> None:
    for told in methods.NOTIFICATIONS:
        assert told.params.__name__ == type_name(told.name, "Notification")
        assert issubclass(told.params, View)


def test_params_are_strict_and_views_are_not() -> None:
    for request_ in methods.REQUESTS:
        config = request_.params.__struct_config__
        assert (config.frozen, config.forbid_unknown_fields) == (True, True)
        config = request_.result.__struct_config__
        assert (config.frozen, config.forbid_unknown_fields) == (True, False)


def test_capabilities() -> None:
    told = convert.to_object(methods.capabilities([]))
    assert told == {
        "protocolVersion": "1",
        "methods": tuple(OFFERED),
        "notifications": ("run/status", "run/output", "run/notice"),
        "agents": (),
    }


def test_registry_entries_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        methods.REQUESTS[0].name = "x"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        msgspec.convert({"runId": "018b"}, methods.BY_NAME["run/get"].params).meta = {}  # type: ignore[misc]
