"""The real adopter, slow where it must not matter: between starting an attempt and looking around.

    slow_adopter.py RUN_DIR PATH...

It looks for what dead wardens left only once the warden that it has started itself is on record.
"""

import sys
from collections.abc import Collection
from pathlib import Path

from sidecar.core.events import Event
from sidecar.core.states import Run
from sidecar.runner import main, takeover
from sidecar.store.rundir import LeasedRunDir
from tests.support.wait import wait_until

look_around = takeover.events


def look_around_late(
    run_dir: LeasedRunDir, run: Run, now: int, *, but: Collection[tuple[int, int]] = ()
) -> list[Event]:
    """Wait for the record, then do what the adopter does."""
    record = Path(run_dir.path, "steps/0/1/warden")
    wait_until(
        lambda: record.exists() and b"running" in record.read_bytes(), what="a warden on record"
    )
    return look_around(run_dir, run, now, but=but)


takeover.events = look_around_late
main.adopt(sys.argv[1], sys.argv[2:])
