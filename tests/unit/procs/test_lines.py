"""The warden's sentences: read back as they were said, and skipped if they are not understood."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.procs import lines

if TYPE_CHECKING:
    from sidecar.procs.lines import Fact

SAID: "list[tuple[Fact, bytes]]" = [
    (("spawning", 10, 123, "0f-boot", 1700), b"spawning 10 123 0f-boot 1700\n"),
    (("running", 11, 124, 1701), b"running 11 124 1701\n"),
    (("spawn-failed", 2, 1702, "no such file: /x y"), b"spawn-failed 2 1702 no such file: /x y\n"),
    (("spawn-failed", 2, 1702, ""), b"spawn-failed 2 1702 \n"),
    (("runner-vanished", 1703), b"runner-vanished 1703\n"),
    (("exited", "code", 255, 1704), b"exited code 255 1704\n"),
    (("exited", "signal", 9, 1704), b"exited signal 9 1704\n"),
    (
        ("proof", "observed", "subreaper", 3, 1705),
        b"proof observed subreaper 3 1705\n",
    ),
    (
        ("proof", "unknown", "verification-failed", 1705, "still there: 7 8"),
        b"proof unknown verification-failed 1705 still there: 7 8\n",
    ),
]


@pytest.mark.parametrize(("fact", "line"), SAID)
def test_sentence_on_disk(fact: "Fact", line: bytes) -> None:
    assert lines.encode(fact) == line
    assert lines.parse(line[:-1]) == fact


def test_stream_is_cut_into_sentences_wherever_it_is_cut() -> None:
    stream = b"".join(line for _, line in SAID)
    facts = [fact for fact, _ in SAID]
    for cut in range(len(stream) + 1):
        first, rest = lines.split(stream[:cut])
        second, end = lines.split(rest + stream[cut:])
        assert (first + second, end) == (facts, b"")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" ",
        b"running",
        b"running x 1 2",
        b"exited maybe 1 2",
        b"exited code 1",
        b"proof",
        b"proof perhaps 1",
        b"proof observed subreaper many 1",
        b"later-word 1 2 3",
        b"\xff\xfe",
    ],
)
def test_what_is_not_understood_is_skipped(line: bytes) -> None:
    assert lines.parse(line) is None
    assert lines.split(line + b"\nrunning 1 2 3\n") == ([("running", 1, 2, 3)], b"")


@given(st.binary(max_size=100).filter(lambda data: b"\n" not in data))
def test_any_line_is_read_or_skipped(line: bytes) -> None:
    lines.parse(line)


@given(st.text(max_size=3000))
def test_free_text_stays_on_its_line(text: str) -> None:
    line = lines.encode(("spawn-failed", 2, 1702, text))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert lines.parse(line[:-1]) is not None
