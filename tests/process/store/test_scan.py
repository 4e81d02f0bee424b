"""The slow scan alone finds every change of an active run, and looks at nothing else."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.errors import StorageError
from sidecar.store import dismissals, markers
from sidecar.store.layout import Layout
from sidecar.store.scan import ActiveScan
from tests.support import samples
from tests.support.stored import lead, make_run

FIRST, SECOND, THIRD = map(samples.run_id, (1, 2, 3))


def test_runs_appear_change_and_vanish_once_each(layout: Layout) -> None:
    scan = ActiveScan(layout)
    assert scan.poll() == []
    first = make_run(layout, FIRST)
    make_run(layout, SECOND)
    assert scan.poll() == [FIRST, SECOND]
    assert scan.poll() == []
    leader = lead(first)
    leader.write_status(samples.running(FIRST), durable=False)
    assert scan.poll() == [FIRST]
    leader.write_status(replace(samples.ended(), run_id=FIRST), durable=False)
    markers.remove(layout, FIRST)
    assert scan.poll() == [FIRST]
    assert scan.poll() == []
    dismissals.write(make_run(layout, THIRD).path, samples.dismissal())
    assert scan.poll() == [THIRD]


def test_every_version_is_seen_however_fast_they_follow(layout: Layout) -> None:
    scan = ActiveScan(layout)
    leader = lead(make_run(layout, FIRST))
    scan.poll()
    for _ in range(100):
        # Of the same size, and on the same few inodes.
        for _ in range(2):
            leader.write_status(samples.queued(FIRST), durable=False)
        assert scan.poll() == [FIRST]


def test_a_dismissal_of_an_active_run_is_a_change(layout: Layout) -> None:
    scan = ActiveScan(layout)
    run_dir = make_run(layout, FIRST)
    scan.poll()
    dismissals.write(run_dir.path, samples.dismissal())
    assert scan.poll() == [FIRST]


def test_a_run_that_is_over_is_watched_if_somebody_asks(layout: Layout) -> None:
    scan = ActiveScan(layout)
    run_dir = make_run(layout, FIRST, samples.ended(FIRST))
    markers.remove(layout, FIRST)
    assert scan.poll() == []
    assert scan.poll(also=[FIRST]) == [FIRST]
    assert scan.poll(also=[FIRST]) == []
    dismissals.write(run_dir.path, samples.dismissal())
    assert scan.poll(also=[FIRST]) == [FIRST]


def test_history_costs_nothing(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        make_run(layout, samples.run_id(number))
        markers.remove(layout, samples.run_id(number))
    make_run(layout, samples.run_id(99))
    looked: list[str] = []
    whole = os.stat

    def told(path: str, **kwargs: bool) -> os.stat_result:
        looked.append(path)
        return whole(path, **kwargs)

    monkeypatch.setattr(os, "stat", told)
    ActiveScan(layout).poll()
    assert len(looked) == 2
    assert all(samples.run_id(99) in path for path in looked)


def test_one_run_that_cannot_be_looked_at_hides_no_other(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = ActiveScan(layout)
    for run_id in (FIRST, SECOND):
        make_run(layout, run_id)
    whole = os.stat

    def refuse(path: str, **kwargs: bool) -> os.stat_result:
        if FIRST in str(path):
            raise PermissionError(13, "no")
        return whole(path, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", refuse)
        assert scan.poll() == [FIRST, SECOND]
        assert scan.poll() == []
    assert scan.poll() == [FIRST]


def test_a_marker_without_a_run_is_told_and_does_no_harm(layout: Layout) -> None:
    scan = ActiveScan(layout)
    markers.add(layout, FIRST)
    assert scan.poll() == [FIRST]
    assert scan.poll() == []
    shutil.rmtree(make_run(layout, SECOND).path)
    assert scan.poll() == [SECOND]


def test_a_scan_that_fails_forgets_nothing(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = ActiveScan(layout)
    make_run(layout, FIRST)
    assert scan.poll() == [FIRST]

    def refuse(*_: object) -> None:
        raise OSError(24, "no descriptors")

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", refuse)
        with pytest.raises(StorageError):
            scan.poll()
    assert scan.poll() == []


# --- markers -------------------------------------------------------------------------------------


def test_markers_are_added_and_removed_any_number_of_times(layout: Layout) -> None:
    for _ in range(2):
        markers.add(layout, SECOND)
        markers.add(layout, FIRST)
    assert markers.active_ids(layout) == [FIRST, SECOND]
    for _ in range(2):
        markers.remove(layout, FIRST)
    assert markers.active_ids(layout) == [SECOND]


def test_what_is_no_run_id_is_no_marker(layout: Layout) -> None:
    for name in ("x", FIRST.upper(), f"{FIRST}.tmp", ".hidden"):
        Path(layout.active, name).touch()
    assert markers.active_ids(layout) == []


@pytest.mark.parametrize("what", ["link", "directory", "fifo"])
def test_what_is_no_file_is_not_made_a_marker(layout: Layout, canary: Path, what: str) -> None:
    place = Path(layout.marker(FIRST))
    if what == "link":
        place.symlink_to(canary)
    elif what == "directory":
        place.mkdir()
    else:
        os.mkfifo(place)
    with pytest.raises(StorageError):
        markers.add(layout, FIRST)
    assert canary.read_text() == "alive"
