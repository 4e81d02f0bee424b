"""Tables: whole in a pipe, and never wider than the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from sidecar.cli import table
from sidecar.cli.spans import Span, bare, cells, cut
from sidecar.cli.table import Column

COLUMNS = (
    Column(title="ID"),
    Column(title="AGE", rank=1, right=True),
    Column(title="NAME", least=6),
)


def shown(rows: list[tuple[str, ...]], width: int | None) -> list[str]:
    lines = table.lines(COLUMNS, [[Span(cell) for cell in row] for row in rows], width)
    return [bare(line) for line in lines]


def test_columns_line_up_under_their_titles() -> None:
    assert shown([("a1", "3m", "first"), ("a234", "12m", "second")], 80) == [
        "ID    AGE  NAME",
        "a1     3m  first",
        "a234  12m  second",
    ]


def test_an_empty_table_is_its_titles() -> None:
    assert shown([], 80) == ["ID  AGE  NAME"]


def test_a_long_cell_is_cut_only_where_there_is_a_width() -> None:
    row = ("a1", "3m", "a name that goes on and on")
    assert shown([row], 20)[1] == "a1   3m  a name tha\u2026"
    assert shown([row], None)[1] == "a1   3m  a name that goes on and on"


def test_a_column_gives_way_before_an_elastic_one_is_cut_to_nothing() -> None:
    assert shown([("a123456", "3m", "a name that goes on")], 15) == [
        "ID       NAME",
        "a123456  a nam\u2026",
    ]


def test_a_column_without_content_is_left_out_on_a_terminal_and_kept_in_a_pipe() -> None:
    assert shown([("a1", "", "name")], 80) == ["ID  NAME", "a1  name"]
    assert shown([("a1", "", "name")], None) == ["ID  AGE  NAME", "a1    -  name"]


def test_every_line_in_a_pipe_has_the_same_number_of_words() -> None:
    lines = shown([("a1", "", "x"), ("a2", "3m", "y")], None)
    assert {len(line.split()) for line in lines} == {3}


def test_wide_characters_take_two_cells() -> None:
    assert cells("漢字") == 4
    assert cells("e\u0301") == 1
    assert cut("漢字漢字", 5) == "漢字\u2026"
    assert cut("漢字漢字", 4) == "漢\u2026"
    assert cut("漢字", 4) == "漢字"


@given(
    st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8), st.text(max_size=40)), max_size=5),
    st.integers(min_value=30, max_value=120),
)
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, ...]], width: int) -> None:
    assert all(cells(line) <= width for line in shown(rows, width))
