"""What a driver is: everything sidecar knows about talking to one kind of agent.

A driver turns a step into an order to start a program, and says of itself what else it can do with
that agent.  It holds no state and no connection.

This module must never start anything, look for programs or read files: drivers are sans-IO.
"""

from dataclasses import dataclass
from typing import Protocol

from sidecar.core.plan import Launch, StdinMode, StepRequest

RUN_ID_VARIABLE = "SIDECAR_RUN_ID"
SESSION_VARIABLE = "SIDECAR_SESSION"
STATE_DIR_VARIABLE = "SIDECAR_STATE_DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What can be done with a live run of this agent.  All false: it can only be stopped."""

    steer: bool = False
    interrupt: bool = False
    resume: bool = False
    permissions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How to start the agent for one step: its argument vector, and what it finds on stdin."""

    argv: tuple[str, ...]
    stdin: StdinMode


class Driver(Protocol):
    """One kind of agent."""

    @property
    def name(self) -> str:
        """What a step calls it."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What can be done with a live run."""
        ...

    def order(self, step: StepRequest, launch: Launch) -> Order:
        """How to start the agent for ``step`` of ``launch``, which has been checked."""
        ...


def environment(launch: Launch, step: StepRequest, state_dir: str) -> tuple[tuple[str, str], ...]:
    """The agent's whole environment: the launch's, the step's over it, and whose run it is.

    The last three make a run of whatever is launched from within the agent a nested run, in the
    same session and state directory; nothing that is asked for overrides them.
    """
    env = dict(launch.env)
    env.update(step.env)
    env[RUN_ID_VARIABLE] = launch.run_id
    env[SESSION_VARIABLE] = launch.session_id
    env[STATE_DIR_VARIABLE] = state_dir
    return tuple(env.items())
