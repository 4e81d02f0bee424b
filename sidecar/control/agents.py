"""Which agents can be launched here, and what can be done with them once they run.

This module must never start a program that costs more than a moment, and never be asked on the way
of a launch: whether a program is there is found out by starting it.
"""

from dataclasses import dataclass

from sidecar.control.context import Context
from sidecar.drivers import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInfo:
    """One agent.  ``why_not`` is set when it is not available; ``version`` when it is known."""

    name: str
    available: bool
    version: str | None
    why_not: str | None
    steer: bool
    interrupt: bool
    resume: bool
    permissions: bool


def list_agents(ctx: Context) -> tuple[AgentInfo, ...]:
    """Every agent there is a driver for.  ``command`` is whatever the caller names, so always."""
    del ctx
    return known_agents()


def known_agents() -> tuple[AgentInfo, ...]:
    """The same without looking at the machine: what can be said while a client connects."""
    return tuple(
        AgentInfo(
            name=driver.name,
            available=True,
            version=None,
            why_not=None,
            steer=driver.capabilities.steer,
            interrupt=driver.capabilities.interrupt,
            resume=driver.capabilities.resume,
            permissions=driver.capabilities.permissions,
        )
        for driver in registry.drivers()
    )
