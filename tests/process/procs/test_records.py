"""What adopt reads of a warden's record, whoever is at work on it meanwhile."""

import os
from pathlib import Path

import pytest

from sidecar.procs import records
from tests.process.procs.rig import Rig
from tests.support.wait import wait_until


def open_fds() -> list[str]:
    return sorted(link.name for link in Path("/proc/self/fd").iterdir())


def test_record_of_a_living_warden(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    _, pid, ticks, at = rig.hears("running")
    found = records.read_record(str(rig.attempt() / "warden"))
    assert found is not None
    assert found.is_alive is True
    assert found.agent == (pid, ticks)
    assert found.started_at == at
    assert found.warden is not None
    assert found.warden[0] in rig.wardens()
    assert found.runner_vanished_at is None
    assert (found.spawn_failed, found.exit, found.proof) == (None, None, None)


def test_record_of_a_warden_whose_runner_vanished(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    rig.hears("running")
    rig.kill_runner()
    rig.adopted()
    wait_until(lambda: not rig.wardens(), what="the warden has ended")
    found = records.read_record(str(rig.attempt() / "warden"))
    assert found is not None
    assert found.is_alive is False
    assert found.exit is not None
    assert found.exit[:2] == ("signal", 15)
    assert found.has_exited_unprompted is False
    assert found.runner_vanished_at is not None
    assert found.proof is not None
    assert found.proof[:3] == ("proof", "observed", "subreaper")


def test_record_of_a_failed_start(rig: Rig) -> None:
    rig.launch(["/no/such/agent"])
    rig.hears("spawn-failed")
    rig.says_bye()
    found = records.read_record(str(rig.attempt() / "warden"))
    assert found is not None
    assert (found.is_alive, found.agent) == (False, None)
    assert found.spawn_failed is not None
    assert found.spawn_failed[0] == 2
    assert found.spawn_failed[2] == "no such file: /no/such/agent"


def test_no_record_is_none(tmp_path: Path) -> None:
    assert records.read_record(str(tmp_path / "warden")) is None


def test_torn_last_line_was_never_said(tmp_path: Path) -> None:
    path = tmp_path / "warden"
    whole = (
        b"spawning 10 100 boot 1\nrunning 11 101 2\nexited code 0 3\nproof observed subreaper 0 4\n"
    )
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        found = records.read_record(str(path))
        assert found is not None
        n_lines = whole[:cut].count(b"\n")
        assert (found.warden is not None) == (n_lines >= 1)
        assert (found.agent is not None) == (n_lines >= 2)
        assert (found.exit is not None) == (n_lines >= 3)
        assert found.proof is None


def test_reading_changes_nothing_and_takes_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "warden"
    path.write_bytes(b"spawning 10 100 boot 1\nrunn")
    before = (path.read_bytes(), path.stat().st_mtime_ns, open_fds())
    records.read_record(str(path))
    records.read_record(str(path))
    assert (path.read_bytes(), path.stat().st_mtime_ns, open_fds()) == before


def test_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"proof observed subreaper 0 4\n")
    (tmp_path / "warden").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        records.read_record(str(tmp_path / "warden"))


@pytest.mark.parametrize("kind", ["directory", "link", "fifo"])
def test_what_has_the_name_of_a_record_is_refused_or_empty_but_never_waited_for(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "warden"
    match kind:
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to("/dev/null")
        case _:
            os.mkfifo(path)
    if kind == "fifo":
        assert records.read_record(str(path)) == records.WardenRecord(is_alive=False)
        return
    with pytest.raises(OSError, match=r"warden|directory"):
        records.read_record(str(path))
