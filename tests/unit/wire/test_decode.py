"""Params: what fits becomes typed, what does not is refused by its path, with a hint."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core import policy
from sidecar.core.errors import InvalidParams
from sidecar.wire import convert, decode, methods
from sidecar.wire.fields import Params
from sidecar.wire.params import (
    InitializationOptions,
    RunLaunchParams,
    RunListParams,
    RunOutputParams,
    RunStopParams,
    RunWaitParams,
    Scope,
    Stream,
    Until,
)
from tests.unit.wire.samples import META, NEEDED, PARAMS

METHODS = list(methods.BY_NAME)

STATES = "one of queued, running, paused, complete, failed, stopped, rejected"

LATER_LAUNCH_FIELDS = ["chain", "parallel", "concurrency", "maxAgents", "usage"]
LATER_STEP_FIELDS = [
    "model", "fallbackModels", "turns", "tools", "permissions", "as", "schema", "outputFile",
    "acceptance", "options",
]  # fmt: skip


def params_of(method: str, value: object) -> Params:
    return decode.decode(methods.BY_NAME[method].params, value)


def refused(method: str, value: object) -> InvalidParams:
    with pytest.raises(InvalidParams) as caught:
        params_of(method, value)
    assert caught.value.message
    assert not caught.value.message.endswith(".")
    return caught.value


def launch_with_step(**fields: object) -> dict[str, Any]:
    return {"step": {"agent": "command", **fields}}


# --- what fits -----------------------------------------------------------------------------------


def test_there_is_a_sample_of_every_request() -> None:
    assert list(PARAMS) == METHODS


@pytest.mark.parametrize("method", METHODS)
def test_every_field_goes_in_and_comes_out_again(method: str) -> None:
    decoded = params_of(method, PARAMS[method])
    assert as_object(decoded) == PARAMS[method]
    assert params_of(method, as_object(decoded)) == decoded


@pytest.mark.parametrize("method", METHODS)
def test_the_sample_holds_every_field_that_is_offered(method: str) -> None:
    fields = methods.BY_NAME[method].params.__struct_encode_fields__
    later = LATER_LAUNCH_FIELDS if method == "run/launch" else []
    # A step has only one index, which is also its default.
    only_one_value = ["step"] if method == "run/output" else []
    assert set(fields) - set(PARAMS[method]) == {*later, *only_one_value}


@pytest.mark.parametrize("method", METHODS)
def test_null_is_the_same_as_absent(method: str) -> None:
    fields = methods.BY_NAME[method].params.__struct_encode_fields__
    nulls = {name: None for name in fields if name not in NEEDED[method]}
    assert params_of(method, NEEDED[method] | nulls) == params_of(method, NEEDED[method])


def test_null_is_the_same_as_absent_within_a_step() -> None:
    nulls = dict.fromkeys(PARAMS["run/launch"]["step"].keys() - {"agent"})
    later = dict.fromkeys(LATER_STEP_FIELDS)
    assert params_of("run/launch", launch_with_step(**nulls, **later)) == params_of(
        "run/launch", launch_with_step()
    )


def test_a_later_field_that_is_null_is_absent() -> None:
    launch = launch_with_step() | dict.fromkeys(LATER_LAUNCH_FIELDS)
    assert params_of("run/launch", launch) == params_of("run/launch", launch_with_step())


@pytest.mark.parametrize("method", ["run/list", "run/wait", "agent/list", "server/status"])
def test_absent_params_are_empty_ones(method: str) -> None:
    assert params_of(method, None) == params_of(method, {})


def test_the_defaults() -> None:
    listed = decode.decode(RunListParams, {})
    assert (listed.scope, listed.limit, listed.states) == (Scope.ACTIVE, policy.LIST_LIMIT, None)
    waited = decode.decode(RunWaitParams, {})
    assert (waited.until, waited.timeout_ms) == (Until.ALL, policy.WAIT_DEFAULT_MS)
    stopped = decode.decode(RunStopParams, {"runId": "018b"})
    assert (stopped.grace_ms, stopped.wait_ms, stopped.any_session) == (policy.GRACE_MS, 0, False)
    page = decode.decode(RunOutputParams, {"runId": "018b"})
    assert (page.step, page.stream, page.offset, page.raw) == (0, Stream.STDOUT, 0, False)
    options = decode.decode(InitializationOptions, {})
    assert (options.status_interval_ms, options.recover) == (policy.STATUS_INTERVAL_MS, True)


def test_meta_is_carried_through_untouched() -> None:
    meta = {"class": 1, "a-b": [None, True, {"": "\u00e9"}], "_meta": {"_meta": {}}, "stepp": 0.1}
    assert params_of("run/list", {"_meta": meta}).meta == meta


def test_what_may_be_secret_is_not_in_a_representation() -> None:
    shown = repr(params_of("run/launch", PARAMS["run/launch"]))
    assert (
        shown
        == "RunLaunchParams(label='the run', step=StepParams(agent='command', label='the step'))"
    )


# --- what is refused by name ---------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [1, None, {}])
def test_an_unknown_field_is_named(method: str, value: object) -> None:
    error = refused(method, NEEDED[method] | {"noSuchField": value})
    assert (error.field, error.message) == ("noSuchField", "unknown field: noSuchField")


@pytest.mark.parametrize(
    "name", ["class", "a-b", "", "\u00e9", "__proto__", "self", "a.b", "run_id"]
)
def test_odd_names_are_named_as_they_are(name: str) -> None:
    assert refused("run/list", {name: 1}).field == name


def test_an_unknown_field_is_named_at_any_depth() -> None:
    error = refused("run/launch", launch_with_step(comand=["make"]))
    assert (error.field, error.hint) == ("step.comand", "did you mean command")


def test_what_is_like_nothing_gets_the_list() -> None:
    assert refused("run/get", {"xyz": 1}).hint == "known fields: _meta, runId"


def test_a_long_name_is_not_repeated_in_full() -> None:
    error = refused("run/list", {"x" * 100_000: 1})
    assert error.field is not None
    assert len(error.field) == 64
    assert len(error.message) < 100


@pytest.mark.parametrize("field", LATER_LAUNCH_FIELDS)
@pytest.mark.parametrize("value", [1, [], {}, [{"agent": "command"}], False])
def test_a_later_field_of_a_launch_is_refused_as_later(field: str, value: object) -> None:
    error = refused("run/launch", launch_with_step() | {field: value})
    assert (error.field, error.hint) == (field, "not in this version")


@pytest.mark.parametrize("field", LATER_STEP_FIELDS)
@pytest.mark.parametrize("value", ["x", {"stdin": "open"}, False])
def test_a_later_field_of_a_step_is_refused_as_later(field: str, value: object) -> None:
    error = refused("run/launch", launch_with_step(**{field: value}))
    assert (error.field, error.hint) == (f"step.{field}", "not in this version")


def test_later_values_are_refused_as_later() -> None:
    error = refused("run/output", NEEDED["run/output"] | {"stream": "transcript"})
    assert (error.field, error.hint) == ("stream", "not in this version")
    with pytest.raises(InvalidParams) as caught:
        decode.decode(
            InitializationOptions, {"progressCancel": "interrupt"}, at="initializationOptions"
        )
    assert caught.value.field == "initializationOptions.progressCancel"
    assert caught.value.hint == "not in this version"


@pytest.mark.parametrize("shapes", [["chain"], ["parallel"], ["chain", "step"], []])
def test_exactly_one_shape(shapes: list[str]) -> None:
    launch = {name: {"agent": "command"} if name == "step" else [] for name in shapes}
    error = refused("run/launch", launch)
    assert error.field == (shapes[0] if shapes else "step")


def test_none_of_the_shapes_says_what_to_give() -> None:
    error = refused("run/launch", {"label": "x"})
    assert error.message == "required field missing: step"
    assert error.hint is not None
    assert "Exactly one of step, chain and parallel" in error.hint


# --- what does not fit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "change", "field", "hint"),
    [
        ("run/get", {"runId": None}, "runId",
         "a string. A run id, or a unique prefix of at least 4 characters of one"),
        ("run/get", {"runId": 17}, "runId", "a string"),
        ("run/get", {"runId": ["x"]}, "runId", "a string"),
        ("run/list", {"limit": "50"}, "limit", "an integer from 1 to 1000"),
        ("run/list", {"limit": 0}, "limit", "an integer from 1 to 1000"),
        ("run/list", {"limit": 1001}, "limit", "an integer from 1 to 1000"),
        ("run/list", {"limit": 1.5}, "limit", "an integer from 1 to 1000"),
        ("run/list", {"limit": True}, "limit", "an integer from 1 to 1000"),
        ("run/list", {"limit": 10**30}, "limit", "an integer of at most 64 bits"),
        ("run/list", {"limit": math.nan}, "limit", "a finite number"),
        ("run/list", {"limit": math.inf}, "limit", "a finite number"),
        ("run/list", {"scope": "mine"}, "scope", "one of active, session, all"),
        ("run/list", {"scope": 3}, "scope", "one of active, session, all"),
        ("run/list", {"states": "running"}, "states", f"an array, each of it {STATES}"),
        ("run/list", {"states": ["running", "ended"]}, "states[1]", STATES),
        ("run/list", {"includeDismissed": 1}, "includeDismissed", "true or false"),
        ("run/list", {"_meta": []}, "_meta", "an object"),
        ("run/wait", {"runIds": ["018b", 7]}, "runIds[1]", "a string"),
        ("run/wait", {"runIds": [None]}, "runIds[0]", "a string"),
        ("run/wait", {"timeoutMs": -1}, "timeoutMs", "an integer from 0 to 2147483647"),
        ("run/stop", {"step": 1}, "step", "0"),
        ("run/stop", {"step": False}, "step", "0"),
        ("run/stop", {"graceMs": 600_001}, "graceMs", "an integer from 0 to 600000"),
        ("run/stop", {"reason": "x" * 1001}, "reason", "a string of at most 1000 characters"),
        ("run/output", {"stream": "stdin"}, "stream", "one of stdout, stderr, answer"),
        ("run/output", {"step": -1}, "step", "0"),
        ("run/output", {"offset": 2**53}, "offset",
         "an integer from -9007199254740991 to 9007199254740991"),
        ("run/launch", {"step": "make"}, "step", "an object"),
        ("run/launch", {"step": {}}, "step.agent", "a string. Which agent: a name of agent/list"),
        ("run/launch", {"label": "x" * 201}, "label", "a string of at most 200 characters"),
        ("run/launch", {"timeoutMs": 0}, "timeoutMs", "an integer from 1 to 2147483647"),
        ("run/launch", {"env": []}, "env", "an object, each value of it a string"),
        ("run/launch", {"env": {"A": None}}, "env.A", "a string"),
        ("run/launch", launch_with_step(command="make"), "step.command",
         "an array, each of it a string"),
        ("run/launch", launch_with_step(command=["make", 3]), "step.command[1]", "a string"),
        ("run/launch", launch_with_step(env={"A": 1}), "step.env.A", "a string"),
        ("run/launch", launch_with_step(shell="\ud800"), "step.shell", "Unicode text"),
        ("run/launch", launch_with_step(env={"\udc80": "1"}), "step.env.", "Unicode text"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_by_its_path(
    method: str, change: dict[str, Any], field: str, hint: str
) -> None:
    error = refused(method, NEEDED[method] | change)
    assert (error.field, error.hint) == (field, hint)


@pytest.mark.parametrize("value", [[], [1], "text", 17, True, 0.5])
def test_params_that_are_no_object(value: object) -> None:
    error = refused("run/get", value)
    assert error.field == "params"
    assert error.message.startswith("not an object: ")


def test_a_secret_is_not_repeated() -> None:
    for step in ({"prompt": ["s3cr3t"]}, {"env": {"A": ["s3cr3t"]}}, {"shell": {"s3cr3t": 1}}):
        assert "s3cr3t" not in str(refused("run/launch", launch_with_step(**step)))


def test_control_characters_of_a_name_are_not_repeated() -> None:
    error = refused("run/list", {"a\x1b[31mb\nc": 1})
    assert (error.field, error.message) == ("ab c", "unknown field: ab c")


# --- what nobody could carry on ------------------------------------------------------------------


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def test_deep_nesting_is_refused_up_to_any_depth() -> None:
    assert params_of("run/list", {"_meta": nested(60)}).meta == nested(60)
    for depth in (policy.PARAMS_MAX_DEPTH, 100_000):
        error = refused("run/list", {"_meta": nested(depth)})
        assert (error.field, error.hint) == ("_meta", "at most 64 levels")


def test_too_many_values_are_refused() -> None:
    error = refused("run/list", {"_meta": {"many": [0] * policy.PARAMS_MAX_VALUES}})
    assert error.field == "_meta"


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, 2**64, -(2**63) - 1, "\ud800", {"\udfff": 1}]
)
def test_what_could_not_be_written_again_is_refused_even_in_meta(value: object) -> None:
    error = refused("run/list", {"_meta": {"x": [value]}})
    assert error.field is not None
    assert error.field.startswith("_meta.x[0]")


# --- every refusal has a reason ------------------------------------------------------------------

WORDS = sorted(
    {name for params in PARAMS.values() for name in params} | {"agent", "command", "env"}
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**31)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["stdout", "running", "active", "018b", "x" * 300])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(method=st.sampled_from(METHODS), data=st.data())
def test_whatever_is_sent_is_taken_or_refused_with_a_field(
    method: str, data: st.DataObject
) -> None:
    changes = data.draw(st.dictionaries(st.sampled_from(WORDS), JSON, max_size=3))
    value = data.draw(st.sampled_from([NEEDED[method], PARAMS[method]])) | changes
    try:
        decoded = params_of(method, value)
    except InvalidParams as refusal:
        error = refusal
    else:
        assert params_of(method, as_object(decoded)) == decoded
        return
    assert error.field is not None
    assert error.hint is not None


# --- commands ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"), [(None, None), ([], None), ([{"a": 1}], {"a": 1}), ([None], None)]
)
def test_the_argument_of_a_command(arguments: object, expected: object) -> None:
    assert decode.command_argument(arguments) == expected


@pytest.mark.parametrize("arguments", [[{}, {}], {}, "x", 1])
def test_other_arguments_are_refused(arguments: object) -> None:
    with pytest.raises(InvalidParams) as caught:
        decode.command_argument(arguments)
    assert caught.value.field == "arguments"


def test_a_launch_becomes_what_control_is_asked() -> None:
    asked = convert.asked(decode.decode(RunLaunchParams, PARAMS["run/launch"]))
    assert (asked.run_id, asked.label, asked.session_id) == (
        PARAMS["run/launch"]["runId"], "the run", "mine",
    )  # fmt: skip
    assert (asked.cwd, asked.env, asked.timeout_ms) == ("/tmp", (("B", "2"),), 7)
    assert (asked.client_token, asked.meta, asked.mode) == ("once", META, "single")
    (step,) = asked.steps
    assert (step.agent, step.label, step.prompt, step.shell, step.cwd, step.timeout_ms) == (
        "command", "the step", "read me", "make test", "sub", 5,
    )  # fmt: skip
    assert (step.command, step.env) == (("make", "test"), (("A", "1"),))
    assert "read me" not in repr(asked)


def test_what_a_launch_leaves_open_stays_open() -> None:
    asked = convert.asked(decode.decode(RunLaunchParams, NEEDED["run/launch"]))
    open_fields = (asked.run_id, asked.label, asked.session_id, asked.cwd, asked.timeout_ms)
    assert open_fields == (None,) * 5
    assert (asked.env, asked.meta, asked.client_token, asked.parent_run_id) == (
        (),
        None,
        None,
        None,
    )


def as_object(params: Params) -> dict[str, Any]:
    """Params as a client writes them."""
    sent: dict[str, Any] = json.loads(json.dumps(msgspec.to_builtins(params)))
    return sent
