"""Which agents there are: name to driver, and nothing else.

This module must never ask whether an agent's program is installed: that is for ``control.agents``.
"""

from sidecar.drivers.base import Driver
from sidecar.drivers.command import CommandDriver

_DRIVERS: tuple[Driver, ...] = (CommandDriver(),)


def drivers() -> tuple[Driver, ...]:
    """Every driver, in the order in which people should see them."""
    return _DRIVERS


def find(name: str) -> Driver | None:
    """The driver of the agent that a step calls ``name``."""
    return next((driver for driver in _DRIVERS if driver.name == name), None)
