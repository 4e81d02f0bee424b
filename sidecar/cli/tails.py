"""Where the last lines of a log begin.

This module must never hold more of a log than a page.
"""

from collections.abc import Callable

_PAGE = 64 * 1024

ReadPage = Callable[[int, int], tuple[bytes, int]]
"""Offset (a negative one is from the end) and limit, to the bytes and the offset they lie at."""


def tail_offset(read_page: ReadPage, n_lines: int) -> int:
    """The offset at which the last ``n_lines`` lines begin; an unfinished last one counts."""
    data, start = read_page(-_PAGE, _PAGE)
    end = start + len(data)
    if n_lines == 0:
        return end
    # The newline that ends the last line is not the one before it.
    wanted = n_lines + 1 if data.endswith(b"\n") else n_lines
    while True:
        count = data.count(b"\n")
        if count >= wanted:
            place = len(data)
            for _ in range(wanted):
                place = data.rindex(b"\n", 0, place)
            return start + place + 1
        wanted -= count
        if start == 0:
            return 0
        before = max(0, start - _PAGE)
        # A very small page is given whole characters: what it has too much is counted already.
        data = read_page(before, start - before)[0][: start - before]
        start = before
