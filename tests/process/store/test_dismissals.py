"""Hiding a run counts every change, loses none, and is nobody else's business."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.dismissal import NEVER, Dismissal
from sidecar.core.errors import DamagedRun, NotFound, StorageError
from sidecar.store import dismissals
from sidecar.store.layout import Layout
from sidecar.store.rundir import RunDir
from tests.support import samples
from tests.support.stored import all_at_once, make_run, python

HIDDEN = Dismissal(dismissed=True, changes=0, at=samples.NOW, at_seq=7)
SHOWN = Dismissal(dismissed=False, changes=0, at=samples.NOW + 1, at_seq=7)

# Hides the run again and again, each time at another state.
WINDOW = """
import sys
from sidecar.core.dismissal import Dismissal
from sidecar.store import dismissals
print("ready", flush=True)
sys.stdin.readline()
for number in range(100):
    at_seq = int(sys.argv[2]) * 1000 + number
    dismissals.write(sys.argv[1], Dismissal(dismissed=True, changes=0, at=1, at_seq=at_seq))
"""


@pytest.fixture
def run_dir(layout: Layout) -> RunDir:
    """Give a run that is over."""
    return make_run(layout, run=samples.ended())


def test_a_run_is_hidden_and_shown_and_each_change_counts(run_dir: RunDir) -> None:
    assert dismissals.write(run_dir.path, HIDDEN) == replace(HIDDEN, changes=1)
    assert run_dir.read_dismissal() == replace(HIDDEN, changes=1)
    assert dismissals.write(run_dir.path, SHOWN) == replace(SHOWN, changes=2)
    assert dismissals.write(run_dir.path, HIDDEN) == replace(HIDDEN, changes=3)
    assert run_dir.read_dismissal() == replace(HIDDEN, changes=3)


def test_a_change_is_durable_before_it_is_answered(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    monkeypatch.setattr(os, "fsync", synced.append)
    dismissals.write(run_dir.path, HIDDEN)
    assert len(synced) == 2


def test_saying_the_same_again_changes_nothing(run_dir: RunDir) -> None:
    first = dismissals.write(run_dir.path, HIDDEN)
    assert dismissals.write(run_dir.path, replace(HIDDEN, at=samples.NOW + 99)) == first
    shown = dismissals.write(run_dir.path, SHOWN)
    assert dismissals.write(run_dir.path, replace(SHOWN, at_seq=8)) == shown


def test_showing_what_was_never_hidden_writes_nothing(run_dir: RunDir) -> None:
    assert dismissals.write(run_dir.path, SHOWN) == NEVER
    assert not Path(run_dir.path, "dismissed.json").exists()


def test_hiding_a_later_state_is_a_change(run_dir: RunDir) -> None:
    dismissals.write(run_dir.path, HIDDEN)
    assert dismissals.write(run_dir.path, replace(HIDDEN, at_seq=9)).changes == 2


def test_windows_that_hide_at_once_lose_no_change(run_dir: RunDir) -> None:
    all_at_once([python(WINDOW, run_dir.path, str(number)) for number in range(4)])
    assert run_dir.read_dismissal().changes == 400


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format":1}', bytes(50)])
def test_a_damaged_dismissal_hides_nothing_and_is_kept_aside(
    run_dir: RunDir, content: bytes
) -> None:
    path = Path(run_dir.path, "dismissed.json")
    path.write_bytes(content)
    assert run_dir.read_dismissal() == NEVER
    assert path.read_bytes() == content
    assert dismissals.write(run_dir.path, HIDDEN).changes == 1
    assert path.with_name("dismissed.json.damaged").read_bytes() == content


def test_the_last_word_of_a_newer_version_stands(run_dir: RunDir) -> None:
    path = Path(run_dir.path, "dismissed.json")
    path.write_bytes(b'{"format":2,"hidden":true}')
    with pytest.raises(DamagedRun) as caught:
        dismissals.write(run_dir.path, HIDDEN)
    assert caught.value.damage == "future-format"
    assert path.read_bytes() == b'{"format":2,"hidden":true}'


def test_a_run_that_is_gone_cannot_be_hidden(layout: Layout) -> None:
    with pytest.raises(NotFound):
        dismissals.write(layout.run_dir(samples.RUN_ID), HIDDEN)


@pytest.mark.parametrize("name", ["dismissed.json", "dismissed.lock"])
def test_no_link_is_followed(run_dir: RunDir, canary: Path, name: str) -> None:
    Path(run_dir.path, name).symlink_to(canary)
    with contextlib.suppress(StorageError):
        dismissals.write(run_dir.path, HIDDEN)
    assert canary.read_text() == "alive"


def test_a_linked_run_directory_is_refused(run_dir: RunDir, tmp_path: Path) -> None:
    Path(run_dir.path).rename(tmp_path / "elsewhere")
    Path(run_dir.path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRun):
        dismissals.write(run_dir.path, HIDDEN)
    assert not (tmp_path / "elsewhere" / "dismissed.json").exists()


def test_a_window_that_hangs_keeps_others_waiting_for_a_bounded_time(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(dismissals, "LOCK_WAIT_MS", 30)
    with Path(run_dir.path, "dismissed.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StorageError):
            dismissals.write(run_dir.path, HIDDEN)
    assert dismissals.write(run_dir.path, HIDDEN).changes == 1
