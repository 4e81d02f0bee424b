"""What is shown is plain, whole and never an agent's remote control."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core import text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x1b[31mred\x1b[0mb", "aredb"),
        ("\x1b]0;title\x07x\x1b]8;;http://h\x1b\\y", "xy"),
        ("10%\r20%\r100%\r\ndone", "10%\n20%\n100%\ndone"),
        ("a\x00b\x08c\td\n", "abc\td\n"),
        ("\x1b[1A\x1b[2K\x1b[G up", " up"),
        ("\x9b31mx\x85y", "xy"),
        ("\ud800lone", "lone"),
        ("\x1b", ""),
    ],
)
def test_plain(raw: str, shown: str) -> None:
    assert text.plain(raw) == shown


@given(st.binary(max_size=400))
def test_any_bytes_can_be_shown(data: bytes) -> None:
    shown = text.plain(text.decode(data))
    shown.encode()
    assert not [c for c in shown if (ord(c) < 0x20 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0]
    assert "\n" not in text.one_line(shown)


@given(st.text(max_size=60), st.integers(min_value=1, max_value=240))
def test_pages_cut_anywhere_give_the_text_back(whole: str, size: int) -> None:
    data = whole.encode("utf-8", "replace")
    got, rest = "", data
    while rest:
        page = rest[: max(size, 4)]
        page = page[: text.complete_prefix(page)] if len(page) < len(rest) else page
        got += text.decode(page)
        rest = rest[len(page) :]
    assert got == text.decode(data)


def test_damaged_bytes_at_a_page_end_are_not_waited_for() -> None:
    assert text.complete_prefix(b"ab\x80\x80\x80\x80") == 6
    assert text.complete_prefix(b"ab\xff") == 3
    assert text.complete_prefix("é".encode()[:1]) == 0
    assert text.complete_prefix(b"") == 0


def test_the_last_line_that_says_anything() -> None:
    assert text.last_line(b"one\n\x1b[32mtwo\x1b[0m \n\n") == "two"
    assert text.last_line(b"") == ""
    assert text.last_line(b"x" * 500, 10) == "x" * 9 + "…"
