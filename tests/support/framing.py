"""The base protocol as a strict reader sees it: bytes in, message bodies out, nothing forgiven.

It must not use sidecar's own code, nor the libraries that sidecar is made with: it is the second
opinion on every byte that a server writes. What servers must tolerate is written by the tests.
"""

import json
from typing import Any

# A server that writes this much without a blank line is not writing a header.
LONGEST_HEADER = 1024

HEADER_END = b"\r\n\r\n"


class FramingError(AssertionError):
    """The server wrote something that is not the protocol; the message holds the bytes."""


def frame(body: object) -> bytes:
    """One message, ready to be sent; bytes are a body as they are, anything else becomes JSON."""
    data = body if isinstance(body, bytes) else encode(body)
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


def encode(message: object) -> bytes:
    """A body in UTF-8, characters beyond ASCII as they are."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def decode(body: bytes) -> Any:
    """What a body says; raises ``FramingError`` where a strict JSON parser would refuse it."""
    try:
        return json.loads(body.decode("utf-8", "strict"), parse_constant=_refuse_constant)
    except ValueError as exc:
        raise FramingError(f"a body that is no JSON ({exc}): {body[:200]!r}") from exc


class Frames:
    """Takes whatever came from a pipe and gives the bodies that are complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None

    @property
    def rest(self) -> bytes:
        """What does not make a message yet; must be empty at the end of the stream."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that ``data`` completes, in order. Raises ``FramingError``."""
        self._buffer += data
        bodies = []
        while (body := self._next()) is not None:
            bodies.append(body)
        return bodies

    def _next(self) -> bytes | None:
        if self._length is None:
            end = self._buffer.find(HEADER_END)
            if end < 0:
                if len(self._buffer) > LONGEST_HEADER:
                    raise FramingError(f"no header: {bytes(self._buffer[:200])!r}")
                return None
            self._length = _content_length(bytes(self._buffer[:end]))
            del self._buffer[: end + len(HEADER_END)]
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body


def _content_length(header: bytes) -> int:
    length = None
    for line in header.split(b"\r\n"):
        name, colon, value = line.partition(b": ")
        if not colon or b"\n" in line or b"\r" in line or name.strip() != name:
            raise FramingError(f"not a header line: {line!r}")
        if name.lower() == b"content-length":
            if length is not None or not value.isdigit():
                raise FramingError(f"not a length: {header!r}")
            length = int(value)
    if length is None:
        raise FramingError(f"no length: {header!r}")
    return length


def _refuse_constant(name: str) -> None:
    raise FramingError(f"not JSON, though Python reads it: {name}")
