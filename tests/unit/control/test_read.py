"""Reading: one run by id or prefix, pages of many, events and results; damage is isolated."""

import shutil
from pathlib import Path

import pytest

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.control.dismiss import dismiss
from sidecar.control.read import Page, Scope
from sidecar.core.errors import AmbiguousId, DamagedRun, InvalidParams, NotFound, RunLive
from sidecar.core.states import RunState
from sidecar.store import markers
from tests.support.callers import UNKNOWN, StandIn, context, launched


def ids(page: Page) -> list[str]:
    """The runs of a page."""
    return [snapshot.run.run_id for snapshot in page.snapshots]


def finished(ctx: Context, **changes: object) -> str:
    """A run that is over; its id."""
    made, runner = launched(ctx, **changes)
    runner.start()
    runner.end()
    return made.snapshot.run.run_id


def live(ctx: Context, **changes: object) -> str:
    """A run whose agent works; its id."""
    made, runner = launched(ctx, **changes)
    runner.start()
    return made.snapshot.run.run_id


# --- one -----------------------------------------------------------------------------------------


def test_a_run_is_found_by_its_id_and_by_a_prefix(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = live(ctx)
    for ref in (run_id, run_id[:35], run_id[:4]):
        snapshot = read.get(ctx, ref)
        assert snapshot.run.run_id == run_id
        assert (snapshot.revision, snapshot.dismissed_at) == (snapshot.run.seq, None)


def test_a_run_of_another_session_can_be_read(state_dir: Path) -> None:
    spawner = StandIn()
    run_id = live(context(state_dir, spawner=spawner, session="there"))
    assert read.get(context(state_dir, session="here"), run_id).run.session_id == "there"


def test_what_is_no_run(state_dir: Path) -> None:
    ctx = context(state_dir)
    first, second = live(ctx), live(ctx)
    with pytest.raises(NotFound):
        read.get(ctx, "ffff")
    with pytest.raises(AmbiguousId) as ambiguous:
        read.get(ctx, first[:8])
    assert set(ambiguous.value.candidates) == {first, second}
    for ref in ("", "abc", "../..", "%2e%2e%2f", "..\\", first.upper()):
        with pytest.raises(InvalidParams):
            read.get(ctx, ref)


def test_without_a_state_directory_there_are_no_runs(tmp_path: Path) -> None:
    ctx = context("/dev/null/state")
    for scope in Scope:
        assert read.list_runs(ctx, scope=scope) == Page(snapshots=(), next_cursor=None, problems=())
    with pytest.raises(NotFound):
        read.get(ctx, "0123")


# --- many ----------------------------------------------------------------------------------------


def test_the_active_ones_newest_first_of_all_sessions(state_dir: Path) -> None:
    spawner = StandIn()
    here, there = (context(state_dir, spawner=spawner, session=name) for name in ("here", "there"))
    first = live(here)
    finished(here)
    second = live(there)
    assert ids(read.list_runs(here)) == [second, first]


def test_one_that_is_over_but_not_proven_gone_is_still_active(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    runner.end(proof=UNKNOWN)
    assert ids(read.list_runs(ctx)) == [made.snapshot.run.run_id]
    # A proof whose marker is just about to go is the end of it.
    over, proven = launched(ctx)
    proven.start()
    proven.end()
    markers.add(ctx.layout, over.snapshot.run.run_id)
    assert ids(read.list_runs(ctx)) == [made.snapshot.run.run_id]


def test_the_active_list_looks_at_no_history(state_dir: Path) -> None:
    ctx = context(state_dir)
    old = [finished(ctx) for _ in range(3)]
    active = live(ctx)
    for run_id in old:
        shutil.rmtree(ctx.layout.run_dir(run_id))
        Path(ctx.layout.run_dir(run_id)).write_text("not even a directory")
    page = read.list_runs(ctx)
    assert (ids(page), page.problems) == ([active], ())


def test_a_session_is_listed_with_its_history(state_dir: Path) -> None:
    spawner = StandIn()
    here, there = (context(state_dir, spawner=spawner, session=name) for name in ("here", "there"))
    mine = [finished(here), live(here)]
    other = finished(there)
    assert ids(read.list_runs(here, scope="session")) == mine[::-1]
    assert ids(read.list_runs(here, scope="all")) == [other, *mine[::-1]]


def test_states_are_filtered(state_dir: Path) -> None:
    ctx = context(state_dir)
    over, running = finished(ctx), live(ctx)
    complete = frozenset({RunState.COMPLETE})
    assert ids(read.list_runs(ctx, scope="all", states=complete)) == [over]
    assert ids(read.list_runs(ctx, states=frozenset({RunState.RUNNING}))) == [running]
    assert ids(read.list_runs(ctx, states=complete)) == []


@pytest.mark.parametrize("scope", ["active", "all"])
def test_pages_hold_every_run_once(state_dir: Path, scope: str) -> None:
    ctx = context(state_dir)
    made = [live(ctx) for _ in range(5)]
    seen: list[str] = []
    cursor = None
    sizes = []
    while True:
        page = read.list_runs(ctx, scope=scope, limit=2, cursor=cursor)
        seen += ids(page)
        sizes.append(len(page.snapshots))
        cursor = page.next_cursor
        if cursor is None:
            break
        live(ctx)  # a newer one does not disturb the pages
    assert seen == made[::-1]
    assert sizes == [2, 2, 1]


def test_a_page_that_is_just_full_has_no_next(state_dir: Path) -> None:
    ctx = context(state_dir)
    made = [live(ctx) for _ in range(2)]
    for scope in ("active", "all"):
        page = read.list_runs(ctx, scope=scope, limit=2)
        assert (ids(page), page.next_cursor) == (made[::-1], None)


def test_a_filtered_page_looks_at_a_bounded_number_and_goes_on(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = context(state_dir)
    wanted = finished(ctx)
    for _ in range(5):
        live(ctx)
    monkeypatch.setattr(read, "EXAMINED_MAX", 3)
    complete = frozenset({RunState.COMPLETE})
    first = read.list_runs(ctx, scope="all", states=complete, limit=1)
    assert ids(first) == []
    second = read.list_runs(ctx, scope="all", states=complete, limit=1, cursor=first.next_cursor)
    assert (ids(second), second.next_cursor) == ([wanted], None)


def test_hidden_runs_are_listed_only_if_asked_for(state_dir: Path) -> None:
    ctx = context(state_dir)
    over = finished(ctx)
    dismiss(ctx, over)
    assert ids(read.list_runs(ctx, scope="all")) == []
    assert ids(read.list_runs(ctx, scope="all", include_dismissed=True)) == [over]


@pytest.mark.parametrize(
    "changes",
    [
        {"limit": 0},
        {"limit": 1001},
        {"limit": -1},
        {"cursor": "../x"},
        {"cursor": ""},
        {"scope": "everything"},
    ],
)
def test_what_cannot_be_listed(state_dir: Path, changes: dict[str, object]) -> None:
    with pytest.raises(InvalidParams) as refused:
        read.list_runs(context(state_dir), **changes)  # type: ignore[arg-type]
    assert refused.value.field in changes


# --- damage --------------------------------------------------------------------------------------


def test_damaged_directories_are_told_and_hide_nobody(state_dir: Path, tmp_path: Path) -> None:
    ctx = context(state_dir)
    damaged = {name: Path(ctx.layout.run_dir(live(ctx))) for name in ("torn", "gone", "future")}
    (damaged["torn"] / "status.json").write_bytes(b'{"format": 1, "run')
    (damaged["gone"] / "status.json").unlink()
    (damaged["future"] / "status.json").write_bytes(b'{"format": 999}')
    linked = Path(ctx.layout.run_dir(live(ctx)))
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    sound = live(ctx)
    stranger = Path(ctx.layout.runs) / "lost+found"
    stranger.mkdir()

    active = read.list_runs(ctx)
    assert ids(active) == [sound]
    found = {problem.path: problem.damage for problem in active.problems}
    assert found == {
        f"{damaged['torn']}/status.json": "corrupt",
        f"{damaged['gone']}/status.json": "corrupt",
        f"{damaged['future']}/status.json": "future-format",
        f"{linked}/status.json": "foreign",
    }
    everything = read.list_runs(ctx, scope="all")
    assert ids(everything) == [sound]
    assert {problem.path for problem in everything.problems} == {
        *(set(found) - {f"{linked}/status.json"}),
        str(linked),
        str(stranger),
    }
    with pytest.raises(DamagedRun):
        read.get(ctx, damaged["torn"].name)


def test_a_marker_whose_run_is_not_there_yet_is_passed_over(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = live(ctx)
    markers.add(ctx.layout, "01890a5d-ac96-774b-bcce-b302099a8057")
    page = read.list_runs(ctx)
    assert (ids(page), page.problems) == ([run_id], ())


# --- events and result ---------------------------------------------------------------------------


def test_events_are_paged_by_number(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = finished(ctx)
    last = read.get(ctx, run_id).run.seq
    seen: list[int] = []
    after = 0
    while page := read.events(ctx, run_id, after, limit=2).events:
        assert len(page) <= 2
        seen += [recorded.seq for recorded in page]
        after = seen[-1]
    assert seen == list(range(1, last + 1))
    assert read.events(ctx, run_id, last).last_seq == last


@pytest.mark.parametrize(
    ("after", "limit", "field"), [(-1, None, "afterSeq"), (0, 0, "limit"), (0, 5001, "limit")]
)
def test_what_cannot_be_asked_of_events(
    state_dir: Path, after: int, limit: int | None, field: str
) -> None:
    ctx = context(state_dir)
    with pytest.raises(InvalidParams) as refused:
        read.events(ctx, live(ctx), after, limit)
    assert refused.value.field == field


def test_a_result_there_is_once_the_run_is_over(state_dir: Path) -> None:
    ctx = context(state_dir)
    with pytest.raises(RunLive):
        read.result(ctx, live(ctx))
    over = finished(ctx)
    assert read.result(ctx, over).outcome.state is RunState.COMPLETE
    (Path(ctx.layout.run_dir(over)) / "result.json").unlink()
    with pytest.raises(DamagedRun):
        read.result(ctx, over)
