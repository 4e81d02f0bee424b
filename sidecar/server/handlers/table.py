"""Which function handles which request: complete, since it is made from the registry of the wire.

This module must never hold behaviour.
"""

from typing import Final

from sidecar.core.errors import Bug
from sidecar.server.calls import Function, Handler
from sidecar.server.handlers import agents, control, reading, runs
from sidecar.wire import methods

_FUNCTIONS: Final[dict[str, Function]] = {
    "run/launch": runs.launch_run,
    "run/get": reading.get_run,
    "run/list": reading.list_runs,
    "run/wait": runs.wait_for_runs,
    "run/stop": control.stop_run,
    "run/dismiss": control.dismiss_run,
    "run/undismiss": control.undismiss_run,
    "run/events": reading.events,
    "run/output": reading.output,
    "run/result": reading.result,
    "run/subscribe": runs.subscribe,
    "run/unsubscribe": runs.unsubscribe,
    "run/remove": control.remove_run,
    "agent/list": agents.list_agents,
    "server/status": agents.server_status,
}

PATIENT: Final = frozenset({"run/wait", "run/stop"})
"""Those that may wait for as long as the client likes."""


def handlers() -> dict[str, Handler]:
    """One handler for each request of the registry.  Raises ``Bug`` if one has none."""
    if _FUNCTIONS.keys() != methods.BY_NAME.keys():
        raise Bug(f"requests without a handler: {_FUNCTIONS.keys() ^ methods.BY_NAME.keys()}")
    return {
        name: Handler(request=request, function=_FUNCTIONS[name], is_patient=name in PATIENT)
        for name, request in methods.BY_NAME.items()
    }
