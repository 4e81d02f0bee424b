"""Ten thousand runs are found and paged through by their names alone."""

import os
from pathlib import Path

import pytest

from sidecar.core.errors import AmbiguousId, DamagedRun, InvalidParams, NotFound, StorageError
from sidecar.core.ids import new_run_id
from sidecar.store import index
from sidecar.store.layout import Layout
from tests.support import samples

MANY = 10_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Layout, list[str]]:
    """Give a state directory with 10,000 runs, and their ids, newest first."""
    layout = Layout(str(tmp_path_factory.mktemp("many")))
    Path(layout.runs).mkdir()
    ids = [
        new_run_id(samples.NOW + 1000 * number, number.to_bytes(10, "big"))
        for number in range(MANY)
    ]
    for run_id in ids:
        Path(layout.run_dir(run_id)).mkdir()
    return layout, sorted(ids, reverse=True)


def make(layout: Layout, *run_ids: str) -> None:
    for run_id in run_ids:
        Path(layout.run_dir(run_id)).mkdir()


# --- one run -------------------------------------------------------------------------------------


def test_a_whole_id_is_found_without_a_listing(
    many: tuple[Layout, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, ids = many

    def refuse(*_: object) -> None:
        raise AssertionError("a listing")

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    assert index.resolve(layout, ids[4321]) == ids[4321]
    with pytest.raises(NotFound):
        index.resolve(layout, samples.OTHER_ID)


def test_a_unique_prefix_is_found_among_ten_thousand(many: tuple[Layout, list[str]]) -> None:
    layout, ids = many
    prefix = ids[77][:13]
    assert [run_id for run_id in ids if run_id.startswith(prefix)] == [ids[77]]
    assert index.resolve(layout, prefix) == ids[77]


def test_an_ambiguous_prefix_names_the_newest_candidates(many: tuple[Layout, list[str]]) -> None:
    layout, ids = many
    with pytest.raises(AmbiguousId) as caught:
        index.resolve(layout, ids[0][:4])
    assert caught.value.candidates == tuple(ids[:10])


def test_a_prefix_of_nothing_is_not_found(layout: Layout) -> None:
    make(layout, samples.RUN_ID)
    with pytest.raises(NotFound):
        index.resolve(layout, "ffff")


@pytest.mark.parametrize(
    "odd",
    ["", "018", "../..", "%2e%2e%2f", "..\\..", "018B", "018bcfe5-6800-7001-8203-0405060708099"],
)
def test_what_cannot_begin_an_id_never_becomes_a_path(layout: Layout, odd: str) -> None:
    make(layout, samples.RUN_ID)
    with pytest.raises(InvalidParams):
        index.resolve(layout, odd)


def test_a_stranger_with_the_name_of_a_run_is_told_as_damage(layout: Layout, canary: Path) -> None:
    Path(layout.run_dir(samples.RUN_ID)).write_text("a file")
    Path(layout.run_dir(samples.OTHER_ID)).symlink_to(canary.parent)
    for run_id in (samples.RUN_ID, samples.OTHER_ID):
        with pytest.raises(DamagedRun) as caught:
            index.resolve(layout, run_id)
        assert caught.value.damage == "foreign"
        assert caught.value.path == layout.run_dir(run_id)


# --- history -------------------------------------------------------------------------------------


def test_history_is_paged_from_the_newest_to_the_oldest(many: tuple[Layout, list[str]]) -> None:
    layout, ids = many
    found: list[str] = []
    before = None
    while True:
        page = index.history_page(layout, 999, before)
        found += page.ids
        assert page.problems == ()
        if page.next_cursor is None:
            break
        assert page.next_cursor == page.ids[-1]
        before = page.next_cursor
    assert found == ids


@pytest.mark.parametrize(("limit", "more"), [(1, True), (2, True), (3, False), (4, False)])
def test_there_is_a_next_page_only_if_there_is_more(layout: Layout, limit: int, more: bool) -> None:
    make(layout, *map(samples.run_id, range(3)))
    page = index.history_page(layout, limit)
    assert page.ids == tuple(samples.run_id(number) for number in (2, 1, 0))[:limit]
    assert (page.next_cursor is not None) == more


def test_a_cursor_outlives_its_run_and_new_runs_do_not_shift_it(layout: Layout) -> None:
    make(layout, *map(samples.run_id, (1, 3, 5, 7)))
    cursor = index.history_page(layout, 2).next_cursor
    Path(layout.run_dir(samples.run_id(5))).rmdir()
    make(layout, samples.run_id(9))
    assert index.history_page(layout, 2, cursor).ids == (samples.run_id(3), samples.run_id(1))


def test_an_odd_cursor_is_refused(layout: Layout) -> None:
    with pytest.raises(InvalidParams) as caught:
        index.history_page(layout, 2, "../..")
    assert caught.value.field == "cursor"


def test_what_is_no_run_is_told_once_and_hides_nothing(layout: Layout, canary: Path) -> None:
    make(layout, samples.run_id(1), samples.run_id(2))
    make(layout, "lost+found", samples.run_id(3).upper())
    Path(layout.runs, "notes.txt").write_text("")
    Path(layout.run_dir(samples.run_id(4))).write_text("")
    Path(layout.run_dir(samples.run_id(5))).symlink_to(canary.parent)
    page = index.history_page(layout, 1)
    assert page.ids == (samples.run_id(2),)
    assert {Path(problem.path).name for problem in page.problems} == {
        "lost+found", "notes.txt", samples.run_id(3).upper(), samples.run_id(4), samples.run_id(5),
    }  # fmt: skip
    assert {problem.damage for problem in page.problems} == {"foreign"}
    rest = index.history_page(layout, 1, page.next_cursor)
    assert (rest.ids, rest.problems) == ((samples.run_id(1),), ())


def test_a_listing_that_fails_is_no_empty_history(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(StorageError) as caught:
        index.history_page(layout, 1)
    assert caught.value.errno_name == "EACCES"


def test_a_linked_directory_of_runs_is_not_listed(layout: Layout, tmp_path: Path) -> None:
    Path(layout.runs).rename(tmp_path / "elsewhere")
    Path(layout.runs).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError):
        index.history_page(layout, 1)
