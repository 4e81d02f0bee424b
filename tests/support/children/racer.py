"""One of several launchers that race: for each token on stdin one launch, its run id on stdout.

racer.py STATE_DIR LOG      the agent of each run appends a line to LOG
"""

import os
import sys
import time

from sidecar.control.context import Caller, Context
from sidecar.control.launch import launch
from sidecar.core.asked import Asked
from sidecar.core.plan import Mode, StepRequest
from sidecar.procs import spawn
from sidecar.store.layout import Layout


def main(state_dir: str, log: str) -> None:
    """Launch as told until stdin ends."""
    ctx = Context(
        layout=Layout(state_dir),
        caller=Caller(session_id="race", client=None),
        base_env=(("PATH", os.environ["PATH"]),),
        runner_env={"PATH": os.environ["PATH"]},
        parent_run_id=None,
        now_ms=lambda: time.time_ns() // 1_000_000,
        random_bytes=os.urandom,
    )
    runners = []
    for line in sys.stdin:
        token = line.strip()
        made = launch(
            ctx,
            Asked(
                mode=Mode.SINGLE,
                cwd="/",
                client_token=token,
                steps=(
                    StepRequest(
                        agent="command",
                        command=("sh", "-c", 'echo "$2" >>"$1"', "sh", log, token),
                    ),
                ),
            ),
        )
        if made.runner_pid is not None:
            runners.append(made.runner_pid)
        print(made.snapshot.run.run_id, made.created, flush=True)
        runners = [pid for pid in runners if spawn.reap(pid) is None]


if __name__ == "__main__":
    main(*sys.argv[1:])
