"""The base protocol of LSP as bytes: ``Content-Length`` headers in, bodies out, and back.

A sans-IO decoder that gives the same frames however the bytes are cut into chunks, and never holds
more than one body: one that is too large is refused when its header is read, and its bytes are
thrown away as they come.

Two decisions about peers that break the rules. A header block that says no usable length is told
once (``Noise``) and skipped line by line until a block does: a log line printed into the stream by
a wrapper costs that line, not the connection. But a line, or a noise, beyond every reason means
that the other side speaks something else: the stream is given up (``Broken``).

This module must never look into a body, and never do I/O.
"""

import re
from dataclasses import dataclass
from typing import Final

from sidecar.core import policy

LINE_MAX_BYTES: Final = 8 * 1024
"""Longest header line: the limit that web servers settled on, for headers of a few dozen bytes."""

NOISE_MAX_BYTES: Final = 64 * 1024
"""So much without one usable header is no accident any more."""

# The one header that every client sends, alone and in this spelling; the rest takes the long way.
_USUAL = re.compile(rb"Content-Length: (\d{1,9})\r\n\r\n")
_LENGTH = re.compile(rb"\s*content-length\s*:\s*(\d{1,19})\s*", re.IGNORECASE)
_NAMED_LENGTH = re.compile(rb"\s*content-length\s*:", re.IGNORECASE)
# A body is no line: what follows one whose length was not known is glued to its end.
_GLUED_LENGTH = re.compile(rb"content-length\s*:\s*(\d{1,19})\s*$", re.IGNORECASE)
_HEADER = re.compile(rb"\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*:")


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """A body beyond the limit was announced; its bytes will be skipped."""

    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Bytes that are no usable header block; ``sample`` is how they begin, but for what looks like
    a body, which may be secret."""

    sample: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The peer does not speak this protocol, and no next frame can be found: always the last."""

    reason: str


Frame = bytes | TooLarge | Noise | Broken


def encode(body: bytes) -> bytes:
    """``body`` as a frame; the length counts bytes."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Decoder:
    """Turns bytes into frames.  Bare line feeds are tolerated, other headers ignored."""

    def __init__(self, body_max: int = policy.MESSAGE_MAX_BYTES) -> None:
        self._body_max = body_max
        self._buffer = bytearray()
        self._need: int | None = None
        """Length of the body that comes next, once its headers are read."""
        self._skip = 0
        """Bytes of a refused body that are still to come."""
        self._length: int | None = None
        """The length said in the header block that is being read."""
        self._in_block = False
        self._spoiled = False
        """The block that is read says two lengths, or one that is none."""
        self._scanned = 0
        """How far the unfinished line at the start of the buffer was searched for its end."""
        self._is_broken = False
        self._idle = 0
        """Bytes of lines since the last body."""
        self._told_noise = False

    @property
    def held(self) -> int:
        """Bytes of an unfinished frame that are kept."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that ``data`` completes.  After ``Broken`` there are none."""
        frames: list[Frame] = []
        if self._is_broken:
            return frames
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            data = data[skipped:]
        self._buffer += data
        at = 0
        while not self._is_broken:
            after = self._next(at, frames)
            if after is None:
                break
            at = after
        # What is left begins with the unfinished line that was searched last.
        del self._buffer[:at]
        return frames

    def _next(self, at: int, frames: list[Frame]) -> int | None:
        """Takes one body or line at ``at``; where the next begins, or None for want of bytes."""
        buffer = self._buffer
        if self._need is not None:
            end = at + self._need
            if len(buffer) < end:
                return None
            frames.append(bytes(memoryview(buffer)[at:end]))
            self._need = None
            return end
        if not self._in_block and (usual := _USUAL.match(buffer, at)):
            self._scanned = 0
            return self._begin_body(int(usual[1]), usual.end(), frames)
        newline = buffer.find(b"\n", at + self._scanned)
        if newline < 0:
            self._scanned = len(buffer) - at
            self._check_line(self._scanned, frames)
            return None
        self._scanned = 0
        if not self._check_line(newline - at, frames):
            return None
        line = bytes(buffer[at:newline]).removesuffix(b"\r")
        return self._take_line(line, newline + 1, frames)

    def _take_line(self, line: bytes, after: int, frames: list[Frame]) -> int | None:
        if not line.strip():
            return self._end_block(after, frames)
        self._idle += len(line) + 1
        if self._idle > NOISE_MAX_BYTES:
            self._break(f"no usable header block in {NOISE_MAX_BYTES} bytes", frames)
            return None
        if _NAMED_LENGTH.match(line):
            self._in_block = True
            found = _LENGTH.fullmatch(line)
            if found is None or self._length not in {None, int(found[1])}:
                self._spoiled = True
                self._hear_noise(line, frames)
            else:
                self._length = int(found[1])
        elif _HEADER.match(line):
            self._in_block = True
        else:
            self._hear_noise(line, frames)
            if glued := _GLUED_LENGTH.search(line):
                self._in_block = True
                self._spoiled = False
                self._length = int(glued[1])
        return after

    def _end_block(self, after: int, frames: list[Frame]) -> int:
        length, in_block, spoiled = self._length, self._in_block, self._spoiled
        self._length, self._in_block, self._spoiled = None, False, False
        if length is not None and not spoiled:
            return self._begin_body(length, after, frames)
        if in_block:
            self._hear_noise(b"headers without a length", frames)
        return after  # empty lines between two frames do nobody harm

    def _begin_body(self, length: int, after: int, frames: list[Frame]) -> int:
        self._idle = 0
        self._told_noise = False
        if length <= self._body_max:
            self._need = length
            return after
        frames.append(TooLarge(length=length))
        here = min(length, len(self._buffer) - after)
        self._skip = length - here
        return after + here

    def _hear_noise(self, line: bytes, frames: list[Frame]) -> None:
        if not self._told_noise:
            self._told_noise = True
            frames.append(Noise(sample=line[:80].partition(b"{")[0]))

    def _check_line(self, length: int, frames: list[Frame]) -> bool:
        if length <= LINE_MAX_BYTES:
            return True
        self._break(f"a header line of more than {LINE_MAX_BYTES} bytes", frames)
        return False

    def _break(self, reason: str, frames: list[Frame]) -> None:
        self._is_broken = True
        frames.append(Broken(reason=reason))
