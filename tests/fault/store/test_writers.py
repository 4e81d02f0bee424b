"""Eight processes that write as fast as they can, and a reader that never sees half of anything."""

import contextlib
from dataclasses import replace
from pathlib import Path

from sidecar.store.layout import Layout
from sidecar.store.rundir import RunDir
from tests.support import samples
from tests.support.stored import make_run, python

WRITERS = 8
TIMES = 300

# Leads its own run, and takes part in replacing a file that all of them replace.
WRITER = """
import json, sys
from dataclasses import replace
from sidecar.core.events import OutputSeen, Recorded
from sidecar.store import atomic
from sidecar.store.rundir import RunDir
from tests.support import samples
from tests.support.stored import lead
leader = lead(RunDir(sys.argv[1]))
print("writing", flush=True)
for number in range(2, int(sys.argv[3]) + 2):
    event = OutputSeen(step=0, attempt=1, stdout_bytes=number, stderr_bytes=0)
    leader.append(Recorded(seq=number, at=number, event=event))
    run = replace(samples.running(leader.run_id), seq=number, cwd="/" + "x" * (number % 50) * 100)
    leader.write_status(run, durable=False)
    data = json.dumps({"by": leader.run_id, "fill": "x" * (number % 70) * 100}).encode()
    atomic.replace_file(sys.argv[2], data, durable=False)
"""


def test_no_reader_sees_half_and_no_update_is_lost(layout: Layout) -> None:
    import json

    run_dirs = [make_run(layout, samples.run_id(number)) for number in range(WRITERS)]
    common = Path(layout.state_dir, "common.json")
    common.write_text("{}")
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(python(WRITER, run_dir.path, common, str(TIMES)))
            for run_dir in run_dirs
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "writing\n"
        seen: dict[str, int] = {}
        while any(writer.poll() is None for writer in writers):
            for run_dir in run_dirs:
                seq = RunDir(run_dir.path).read_status().seq
                assert seq >= seen.get(run_dir.run_id, 0)
                seen[run_dir.run_id] = seq
            json.loads(common.read_bytes())
    assert {writer.returncode for writer in writers} == {0}
    for run_dir in run_dirs:
        assert run_dir.read_status().seq == TIMES + 1
        assert run_dir.read_current() == run_dir.read_status()
    assert list(Path(layout.state_dir).rglob("*.tmp")) == []
    assert replace(run_dirs[0].read_status(), cwd="/").run_id == run_dirs[0].run_id
