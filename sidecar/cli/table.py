"""Tables on a width: which columns stay, how wide they are, where text is cut.

Without a width (a pipe, ``--no-trunc``) everything is shown whole, and an empty cell is ``-``, so
that every line has the same columns for ``awk``.  Only the last column may hold spaces.

This module must never know what is in the columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.cli.spans import Line, Span, Tone, cells, cut

GAP = 2
EMPTY = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """``rank``: the higher, the sooner the column gives way on a narrow terminal; 0 always stays.

    ``least``: an elastic column (0: it is not) may be cut down to that many cells.
    """

    title: str
    rank: int = 0
    right: bool = False
    least: int = 0


Row = Sequence[Span]


def lines(columns: Sequence[Column], rows: Sequence[Row], width: int | None) -> list[Line]:
    """The table as lines, its titles first; ``width`` in cells, ``None`` for no limit."""
    titles = [Span(column.title, Tone.DIM) for column in columns]
    if width is None:
        rows = [[cell if cell.text else Span(EMPTY, Tone.DIM) for cell in row] for row in rows]
    widths = [
        max(cells(row[index].text) for row in (titles, *rows)) for index in range(len(columns))
    ]
    shown = list(range(len(columns)))
    if width is not None:
        shown = _kept(columns, rows, widths, width)
        _squeeze(columns, shown, widths, width)
    return [
        _line([row[index] for index in shown], columns, shown, widths) for row in (titles, *rows)
    ]


def _kept(
    columns: Sequence[Column], rows: Sequence[Row], widths: Sequence[int], width: int
) -> list[int]:
    """The columns that fit, once those without content and the dispensable ones are gone."""
    shown = [
        index
        for index, column in enumerate(columns)
        if not column.rank or not rows or any(row[index].text for row in rows)
    ]
    while _total([_narrowest(columns[i], widths[i]) for i in shown]) > width:
        victim = max(shown, key=lambda index: columns[index].rank)
        if not columns[victim].rank:
            break
        shown.remove(victim)
    return shown


def _squeeze(
    columns: Sequence[Column], shown: Sequence[int], widths: list[int], width: int
) -> None:
    """Takes what is too much from the widest elastic column, again and again."""
    too_much = _total([widths[index] for index in shown]) - width
    while too_much > 0:
        elastic = [i for i in shown if columns[i].least and widths[i] > columns[i].least]
        if not elastic:
            return
        widest = max(elastic, key=lambda index: widths[index])
        others = [widths[index] for index in elastic if index != widest]
        floor = max([columns[widest].least, *(w for w in others if w < widths[widest])])
        taken = min(too_much, max(1, widths[widest] - floor))
        widths[widest] -= taken
        too_much -= taken


def _narrowest(column: Column, width: int) -> int:
    return min(width, column.least) if column.least else width


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _line(row: Row, columns: Sequence[Column], shown: Sequence[int], widths: Sequence[int]) -> Line:
    spans: list[Span] = []
    for place, (cell, index) in enumerate(zip(row, shown, strict=True)):
        words = cut(cell.text, widths[index])
        padding = " " * (widths[index] - cells(words))
        last = place == len(shown) - 1
        if columns[index].right:
            words = padding + words
        elif not last:
            words += padding
        spans.append(Span(words if last else words + " " * GAP, cell.tone))
    return tuple(spans)
