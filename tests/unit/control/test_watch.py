"""Watching: the bell says what was rung, the scan finds what was not, and either is enough."""

import select
from pathlib import Path

import pytest

from sidecar.control import read
from sidecar.control.dismiss import dismiss
from sidecar.control.watch import NOTHING, Watch
from sidecar.core.errors import StorageError
from sidecar.store import doorbell, markers
from sidecar.store.doorbell import Bells
from tests.support.callers import context, launched


def readable(watch: Watch) -> bool:
    """Whether polling would return at once."""
    fd = watch.fileno()
    assert fd is not None
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def test_what_is_rung_is_told_by_kind_and_run(state_dir: Path) -> None:
    ctx = context(state_dir)
    watch = Watch(ctx)
    bells = Bells(ctx.layout)
    try:
        assert (readable(watch), watch.drain()) == (False, NOTHING)
        made, _ = launched(ctx)
        run_id = made.snapshot.run.run_id
        bells.ring("output", run_id, 1)
        bells.ring("storage:ENOSPC", run_id, 1)
        bells.ring("storage:ENOSPC", run_id, 1)
        assert readable(watch)
        woken = watch.drain()
        assert woken.status == {run_id}
        assert woken.output == {run_id}
        assert woken.storage == ((run_id, "ENOSPC"),)
        assert (readable(watch), watch.drain()) == (False, NOTHING)
    finally:
        bells.close()
        watch.close()


def test_the_scan_alone_finds_every_change(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_sockets(*_: object) -> None:
        raise StorageError("no sockets here", errno_name="EPERM")

    monkeypatch.setattr(doorbell, "_bound", no_sockets)
    ctx = context(state_dir)
    made, runner = launched(ctx)
    run_id = made.snapshot.run.run_id
    watch = Watch(ctx)
    assert (watch.fileno(), watch.drain()) == (None, NOTHING)
    assert watch.scan() == {run_id}
    assert watch.scan() == frozenset()
    runner.start()
    assert watch.scan() == {run_id}
    assert watch.scan() == frozenset()
    runner.end()
    assert watch.scan() == {run_id}  # it left the active ones
    assert watch.scan() == frozenset()
    watch.close()


def test_a_run_that_is_over_is_scanned_if_it_is_asked_for(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    runner.end()
    run_id = made.snapshot.run.run_id
    watch = Watch(ctx)
    assert watch.scan([run_id]) == {run_id}
    assert watch.scan([run_id]) == frozenset()
    dismiss(ctx, run_id)
    assert watch.scan([run_id]) == {run_id}
    watch.close()


def test_a_bell_is_hung_up_as_soon_as_it_can_be(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageError("full", errno_name="ENOSPC")

    with monkeypatch.context() as patched:
        patched.setattr(doorbell, "_bound", full)
        watch = Watch(context(state_dir))
        assert watch.fileno() is None
    watch.scan()
    assert watch.fileno() is not None
    watch.close()


def test_the_first_run_of_all_rings(tmp_path: Path) -> None:
    ctx = context(tmp_path / "not-yet")
    watch = Watch(ctx)
    made, _ = launched(ctx)
    assert watch.drain().status == {made.snapshot.run.run_id}
    watch.close()


def test_where_there_can_be_no_state_directory_nothing_happens() -> None:
    watch = Watch(context("/dev/null/state"))
    assert (watch.fileno(), watch.scan()) == (None, frozenset())
    watch.close()


def test_a_scan_that_fails_forgets_nothing(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    watch = Watch(ctx)
    watch.scan()
    runner.start()

    def refuse(_: object) -> None:
        raise StorageError("no descriptors", errno_name="EMFILE")

    with monkeypatch.context() as patched:
        patched.setattr(markers, "active_ids", refuse)
        with pytest.raises(StorageError):
            watch.scan()
    assert watch.scan() == {made.snapshot.run.run_id}
    assert read.get(ctx, made.snapshot.run.run_id).run == runner.run
    watch.close()


def test_a_closed_bell_leaves_nothing(state_dir: Path) -> None:
    watch = Watch(context(state_dir))
    assert len(list((state_dir / "doorbells").iterdir())) == 1
    watch.close()
    watch.close()
    assert list((state_dir / "doorbells").iterdir()) == []
