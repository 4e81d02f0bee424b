"""The command driver: what is asked for is what is started, and whose run it is is told."""

from sidecar.core.plan import Launch, Mode, StdinMode, StepRequest
from sidecar.drivers import registry
from sidecar.drivers.base import Capabilities, Order, environment

RUN_ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def launch(step: StepRequest) -> Launch:
    """A launch of one step."""
    return Launch(
        run_id=RUN_ID,
        session_id="s",
        cwd="/",
        mode=Mode.SINGLE,
        steps=(step,),
        env=(("A", "launch"), ("B", "launch"), ("SIDECAR_RUN_ID", "forged")),
        created_at=0,
    )


def order_of(step: StepRequest) -> Order:
    """What the registered driver orders."""
    driver = registry.find(step.agent)
    assert driver is not None
    return driver.order(step, launch(step))


def test_a_command_is_started_as_it_is() -> None:
    step = StepRequest(agent="command", command=("a b", "", "*"))
    assert order_of(step) == Order(argv=("a b", "", "*"), stdin=StdinMode.NULL)


def test_a_shell_string_is_given_to_the_shell_with_the_prompt_on_stdin() -> None:
    step = StepRequest(agent="command", shell="cat", prompt="hello")
    assert order_of(step) == Order(argv=("/bin/sh", "-c", "cat"), stdin=StdinMode.FILE)


def test_it_claims_no_ability_that_it_has_not() -> None:
    driver = registry.find("command")
    assert driver is not None
    assert driver.capabilities == Capabilities()


def test_there_is_no_driver_for_what_is_not_registered() -> None:
    assert registry.find("no-such-agent") is None
    assert [driver.name for driver in registry.drivers()] == ["command"]


def test_environment_the_step_wins_over_the_launch_and_the_run_over_both() -> None:
    step = StepRequest(agent="command", command=("x",), env=(("B", "step"),))
    assert dict(environment(launch(step), step, "/state")) == {
        "A": "launch",
        "B": "step",
        "SIDECAR_RUN_ID": RUN_ID,
        "SIDECAR_SESSION": "s",
        "SIDECAR_STATE_DIR": "/state",
    }
