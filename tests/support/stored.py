"""Runs on disk as the store makes them, and Python children that use the store on their own."""

import subprocess
import sys
from pathlib import Path

from sidecar.core.events import Recorded
from sidecar.core.states import Run
from sidecar.store import staging
from sidecar.store.layout import Layout
from sidecar.store.lease import Lease
from sidecar.store.rundir import LeasedRunDir, RunDir
from tests.support import samples

# What the builders below hold until the test is over; a lease that is dropped is not released.
_held: list[Lease] = []


def release_all() -> None:
    """Release every lease that was taken here."""
    while _held:
        _held.pop().release()


def stage_run(layout: Layout, run_id: str = samples.RUN_ID) -> tuple[LeasedRunDir, Lease]:
    """A run as its launcher has it right before the commit."""
    run_dir, lease = staging.stage(layout, run_id)
    _held.append(lease)
    run_dir.write_request(samples.launch(run_id))
    run_dir.append(Recorded(seq=1, at=samples.NOW, event=samples.launched(run_id)))
    run_dir.write_status(samples.queued(run_id), durable=True)
    return run_dir, lease


def make_run(layout: Layout, run_id: str = samples.RUN_ID, run: Run | None = None) -> RunDir:
    """A run that is visible, with its marker, and that nobody leads."""
    run_dir, lease = stage_run(layout, run_id)
    if run is not None:
        run_dir.write_status(run, durable=False)
    run_dir.close()
    staging.commit(layout, run_id)
    lease.release()
    return RunDir(layout.run_dir(run_id))


def lead(run_dir: RunDir) -> LeasedRunDir:
    """The run's directory as its new leader has it."""
    lease = Lease.take(run_dir.path)
    assert lease is not None
    _held.append(lease)
    return LeasedRunDir(run_dir.path, lease)


def python(
    program: str, *args: str | Path, pass_fds: tuple[int, ...] = ()
) -> subprocess.Popen[str]:
    """Start a Python child with pipes for stdin and stdout; ``args`` are its ``sys.argv[1:]``."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=pass_fds,
    )


def all_at_once(children: list[subprocess.Popen[str]]) -> list[str]:
    """Let children that wait for a line go on together; what each says until its good end."""
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate(timeout=50)[0].strip() for child in children]
    assert {child.returncode for child in children} == {0}
    return said


def output_of(program: str, *args: str | Path) -> str:
    """Run a Python child to its end, which has to be a good one; what it said."""
    with python(program, *args) as child:
        said, _ = child.communicate(timeout=50)
    assert child.returncode == 0
    return said
