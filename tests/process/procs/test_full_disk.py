"""A warden on a full disk: it says the truth at once, records it when it can, and kills nobody."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process.procs.rig import Rig
from tests.support.wait import wait_until

SIT = "echo up $$; sleep 100"


@pytest.fixture
def small_rig(tmp_path: Path) -> Iterator[Rig]:
    """Give a rig whose attempt lies on a file system of 32 KiB; it takes root, as CI is."""
    base = tmp_path / "base"
    base.mkdir()
    rig = Rig(base)
    folder = rig.dir / "steps"
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    (folder / "0").mkdir()
    yield rig
    rig.close()
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(rig: Rig) -> Callable[[], None]:
    """Leave no byte free; returns what frees them again.

    The record's own page is filled too: what it could still take without a new page is padded with
    lines that say nothing.
    """
    record = rig.attempt() / "warden"
    with record.open("ab") as padded:
        padded.write(b"\n" * (4096 - record.stat().st_size))
    ballast = rig.dir / "steps" / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue
    return ballast.unlink


def test_findings_are_told_though_they_cannot_be_recorded(small_rig: Rig) -> None:
    rig = small_rig
    rig.launch(["sh", "-c", f"{SIT} & exit 3"])
    rig.printed_fields(b"up", 1)
    rig.hears("exited", "code", 3)
    free = fill(rig)
    assert rig.ends()[1:3] == ["observed", "subreaper"]
    assert not any(line.startswith("proof") for line in rig.record())
    free()
    wait_until(
        lambda: any(line.startswith("proof observed") for line in rig.record()),
        what=lambda: f"the proof is recorded, but only {rig.record()}",
    )
    words = [line.split()[0] for line in rig.record() if line]
    assert words == ["spawning", "running", "exited", "proof"]
    rig.says_bye()


def test_vanished_runner_on_a_full_disk_is_waited_out(small_rig: Rig) -> None:
    rig = small_rig
    rig.launch(["sh", "-c", "trap 'echo last words; exit 5' TERM; echo up $$; sleep 100 & wait"])
    rig.printed_fields(b"up", 1)
    with (rig.attempt() / "stdout.log").open("r+b") as log:
        size = len(log.read())
        log.truncate(4096)  # a page that is full: nothing more fits without a new one
    free = fill(rig)
    rig.kill_runner()
    wait_until(lambda: not rig.agents(), what="the tree is gone")
    assert rig.wardens() != []
    assert not (rig.dir / "adopted.jsonl").exists()
    free()
    rig.adopted()
    output = rig.output()
    assert output[4096:] == b"last words\n"
    assert size == output.index(b"\0")
    words = [line.split()[0] for line in rig.record() if line]
    assert words == ["spawning", "running", "runner-vanished", "exited", "proof"]
