"""The runner: the process that leads one run.  Its two ways in, and nothing else.

``run`` is entered from the thin boot path (``procs.boot``) with the lease in hand and the first
attempt already under way; ``adopt`` on a run that nobody leads.  From there on both are the same.

This module must never do anything but put the parts together.
"""

from sidecar.core.events import RunnerStarted
from sidecar.procs.handle import WardenHandle
from sidecar.runner import takeover
from sidecar.runner.loop import Runner, whoami
from sidecar.store.lease import Lease
from sidecar.store.rundir import LeasedRunDir


def run(
    run_dir: str, paths: list[str], *, started_at: int, lease_fd: int, warden: WardenHandle | None
) -> None:
    """Leads a run from its launch on; ``warden`` is that of the first attempt, already at work.

    ``started_at`` (ms since the epoch) is when the boot path began: the agent runs since then.

    ``paths`` are where sidecar and orjson are found, for whoever is started later.
    """
    lease = Lease.inherit(lease_fd)
    leased = LeasedRunDir(run_dir, lease)
    runner = Runner(leased.read_current(), leased, paths, booted=warden)
    runner.feed(RunnerStarted(runner=whoami(), adopted=False), at=started_at)
    runner.lead()


def adopt(run_dir: str, paths: list[str]) -> None:
    """Leads a run that nobody leads, to its end; leaves quietly if somebody does."""
    lease = Lease.take(run_dir)
    if lease is not None:
        takeover.lead(run_dir, paths, lease)
