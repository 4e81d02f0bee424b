"""Output for a terminal, piece by piece: the same as in one piece, and no control character."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from sidecar.cli.plain_stream import PlainStream
from sidecar.core import text

PIECES = st.one_of(
    st.binary(max_size=6),
    st.sampled_from([
        b"\x1b[31m", b"\x1b[", b"0;1m", b"\x1b]0;title\x07", b"\x1b]8;;", b"\x1b\\", b"\r\n", b"\r",
        b"\n", "h\u00e9\u6f22\U0001f600".encode(), b"\xc3", b"\xa9", b"plain ", b"\x1b", b"\x1b(B",
        b"\xc2\x9b1m",
    ]),
)  # fmt: skip


def streamed(pieces: list[bytes]) -> str:
    stream = PlainStream()
    return "".join([*(stream.feed(piece) for piece in pieces), stream.finish()])


@given(st.lists(PIECES, max_size=12))
def test_pieces_give_what_the_whole_gives(pieces: list[bytes]) -> None:
    assert streamed(pieces) == text.plain(text.decode(b"".join(pieces)))


@given(st.lists(PIECES, max_size=12))
def test_nothing_that_comes_out_drives_a_terminal(pieces: list[bytes]) -> None:
    shown = streamed(pieces)
    assert all(unicodedata.category(c) not in {"Cc", "Cs"} or c in "\t\n" for c in shown)


def test_a_sequence_that_is_cut_in_two_is_still_one() -> None:
    assert streamed([b"a\x1b[3", b"1mred\x1b", b"[0m"]) == "ared"


def test_a_character_that_is_cut_in_two_is_still_one() -> None:
    assert streamed(["\u6f22".encode()[:1], "\u6f22".encode()[1:]]) == "\u6f22"


def test_text_is_shown_at_once_not_held_for_its_line_to_end() -> None:
    assert PlainStream().feed(b"working") == "working"


def test_text_after_a_stray_introducer_is_not_held_for_ever() -> None:
    stream = PlainStream()
    assert stream.feed(b"before \x1b]") == "before "
    shown = stream.feed(b"x" * 10_000)
    assert shown == "x" * 10_000
