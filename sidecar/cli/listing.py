"""The table of ``sidecar list``: runs in, lines out.

This module must never read anything, nor know what the terminal is like: it is given a width.
"""

from collections.abc import Sequence

from sidecar.cli import table, wording
from sidecar.cli.human import age, duration
from sidecar.cli.spans import Line, Span, Tone
from sidecar.control.context import Snapshot
from sidecar.core.ids import RUN_ID_LENGTH

# The name comes last: it alone may hold spaces, and may be cut.
COLUMNS = (
    table.Column(title="ID"),
    table.Column(title="STATE"),
    table.Column(title="AGE", rank=2, right=True),
    table.Column(title="TOOK", rank=3, right=True),
    table.Column(title="STEPS", rank=5, right=True),
    table.Column(title="REASON", rank=4, least=9),
    table.Column(title="NAME", rank=1, least=14),
)
# Below this the table is no table any more.
NARROWEST = 30


def lines(snapshots: Sequence[Snapshot], now: int, width: int | None) -> list[Line]:
    """The table of runs in ``width`` cells; whole, with whole ids, without a width."""
    length = RUN_ID_LENGTH
    if width is not None:
        length = wording.id_length([snapshot.run.run_id for snapshot in snapshots])
        width = max(width, NARROWEST)
    rows = [_row(snapshot, now, length) for snapshot in snapshots]
    return table.lines(COLUMNS, rows, width)


def _row(snapshot: Snapshot, now: int, id_length: int) -> tuple[Span, ...]:
    run = snapshot.run
    took = wording.took_ms(run, now)
    is_hidden = snapshot.dismissed_at is not None
    why = (wording.reason(run), "dismissed" if is_hidden else "")
    return (
        Span(run.run_id[:id_length], Tone.DIM if is_hidden else Tone.PLAIN),
        wording.state(run),
        Span(age(run.created_at, now)),
        Span(duration(took) if took is not None else ""),
        Span(wording.steps(run) if len(run.steps) > 1 else ""),
        Span(",".join(part for part in why if part), Tone.DIM),
        wording.name(run),
    )
