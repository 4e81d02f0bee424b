"""Doctor: says what is wrong and what may help, and changes nothing."""

import fcntl
import os
from pathlib import Path

import pytest

from sidecar.control.context import Context
from sidecar.control.doctor import diagnose
from sidecar.control.host import Finding, Level
from sidecar.store import markers
from tests.support.callers import UNKNOWN, context, launched


def found(ctx: Context, code: str) -> list[Finding]:
    """What is said about one thing."""
    return [finding for finding in diagnose(ctx) if finding.code == code]


def level(ctx: Context, code: str) -> Level:
    """How bad the only finding of this code is."""
    (finding,) = found(ctx, code)
    return finding.level


def contents(state_dir: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder, with what may not change."""
    return {
        str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(state_dir.rglob("*"))
    }


def test_a_sound_state_directory(state_dir: Path) -> None:
    ctx = context(state_dir)
    launched(ctx)
    for code in ("state-dir", "locks", "room", "sockets", "active-runs", "runs"):
        assert level(ctx, code) is Level.OK, code
    for code in ("run-lost", "run-unknown", "marker-left", "damaged"):
        assert found(ctx, code) == []


def test_nothing_is_changed(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.vanish()
    (Path(ctx.layout.run_dir(made.snapshot.run.run_id)) / "status.json").write_bytes(b"{")
    before = contents(state_dir)
    diagnose(ctx)
    assert contents(state_dir) == before


def test_a_directory_that_is_not_made_yet_is_not_made(tmp_path: Path) -> None:
    ctx = context(tmp_path / "a" / "b")
    assert level(ctx, "state-dir") is Level.NOTE
    assert not (tmp_path / "a").exists()
    assert level(context("/dev/null/state"), "state-dir") is Level.ERROR


def test_rights_and_kinds(tmp_path: Path) -> None:
    directory = tmp_path / "s"
    directory.mkdir(mode=0o700)
    assert level(context(directory), "state-dir") is Level.OK
    directory.chmod(0o755)
    assert level(context(directory), "state-dir") is Level.WARNING
    directory.chmod(0o777)
    assert level(context(directory), "state-dir") is Level.ERROR
    (tmp_path / "link").symlink_to(directory)
    assert level(context(tmp_path / "link"), "state-dir") is Level.ERROR
    (tmp_path / "file").write_text("")
    assert level(context(tmp_path / "file"), "state-dir") is Level.ERROR


def test_a_disk_without_locks(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fd: int, _how: int) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert level(context(state_dir), "locks") is Level.ERROR


def test_runs_that_need_somebody(state_dir: Path) -> None:
    ctx = context(state_dir)
    runs = {}
    for name in ("lost", "unknown", "unproven", "damaged"):
        made, runner = launched(ctx)
        runner.start()
        runs[name] = made.snapshot.run.run_id
        if name == "unproven":
            runner.end(proof=UNKNOWN)
        else:
            runner.vanish()
    (Path(ctx.layout.run_dir(runs["unknown"])) / "lease").unlink()
    (Path(ctx.layout.run_dir(runs["damaged"])) / "status.json").write_bytes(b"{")
    markers.add(ctx.layout, "01890a5d-ac96-774b-bcce-b302099a8057")
    for code, name in (("run-lost", "lost"), ("run-unknown", "unknown"), ("damaged", "damaged")):
        (finding,) = found(ctx, code)
        assert runs[name] in finding.message
        assert (finding.level, finding.hint is not None) == (Level.WARNING, True)
    left = [finding.message for finding in found(ctx, "marker-left")]
    assert len(left) == 2
    assert any(runs["unproven"] in message for message in left)


def test_a_long_path_is_no_trouble_where_there_is_proc(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir(mode=0o700)
    (finding,) = found(context(deep), "sockets")
    assert finding.level is Level.OK
    assert "/proc/self/fd" in finding.message
