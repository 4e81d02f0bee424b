"""Where the last lines of a log begin, whatever the pages are."""

from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.cli import tails


def offset_in(log: bytes, n_lines: int, page: int) -> int:
    """The offset as it is found in pages of at most ``page`` bytes."""

    def read_page(offset: int, limit: int) -> tuple[bytes, int]:
        start = max(0, len(log) + offset) if offset < 0 else offset
        # A very small page is given more than it asked for: a whole character.
        return log[start : start + max(4, min(limit, page))], start

    before = tails._PAGE
    tails._PAGE = page
    try:
        return tails.tail_offset(read_page, n_lines)
    finally:
        tails._PAGE = before


@given(
    st.lists(st.sampled_from([b"", b"a", b"line", b"a longer line"]), max_size=8),
    st.binary(max_size=3).filter(lambda rest: b"\n" not in rest),
    st.integers(min_value=0, max_value=9),
    st.integers(min_value=4, max_value=20),
)
@example([b"", b""], b"", 1, 4)
def test_the_last_lines_are_those_that_were_printed_last(
    whole: list[bytes], rest: bytes, n_lines: int, page: int
) -> None:
    log = b"".join(line + b"\n" for line in whole) + rest
    lines = log.splitlines(keepends=True) if b"\r" not in log else None
    if lines is None:
        lines = [line + b"\n" for line in whole] + ([rest] if rest else [])
    expected = b"".join(lines[len(lines) - n_lines :]) if n_lines < len(lines) else log
    if n_lines == 0:
        expected = b""
    assert log[offset_in(log, n_lines, page) :] == expected
