"""The agent ``command``: any program, which knows nothing of sidecar.

It is given an argument vector (or a string for the shell) and perhaps a prompt on its standard
input; its answer is what it prints.

This module must never interpret what the program prints.
"""

from sidecar.core.plan import COMMAND_AGENT, Launch, StepRequest, argv_of, stdin_of
from sidecar.drivers.base import Capabilities, Order


class CommandDriver:
    """Starts a program as it is; all that can be done with it afterwards is to stop it."""

    name = COMMAND_AGENT
    capabilities = Capabilities()

    def order(self, step: StepRequest, launch: Launch) -> Order:
        """The step's own command; ``launch`` adds nothing to it."""
        del launch
        return Order(argv=argv_of(step), stdin=stdin_of(step))
