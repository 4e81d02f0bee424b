"""The real runner, which kills itself after its k-th effect.

    crashing_runner.py RUN_DIR K PATH...

The lease is descriptor 3, as for the boot path.  It says on its standard error which effect was the
last one, and exits with 0 if the run was over before the k-th.
"""

import os
import signal
import sys

from sidecar.core.effects import Effect
from sidecar.core.events import RunnerStarted
from sidecar.procs import warden
from sidecar.runner.loop import Runner, whoami
from sidecar.store.lease import Lease
from sidecar.store.rundir import LeasedRunDir


def main(run_dir: str, last: int, paths: list[str]) -> None:
    """Lead the run like ``sidecar.runner.main.run``, up to effect number ``last``."""
    done = 0

    def after_effect(effect: Effect) -> None:
        nonlocal done
        done += 1
        if done == last:
            os.write(2, f"killed after effect {done}: {type(effect).__name__}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

    lease = Lease.inherit(3)
    handle = warden.start(run_dir, f"{run_dir}/steps/0/1", 3, paths=paths)
    leased = LeasedRunDir(run_dir, lease)
    runner = Runner(leased.read_current(), leased, paths, booted=handle, after_effect=after_effect)
    runner.feed(RunnerStarted(runner=whoami(), adopted=False))
    runner.lead()


main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
