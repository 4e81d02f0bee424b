"""Removing a run takes all of it and nothing else, in one step for whoever looks."""

import os
from pathlib import Path

import pytest

from sidecar.core.errors import DamagedRun, NotFound, RunLive, StorageError
from sidecar.store import index, markers, retire, staging
from sidecar.store.layout import Layout
from sidecar.store.lease import Lease
from tests.support import samples
from tests.support.stored import all_at_once, make_run, python

RUN_ID = samples.RUN_ID

REMOVER = """
import sys
from sidecar.core.errors import SidecarError
from sidecar.store import retire
from sidecar.store.layout import Layout
print("ready", flush=True)
sys.stdin.readline()
try:
    retire.remove(Layout(sys.argv[1]), sys.argv[2])
    print("removed")
except SidecarError as exc:
    print(exc.code)
"""


def names(path: str) -> list[str]:
    return sorted(os.listdir(path))  # noqa: PTH208


def test_a_removed_run_leaves_nothing(layout: Layout) -> None:
    run_dir = make_run(layout)
    make_run(layout, samples.OTHER_ID)
    inside = Path(run_dir.path, "steps", "0", "1")
    inside.mkdir(parents=True)
    (inside / "stdout.log").write_text("x")
    retire.remove(layout, RUN_ID)
    assert names(layout.runs) == [samples.OTHER_ID]
    assert names(layout.staging) == []
    assert markers.active_ids(layout) == [samples.OTHER_ID]
    with pytest.raises(NotFound):
        retire.remove(layout, RUN_ID)


def test_links_are_deleted_and_not_followed(layout: Layout, tmp_path: Path) -> None:
    run_dir = make_run(layout)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "file").write_text("alive")
    Path(run_dir.path, "steps").symlink_to(theirs)
    Path(run_dir.path, "inbox", "link").symlink_to(theirs)
    Path(run_dir.path, "hard").hardlink_to(theirs / "file")
    retire.remove(layout, RUN_ID)
    assert (theirs / "file").read_text() == "alive"
    assert names(layout.staging) == []


def test_a_directory_that_becomes_a_link_meanwhile_is_not_followed(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = make_run(layout)
    steps = Path(run_dir.path, "steps")
    steps.mkdir()
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "file").write_text("alive")
    whole = os.open

    def swapped(path: str, *args: int, **kwargs: int) -> int:
        if path == "steps":
            (grave,) = Path(layout.staging).iterdir()
            (grave / "steps").rmdir()
            (grave / "steps").symlink_to(theirs)
        return whole(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(StorageError):
        retire.remove(layout, RUN_ID)
    assert (theirs / "file").read_text() == "alive"
    assert names(layout.runs) == []


def test_a_run_that_somebody_leads_is_not_removed(layout: Layout) -> None:
    run_dir = make_run(layout)
    lease = Lease.take(run_dir.path)
    assert lease is not None
    with pytest.raises(RunLive):
        retire.remove(layout, RUN_ID)
    assert run_dir.read_status() == samples.queued()
    assert markers.active_ids(layout) == [RUN_ID]
    lease.release()


def test_a_run_without_a_lease_is_not_removed(layout: Layout) -> None:
    # Its leader may be alive: unknown is never treated as dead.
    run_dir = make_run(layout)
    Path(run_dir.path, "lease").unlink()
    with pytest.raises(DamagedRun):
        retire.remove(layout, RUN_ID)
    assert run_dir.read_status() == samples.queued()


def test_a_linked_run_directory_is_not_removed(layout: Layout, tmp_path: Path) -> None:
    run_dir = make_run(layout)
    Path(run_dir.path).rename(tmp_path / "elsewhere")
    Path(run_dir.path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRun):
        retire.remove(layout, RUN_ID)
    assert (tmp_path / "elsewhere" / "status.json").exists()


def test_it_is_gone_before_it_is_deleted_and_a_sweep_ends_what_was_begun(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(layout)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "no luck")

    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", refuse)
        with pytest.raises(StorageError):
            retire.remove(layout, RUN_ID)
    assert index.history_page(layout, 10).ids == ()
    assert index.history_page(layout, 10).problems == ()
    assert markers.active_ids(layout) == []
    assert len(names(layout.staging)) == 1
    staging.sweep(layout)
    assert names(layout.staging) == []


def test_of_two_who_remove_one_run_one_does_and_the_other_is_told(layout: Layout) -> None:
    for number in range(5):
        run_id = samples.run_id(number)
        make_run(layout, run_id)
        said = sorted(all_at_once([python(REMOVER, layout.state_dir, run_id) for _ in range(2)]))
        assert said in (["not-found", "removed"], ["removed", "run-live"])
    assert names(layout.staging) == []


def test_a_name_that_was_removed_can_be_launched_again(layout: Layout) -> None:
    make_run(layout)
    retire.remove(layout, RUN_ID)
    assert make_run(layout).read_status() == samples.queued()
