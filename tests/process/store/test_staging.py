"""A run becomes visible by one step, whole and led, or nothing of it is left."""

import os
import stat
from pathlib import Path

import pytest

from sidecar.core.errors import InvalidParams, StorageError
from sidecar.store import index, lease, markers, retire, staging
from sidecar.store.layout import Layout
from sidecar.store.lease import Holding
from sidecar.store.rundir import RunDir
from tests.support import samples
from tests.support.stored import make_run, python, stage_run

RUN_ID = samples.RUN_ID

# A launcher that stops where it is told, holding its lease until its stdin ends.
LAUNCHER = """
import sys
from sidecar.store import staging
from sidecar.store.layout import Layout
from tests.support.stored import stage_run
layout = Layout(sys.argv[1])
run_dir, lease = stage_run(layout, sys.argv[2])
if sys.argv[3] == "committed":
    staging.commit(layout, sys.argv[2])
print("there", flush=True)
sys.stdin.read()
"""

LAUNCH_AND_SWEEP = """
import os, sys
from sidecar.core import ids
from sidecar.store import staging
from sidecar.store.layout import Layout
from tests.support.stored import stage_run
layout = Layout(sys.argv[1])
swept = []
for number in range(int(sys.argv[2])):
    run_id = ids.new_run_id(1_700_000_000_000 + number, os.urandom(10))
    run_dir, lease = stage_run(layout, run_id)
    swept += staging.sweep(layout)
    staging.commit(layout, run_id)
    run_dir.close()
    lease.release()
    print(run_id, flush=True)
assert swept == [], swept
"""


def names(path: str) -> list[str]:
    return sorted(os.listdir(path))  # noqa: PTH208


def test_a_staged_run_is_led_and_invisible(layout: Layout) -> None:
    run_dir, held = stage_run(layout)
    assert run_dir.path == layout.staging_dir(RUN_ID)
    assert lease.probe(run_dir.path) is Holding.HELD
    assert index.history_page(layout, 10).ids == ()
    assert markers.active_ids(layout) == []
    held.release()


def test_a_committed_run_is_visible_marked_and_still_led(layout: Layout) -> None:
    _, held = stage_run(layout)
    staging.commit(layout, RUN_ID)
    run_dir = RunDir(layout.run_dir(RUN_ID))
    assert run_dir.read_status() == samples.queued()
    assert run_dir.read_request() == samples.launch()
    assert markers.active_ids(layout) == [RUN_ID]
    assert lease.probe(run_dir.path) is Holding.HELD
    assert names(layout.staging) == []
    held.release()


def test_everything_in_a_run_is_private(layout: Layout) -> None:
    before = os.umask(0)
    try:
        run_dir, held = stage_run(layout)
        run_dir.make_attempt(0, 1)
        run_dir.write_result(samples.result())
        staging.commit(layout, RUN_ID)
    finally:
        os.umask(before)
    for place in Path(layout.state_dir).rglob("*"):
        mode = stat.S_IMODE(place.lstat().st_mode)
        assert mode == (0o700 if place.is_dir() else 0o600), place
    held.release()


