"""Frames are the same however they are cut; headers in any form; noise is survived."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.wire import framing
from sidecar.wire.framing import Broken, Decoder, Frame, Noise, TooLarge, encode


def decode(data: bytes, *, chunk: int | None = None, body_max: int = 1000) -> list[Frame]:
    decoder = Decoder(body_max)
    size = chunk or len(data) or 1
    return [
        frame
        for start in range(0, len(data), size)
        for frame in decoder.feed(data[start : start + size])
    ]


def test_the_length_counts_bytes() -> None:
    assert encode("é€😀".encode()) == b"Content-Length: 9\r\n\r\n" + "é€😀".encode()


@pytest.mark.parametrize("chunk", [None, 1, 2, 3, 7])
@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"CONTENT-LENGTH :  2  \r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 0000000000000000002\r\n\r\n",
        b"X-Anything: \xff\xfe\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\n\n",
        b"\r\n\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_headers_in_every_usual_form(header: bytes, chunk: int | None) -> None:
    assert decode((header + b"{}") * 2, chunk=chunk) == [b"{}", b"{}"]


def test_an_empty_body_is_a_body() -> None:
    assert decode(b"Content-Length: 0\r\n\r\n" + encode(b"{}")) == [b"", b"{}"]


@given(
    bodies=st.lists(st.binary(max_size=40), max_size=6),
    noise=st.lists(st.sampled_from([b"", b"\r\n", b"oops\r\n", b"A: b\r\n\r\n"]), max_size=6),
    cuts=st.lists(st.integers(1, 30), min_size=1, max_size=20),
)
def test_how_the_bytes_are_cut_makes_no_difference(
    bodies: list[bytes], noise: list[bytes], cuts: list[int]
) -> None:
    pieces = [encode(body) for body in bodies]
    for index, piece in enumerate(noise):
        pieces.insert(index * 2, piece)
    data = b"".join(pieces)
    decoder = Decoder(20)
    frames: list[Frame] = []
    at = 0
    turn = 0
    while at < len(data):
        size = cuts[turn % len(cuts)]
        frames += decoder.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    assert frames == decode(data, body_max=20)
    assert [frame for frame in frames if isinstance(frame, bytes)] == [
        body for body in bodies if len(body) <= 20
    ]


@pytest.mark.parametrize("chunk", [None, 1, 9, 64])
def test_a_body_beyond_the_limit_is_skipped_and_not_held(chunk: int | None) -> None:
    data = encode(b"x" * 1001) + encode(b"{}")
    assert decode(data, chunk=chunk) == [TooLarge(length=1001), b"{}"]


def test_a_refused_body_takes_no_memory() -> None:
    decoder = Decoder(1000)
    assert decoder.feed(b"Content-Length: 999999999999\r\n\r\n") == [TooLarge(length=999999999999)]
    for _ in range(100):
        assert decoder.feed(b"x" * 65536) == []
        assert decoder.held == 0


@pytest.mark.parametrize(
    "noise",
    [
        b"Downloading 100%\r\n",
        b"Starting the server ...",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: ten\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 7\r\nContent-Length: 5\r\n\r\n",
        b"Content-Type: text/plain\r\n\r\n",
        b'Content-Type: text/plain\r\n\r\n{"jsonrpc":"2.0"}',
        b"Content-Length: 99999999999999999999999999\r\n\r\n",
    ],
)
def test_noise_costs_itself_and_not_the_stream(noise: bytes) -> None:
    for chunk in (None, 1):
        frames = decode(noise + encode(b"{}") + encode(b"[]"), chunk=chunk)
        assert [frame for frame in frames if isinstance(frame, bytes)] == [b"{}", b"[]"]
        assert len([frame for frame in frames if isinstance(frame, Noise)]) == 1


def test_noise_is_told_again_after_a_frame() -> None:
    frames = decode(b"one\ntwo\n" + encode(b"{}") + b"three\n" + encode(b"{}"))
    assert frames == [Noise(sample=b"one"), b"{}", Noise(sample=b"three"), b"{}"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"x" * (framing.LINE_MAX_BYTES + 1),
        b"no\n" * framing.NOISE_MAX_BYTES,
        b"A: b\r\n" * framing.NOISE_MAX_BYTES,
        b"Content-Length: 2\r\n" * framing.NOISE_MAX_BYTES,
    ],
    ids=["endless-line", "endless-noise", "endless-headers", "endless-lengths"],
)
def test_noise_without_end_breaks_the_stream(garbage: bytes) -> None:
    outcomes = [decode(encode(b"{}") + garbage, chunk=chunk) for chunk in (None, 1, 1000)]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0][0] == b"{}"
    assert isinstance(outcomes[0][-1], Broken)
    assert sum(isinstance(frame, Broken) for frame in outcomes[0]) == 1
