"""The strict reader of frames must take every right byte, however cut, and no wrong one."""

import pytest

from tests.support.framing import Frames, FramingError, decode, frame


def test_the_same_bodies_however_the_bytes_are_cut() -> None:
    bodies = [b"{}", b"", "\u00e9\U0001f600".encode(), b"x" * 1000]
    stream = b"".join(frame(body) for body in bodies)
    for size in (1, 2, 7, 100, len(stream)):
        frames = Frames()
        found = []
        for begin in range(0, len(stream), size):
            found += frames.feed(stream[begin : begin + size])
        assert found == bodies
        assert frames.rest == b""


def test_half_a_message_is_left_over() -> None:
    frames = Frames()
    assert frames.feed(b"Content-Length: 5\r\n\r\nabc") == []
    assert frames.rest == b"abc"


@pytest.mark.parametrize(
    "stream",
    [
        b"hello\r\n\r\n",
        b"Content-Length: 2\n\n{}\r\n\r\n",
        b"Content-Length: two\r\n\r\n{}",
        b"Content-Length:2\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Type: x\r\n\r\n",
        b"\r\n\r\n",
        b"a printed line without an end " * 100,
    ],
)
def test_what_is_no_frame_is_refused(stream: bytes) -> None:
    with pytest.raises(FramingError):
        Frames().feed(stream)


@pytest.mark.parametrize("body", [b"NaN", b"{", b"\xff", b'{"a":Infinity}', b""])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(FramingError):
        decode(body)