def test_the_marker_is_there_before_the_run(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, held = stage_run(layout)
    whole = os.rename
    marked: list[list[str]] = []

    def rename(*args: str) -> None:
        marked.append(markers.active_ids(layout))
        whole(*args)

    monkeypatch.setattr(os, "rename", rename)
    staging.commit(layout, RUN_ID)
    assert marked == [[RUN_ID]]
    held.release()


@pytest.mark.parametrize("where", ["staged", "committed"])
def test_an_id_that_is_taken_is_refused_and_the_run_of_it_unharmed(
    layout: Layout, where: str
) -> None:
    run_dir, held = stage_run(layout)
    if where == "committed":
        staging.commit(layout, RUN_ID)
        run_dir = type(run_dir)(layout.run_dir(RUN_ID), held)
    with pytest.raises(InvalidParams) as caught:
        staging.stage(layout, RUN_ID)
    assert caught.value.field == "runId"
    assert run_dir.read_status() == samples.queued()
    assert lease.probe(run_dir.path) is Holding.HELD
    assert names(layout.staging) == ([RUN_ID] if where == "staged" else [])
    held.release()


def test_of_two_launches_with_one_id_the_second_to_commit_is_refused(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first one commits just after the second one has looked.
    _, first = stage_run(layout)
    Path(layout.staging_dir(RUN_ID)).rename(f"{layout.state_dir}/aside")
    _, second = stage_run(layout)
    Path(layout.staging_dir(RUN_ID)).rename(f"{layout.state_dir}/later")
    Path(f"{layout.state_dir}/aside").rename(layout.staging_dir(RUN_ID))
    staging.commit(layout, RUN_ID)
    Path(f"{layout.state_dir}/later").rename(layout.staging_dir(RUN_ID))
    with pytest.raises(InvalidParams):
        staging.commit(layout, RUN_ID)
    staging.withdraw(layout, RUN_ID)
    # The first one keeps its directory, its lease and its marker.
    second.release()
    assert lease.probe(layout.run_dir(RUN_ID)) is Holding.HELD
    assert markers.active_ids(layout) == [RUN_ID]
    assert names(layout.staging) == []
    first.release()


@pytest.mark.parametrize("fails", ["mkdir", "chmod", "open"])
def test_a_launch_that_cannot_be_staged_leaves_nothing(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    whole = getattr(os, fails)

    def refuse(path: str, *args: object, **kwargs: object) -> object:
        if str(path).endswith((RUN_ID, "lease")):
            raise OSError(28, "no space")
        return whole(path, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(os, fails, refuse)
        with pytest.raises(StorageError):
            staging.stage(layout, RUN_ID)
    # ``open`` is also how a directory is emptied: then it is left to the next sweep.
    staging.sweep(layout)
    assert names(layout.staging) == []


@pytest.mark.parametrize("when", ["staged", "committed"])
def test_a_launch_that_is_taken_back_leaves_nothing(layout: Layout, when: str) -> None:
    run_dir, held = stage_run(layout)
    run_dir.make_attempt(0, 1)
    if when == "committed":
        staging.commit(layout, RUN_ID)
    staging.withdraw(layout, RUN_ID)
    staging.withdraw(layout, RUN_ID)
    held.release()
    for part in (layout.staging, layout.runs, layout.active):
        assert names(part) == []


# --- sweeping ------------------------------------------------------------------------------------


def test_a_sweep_spares_a_launcher_that_lives_and_takes_what_a_dead_one_left(
    layout: Layout,
) -> None:
    with python(LAUNCHER, layout.state_dir, RUN_ID, "staged") as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "there\n"
        markers.add(layout, RUN_ID)
        assert staging.sweep(layout) == []
        assert names(layout.staging) == [RUN_ID]
        assert markers.active_ids(layout) == [RUN_ID]
        launcher.kill()
    assert staging.sweep(layout) == [RUN_ID]
    assert staging.sweep(layout) == []
    assert names(layout.staging) == []
    assert markers.active_ids(layout) == []


def test_a_sweep_leaves_what_was_committed_to_those_who_adopt(layout: Layout) -> None:
    with python(LAUNCHER, layout.state_dir, RUN_ID, "committed") as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "there\n"
        launcher.kill()
    assert staging.sweep(layout) == []
    assert RunDir(layout.run_dir(RUN_ID)).read_status() == samples.queued()
    assert markers.active_ids(layout) == [RUN_ID]


def test_launches_and_sweeps_at_once_never_lose_a_run(layout: Layout) -> None:
    launchers = [python(LAUNCH_AND_SWEEP, layout.state_dir, "40") for _ in range(3)]
    launched = []
    for launcher in launchers:
        said, _ = launcher.communicate(timeout=50)
        assert launcher.returncode == 0
        launched += said.split()
    assert len(launched) == 120
    assert sorted(index.history_page(layout, 1000).ids) == sorted(launched)
    assert markers.active_ids(layout) == sorted(launched)
    assert names(layout.staging) == []


def test_a_directory_whose_launcher_died_before_it_had_a_lease_is_swept(layout: Layout) -> None:
    Path(layout.staging_dir(RUN_ID)).mkdir()
    assert staging.sweep(layout) == [RUN_ID]
    assert names(layout.staging) == []


def test_no_sweep_comes_between_a_directory_and_its_lease(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = lease.Lease.create
    swept: list[list[str]] = []

    def create(path: str) -> lease.Lease:
        swept.append(staging.sweep(layout))
        return whole(path)

    monkeypatch.setattr(lease.Lease, "create", create)
    _, held = staging.stage(layout, RUN_ID)
    assert swept == [[]]
    assert names(layout.staging) == [RUN_ID]
    held.release()


def test_no_sweep_comes_between_a_marker_and_its_run(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, held = stage_run(layout)
    whole = os.rename
    swept: list[list[str]] = []

    def rename(*args: str) -> None:
        swept.append(staging.sweep(layout))
        whole(*args)

    monkeypatch.setattr(os, "rename", rename)
    staging.commit(layout, RUN_ID)
    assert swept == [[]]
    assert markers.active_ids(layout) == [RUN_ID]
    held.release()


def test_markers_without_a_run_go_and_all_others_stay(layout: Layout) -> None:
    make_run(layout, samples.run_id(1))
    _, held = stage_run(layout, samples.run_id(2))
    for number in (2, 3):
        markers.add(layout, samples.run_id(number))
    (Path(layout.active) / "not-a-run").touch()
    staging.sweep(layout)
    assert names(layout.active) == sorted([samples.run_id(1), samples.run_id(2), "not-a-run"])
    held.release()


def test_tombstones_are_deleted_whoever_died_over_them(layout: Layout) -> None:
    make_run(layout)
    retire.bury(layout, layout.run_dir(RUN_ID), RUN_ID)
    assert len(names(layout.staging)) == 1
    assert staging.sweep(layout) == []
    assert names(layout.staging) == []


def test_one_directory_that_cannot_be_swept_does_not_stop_the_others(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        Path(layout.staging_dir(samples.run_id(number))).mkdir()
    whole = os.rename

    def refuse(src: str, dst: str) -> None:
        if src.endswith(samples.run_id(2)):
            raise OSError(5, "no luck")
        whole(src, dst)

    monkeypatch.setattr(os, "rename", refuse)
    assert staging.sweep(layout) == [samples.run_id(1), samples.run_id(3)]
    assert names(layout.staging) == [samples.run_id(2)]


def test_a_link_in_staging_is_not_followed(layout: Layout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("theirs")
    Path(layout.staging_dir(RUN_ID)).symlink_to(elsewhere)
    staging.sweep(layout)
    with pytest.raises(InvalidParams):
        staging.stage(layout, RUN_ID)
    assert (elsewhere / "file").read_text() == "theirs"
