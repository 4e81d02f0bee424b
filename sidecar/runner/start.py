"""Giving an attempt its warden.

The first attempt of a run is started by the boot path from an order that the launcher wrote;
every other one, and a first one that a crash prevented, is started here from the request.
This module must never start an attempt that has a warden's record: it may be running.
"""

import os

from sidecar.core.errors import AgentUnavailable, SpawnRefused
from sidecar.drivers import base, registry
from sidecar.procs import order, warden
from sidecar.procs.handle import WardenHandle
from sidecar.store import attempts, layout
from sidecar.store.rundir import LeasedRunDir


def has_record(run_dir: LeasedRunDir, step: int, attempt: int) -> bool:
    """Whether a warden was ever forked for this attempt."""
    path = os.path.join(layout.attempt_dir(run_dir.path, step, attempt), layout.WARDEN)
    return os.path.lexists(path)


def warden_for(run_dir: LeasedRunDir, step: int, attempt: int, paths: list[str]) -> WardenHandle:
    """Writes the order and forks the warden, which starts the agent at once.

    Raises ``StorageError`` if the order cannot be written, ``SpawnRefused`` if no process can be
    forked, ``NotFound`` if the run's directory is gone; all may pass.  Raises ``DamagedRun`` or
    ``AgentUnavailable`` if the request does not tell any more what to start.  Nothing has begun
    then.
    """
    launch = run_dir.read_request()
    asked = launch.steps[step]
    driver = registry.find(asked.agent)
    if driver is None:
        raise AgentUnavailable(f"no such agent: {asked.agent}", run_id=launch.run_id)
    plan = driver.order(asked, launch)
    state_dir = os.path.dirname(os.path.dirname(run_dir.path))
    env = base.environment(launch, asked, state_dir)
    attempt_dir = attempts.write_order(
        run_dir,
        step,
        attempt,
        order=order.encode(
            [os.fsencode(arg) for arg in plan.argv],
            [os.fsencode(f"{name}={value}") for name, value in env],
            os.fsencode(asked.cwd or launch.cwd),
            plan.stdin.value,
        ),
        prompt=asked.prompt,
    )
    try:
        return warden.start(run_dir.path, attempt_dir, run_dir.lease.fd, paths=paths)
    except OSError as exc:
        raise SpawnRefused(f"no warden could be forked: {exc.strerror}") from exc
