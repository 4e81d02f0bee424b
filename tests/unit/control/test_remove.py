"""Removing: only what is over and proven gone, whole, and nothing else."""

from pathlib import Path

import pytest

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.control.remove import remove
from sidecar.core.errors import NotFound, OtherSession, RunLive
from sidecar.core.states import Proof
from sidecar.store import markers
from sidecar.store.doorbell import Bell
from sidecar.store.lease import Lease
from tests.support.callers import OBSERVED, UNKNOWN, StandIn, context, launched


def finished(ctx: Context, proof: Proof = OBSERVED) -> str:
    """A run that is over."""
    made, runner = launched(ctx)
    runner.start()
    runner.end(proof=proof)
    return made.snapshot.run.run_id


def test_a_removed_run_is_gone_with_its_marker(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, other = finished(ctx), finished(ctx)
    markers.add(ctx.layout, run_id)
    bell = Bell(ctx.layout)
    try:
        assert remove(ctx, run_id[:20]) == run_id
        assert [(ring.kind, ring.run_id) for ring in bell.receive()] == [("status", run_id)]
    finally:
        bell.close()
    assert markers.active_ids(ctx.layout) == []
    assert [entry.name for entry in (state_dir / "runs").iterdir()] == [other]
    assert list((state_dir / "staging").iterdir()) == []
    with pytest.raises(NotFound):
        remove(ctx, run_id)
    assert read.get(ctx, other).run.is_over


def test_a_run_that_may_live_is_kept(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    unproven = finished(ctx, UNKNOWN)
    for run_id in (made.snapshot.run.run_id, unproven):
        with pytest.raises(RunLive) as refused:
            remove(ctx, run_id)
        assert refused.value.hint is not None
        assert read.get(ctx, run_id).run.run_id == run_id


def test_a_run_that_somebody_leads_after_all_is_kept(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = finished(ctx)
    lease = Lease.take(ctx.layout.run_dir(run_id))
    assert lease is not None
    try:
        with pytest.raises(RunLive):
            remove(ctx, run_id)
    finally:
        lease.release()
    assert remove(ctx, run_id) == run_id


def test_links_in_a_run_directory_lead_nowhere(state_dir: Path, tmp_path: Path) -> None:
    ctx = context(state_dir)
    run_id = finished(ctx)
    canary = tmp_path / "canary"
    canary.mkdir()
    (canary / "file").write_text("not yours")
    (Path(ctx.layout.run_dir(run_id)) / "steps" / "link").symlink_to(canary)
    remove(ctx, run_id)
    assert (canary / "file").read_text() == "not yours"


def test_only_the_runs_own_session_unless_it_is_meant(state_dir: Path) -> None:
    spawner = StandIn()
    run_id = finished(context(state_dir, spawner=spawner, session="there"))
    ctx = context(state_dir, session="here")
    with pytest.raises(OtherSession):
        remove(ctx, run_id)
    assert remove(ctx, run_id, any_session=True) == run_id
