"""A launcher that kills itself at a given point of a launch, as if the machine did.

crashing_launcher.py STATE_DIR LOG POINT      the agent of the run appends a line to LOG
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from sidecar.control.context import Caller, Context
from sidecar.control.launch import launch
from sidecar.core.asked import Asked
from sidecar.core.plan import Mode, StepRequest
from sidecar.procs import spawn
from sidecar.store import attempts, markers, staging
from sidecar.store.doorbell import Bells
from sidecar.store.layout import Layout
from sidecar.store.rundir import LeasedRunDir
from sidecar.store.tokens import TokenLock

# name -> what is called there; ``before`` or ``after`` the call is where the launcher dies.
POINTS: dict[str, tuple[object, str]] = {
    "token": (TokenLock, "bind"),
    "stage": (staging, "stage"),
    "request": (LeasedRunDir, "write_request"),
    "status": (LeasedRunDir, "write_status"),
    "order": (attempts, "write_order"),
    "marker": (markers, "add"),
    "commit": (staging, "commit"),
    "spawn": (spawn, "spawn_runner"),
    "ring": (Bells, "ring"),
}


def dying(call: Callable[..., Any], when: str) -> Callable[..., Any]:
    """``call``, which is the last one of this process."""

    def last(*args: object, **kwargs: object) -> None:
        if when == "after":
            call(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    return last


def main(state_dir: str, log: str, point: str) -> None:
    """Launch, and die at ``point``: ``before-NAME`` or ``after-NAME``."""
    when, _, name = point.partition("-")
    owner, attribute = POINTS[name]
    setattr(owner, attribute, dying(getattr(owner, attribute), when))
    ctx = Context(
        layout=Layout(state_dir),
        caller=Caller(session_id="crash", client=None),
        base_env=(("PATH", os.environ["PATH"]),),
        runner_env={"PATH": os.environ["PATH"]},
        parent_run_id=None,
        now_ms=lambda: time.time_ns() // 1_000_000,
        random_bytes=os.urandom,
    )
    command = ("sh", "-c", 'echo ran >>"$1"', "sh", log)
    step = StepRequest(agent="command", command=command)
    launch(ctx, Asked(mode=Mode.SINGLE, cwd="/", client_token="once", steps=(step,)))


if __name__ == "__main__":
    main(*sys.argv[1:])
