"""What is refused before anything exists, and with which field."""

from dataclasses import replace

import pytest

from sidecar.core import ids, plan
from sidecar.core.errors import InvalidParams
from sidecar.core.plan import Launch, Mode, StepRequest

GOOD = StepRequest(agent="command", command=("true",))


def launch(step: StepRequest = GOOD, **changes: object) -> Launch:
    base = Launch(
        run_id=ids.new_run_id(1, bytes(10)),
        session_id="s",
        cwd="/",
        mode=Mode.SINGLE,
        steps=(step,),
        created_at=1,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def refused(asked: Launch) -> str:
    with pytest.raises(InvalidParams) as caught:
        plan.check(asked)
    assert caught.value.field is not None
    return caught.value.field


def test_a_good_launch_passes() -> None:
    plan.check(launch())
    plan.check(launch(StepRequest(agent="command", shell="a | b", prompt="x")))
    plan.check(launch(StepRequest(agent="command", command=tuple(["a" * 5120] * 40))))


@pytest.mark.parametrize(
    ("step", "field"),
    [
        (StepRequest(agent="command"), "step.command"),
        (StepRequest(agent="command", command=("a",), shell="b"), "step.command"),
        (StepRequest(agent="command", command=()), "step.command"),
        (StepRequest(agent="command", command=("",)), "step.command"),
        (StepRequest(agent="command", shell="  "), "step.shell"),
        (StepRequest(agent="command", command=("a", "b\0c")), "step.command[1]"),
        (StepRequest(agent="command", command=("a", "x" * 200_000)), "step.command[1]"),
        (StepRequest(agent="command", command=("a", "\ud900")), "step.command[1]"),
        (StepRequest(agent="pi", command=("a",)), "step.command"),
        (replace(GOOD, label="x" * 201), "step.label"),
        (replace(GOOD, timeout_ms=0), "step.timeoutMs"),
        (replace(GOOD, env=(("A=B", "x"),)), "step.env.A=B"),
        (replace(GOOD, env=(("A", "x\0"),)), "step.env.A"),
        (replace(GOOD, env=(("", "x"),)), "step.env."),
    ],
)
def test_a_bad_step_is_refused_by_field(step: StepRequest, field: str) -> None:
    assert refused(launch(step)) == field


def test_a_bad_launch_is_refused_by_field() -> None:
    assert refused(launch(label="x" * 201)) == "label"
    assert refused(launch(timeout_ms=2**31)) == "timeoutMs"
    assert refused(launch(session_id="")) == "sessionId"
    assert refused(launch(run_id="../x")) == "runId"
    assert refused(launch(client_token="")) == "clientToken"
    assert refused(launch(steps=())) == "step"


def test_more_than_the_kernel_takes_is_refused_before_the_run_exists() -> None:
    step = StepRequest(agent="command", command=tuple(["a" * 100_000] * 30))
    assert refused(launch(step)) == "step.command"


def test_what_is_secret_does_not_show_in_repr() -> None:
    step = StepRequest(agent="command", command=("a", "secret"), prompt="secret")
    assert "secret" not in repr(launch(step, env=(("KEY", "secret"),)))


@pytest.mark.parametrize("name", ["../../etc", "%2e%2e%2f", "..\\", "A" * 36, "", "x" * 300])
def test_only_whole_run_ids_become_names(name: str) -> None:
    with pytest.raises(InvalidParams):
        ids.parse_run_id(name)
    with pytest.raises(InvalidParams):
        ids.parse_prefix(name)


def test_run_ids_sort_by_time_and_are_their_own_prefix() -> None:
    made = [ids.new_run_id(t, bytes([t % 251] * 10)) for t in range(1, 2000, 97)]
    assert made == sorted(made)
    assert all(ids.is_run_id(one) and ids.parse_prefix(one[:9]) == one[:9] for one in made)
