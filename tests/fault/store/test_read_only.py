"""A read-only state directory is refused by whoever would write, and serves whoever reads."""

from pathlib import Path

import pytest

from sidecar.core.errors import StorageError
from sidecar.store import index, lease, markers
from sidecar.store.inbox import post
from sidecar.store.layout import Layout, open_state_dir
from sidecar.store.lease import Holding
from sidecar.store.rundir import RunDir
from sidecar.store.scan import ActiveScan
from tests.support import samples
from tests.support.stored import make_run


def test_a_read_only_state_directory_is_refused_before_anything_exists(
    read_only: Path, tmp_path: Path
) -> None:
    open_state_dir(str(read_only / "state"))
    for path in (tmp_path / "bound" / "state", tmp_path / "bound" / "other" / "state"):
        with pytest.raises(StorageError) as caught:
            open_state_dir(str(path))
        assert caught.value.errno_name == "EROFS"
        assert str(path) in caught.value.message
        assert caught.value.hint is not None


def test_a_state_directory_below_a_read_only_one_is_fine(read_only: Path, tmp_path: Path) -> None:
    # Only what is written to has to be writable.
    (read_only / "state").mkdir(mode=0o700)
    import subprocess

    writable = tmp_path / "elsewhere"
    writable.mkdir(mode=0o700)
    place = tmp_path / "bound" / "state"
    subprocess.run(["mount", "--bind", str(writable), str(place)], check=True)
    try:
        layout = open_state_dir(str(place))
        assert make_run(layout).read_status() == samples.queued()
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_everything_can_be_read_from_a_read_only_state_directory(
    read_only: Path, tmp_path: Path
) -> None:
    make_run(open_state_dir(str(read_only / "state")))
    layout = Layout(str(tmp_path / "bound" / "state"))
    run_dir = RunDir(layout.run_dir(samples.RUN_ID))
    assert run_dir.read_status() == samples.queued()
    assert run_dir.read_current() == samples.queued()
    assert run_dir.read_request() == samples.launch()
    assert index.resolve(layout, samples.RUN_ID[:8]) == samples.RUN_ID
    assert index.history_page(layout, 10).ids == (samples.RUN_ID,)
    assert markers.active_ids(layout) == [samples.RUN_ID]
    assert ActiveScan(layout).poll() == [samples.RUN_ID]
    assert lease.probe(run_dir.path) is Holding.FREE
    with pytest.raises(StorageError) as caught:
        post(run_dir.path, "stop", samples.command(), order="1-1")
    assert caught.value.errno_name == "EROFS"
