"""Identities: run ids, session names, processes.  Parsed once here, trusted afterwards.

A run id is a UUIDv7 (RFC 9562 section 5.7) in its canonical lower-case form: it sorts by time,
and its alphabet makes it safe as a file name, so nothing given by a caller ever becomes a path
without having passed ``parse_run_id`` or ``parse_prefix``.

This module must never read the clock or a source of randomness: both are parameters.
"""

import hashlib
import re
from dataclasses import dataclass

from sidecar.core.errors import InvalidParams

RUN_ID_LENGTH = 36
MIN_PREFIX = 4
SESSION_MAX = 256

_RUN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_PREFIX = re.compile(r"[0-9a-f][0-9a-f-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcId:
    """One process for ever: a pid alone is reused, (pid, start, boot) is not.

    ``start_ticks`` is the raw start time of proc_pid_stat(5) field 22, in clock ticks since boot;
    it is compared as it is and never turned into wall-clock time, which moves.
    """

    pid: int
    start_ticks: int
    boot_id: str


def new_run_id(now_ms: int, random_bytes: bytes) -> str:
    """A UUIDv7 from the time (ms since the epoch) and at least 10 random bytes."""
    tail = bytearray(random_bytes[:10])
    tail[0] = 0x70 | (tail[0] & 0x0F)
    tail[2] = 0x80 | (tail[2] & 0x3F)
    text = (now_ms & 0xFFFF_FFFF_FFFF).to_bytes(6, "big").hex() + tail.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_run_id(text: str) -> bool:
    """Whether ``text`` is a whole run id in canonical form."""
    return _RUN_ID.fullmatch(text) is not None


def parse_run_id(text: str, *, field: str = "runId") -> str:
    """``text`` if it is a whole run id; raises ``InvalidParams`` otherwise."""
    if not is_run_id(text):
        raise InvalidParams(
            f"not a run id: {text[:64]!r}", field=field, hint="a lower-case UUID version 7"
        )
    return text


def parse_prefix(text: str, *, field: str = "runId") -> str:
    """``text`` if it can be the beginning of a run id; raises ``InvalidParams`` otherwise."""
    if not MIN_PREFIX <= len(text) <= RUN_ID_LENGTH or not _PREFIX.fullmatch(text):
        raise InvalidParams(
            f"not a run id or prefix: {text[:64]!r}",
            field=field,
            hint=f"at least {MIN_PREFIX} characters of a run id",
        )
    return text


def parse_session(text: str, *, field: str = "sessionId") -> str:
    """``text`` if it can name a session; raises ``InvalidParams`` otherwise.

    Session names are data, never paths: wherever a file depends on one, ``token_name`` hashes it.
    """
    if not text or len(text) > SESSION_MAX or not text.isprintable():
        raise InvalidParams(
            f"not a session id: {text[:64]!r}",
            field=field,
            hint=f"1 to {SESSION_MAX} printable characters",
        )
    return text


def token_name(session_id: str, client_token: str) -> str:
    """The file name under which a launch with ``client_token`` is remembered for its session."""
    return hashlib.sha256(
        f"{session_id}\0{client_token}".encode("utf-8", "surrogatepass")
    ).hexdigest()


def session_of_folder(folder: str) -> str:
    """The session of a workspace folder (an absolute path): the same folder, the same session."""
    return "folder-" + hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:16]
