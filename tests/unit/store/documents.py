"""Every kind of stored document in one table: how it is written, read, and what it may look like.

Golden files lie in ``tests/data/state/v<format>``; they are added to, and never changed: whatever
a released version wrote has to load for ever.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sidecar.store import codec
from tests.support import samples

GOLDEN = Path(__file__).parents[2] / "data" / "state" / "v1"
PATH = "some/file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """One golden document: its bytes, what it means, and the codec's two ways."""

    name: str
    data: bytes
    meaning: object
    decode: Callable[[bytes], object]
    encode: Callable[[], bytes]

    def __str__(self) -> str:
        """Name the case in test reports."""
        return self.name


def request(data: bytes) -> object:
    """Decode a request of the sample run."""
    return codec.decode_request(data, PATH, run_id=samples.RUN_ID)


def status(data: bytes) -> object:
    """Decode a status of the sample run."""
    return codec.decode_status(data, PATH, run_id=samples.RUN_ID)


def result(data: bytes) -> object:
    """Decode a result of the sample run."""
    return codec.decode_result(data, PATH, run_id=samples.RUN_ID)


def event(data: bytes) -> object:
    """Decode a line of the log."""
    return codec.decode_recorded(data, PATH)


def command(data: bytes) -> object:
    """Decode a command."""
    return codec.decode_command(data, PATH)


def dismissal(data: bytes) -> object:
    """Decode a dismissal."""
    return codec.decode_dismissal(data, PATH)


def _golden(
    name: str,
    meaning: object,
    decode: Callable[[bytes], object],
    encode: Callable[[], bytes],
) -> Golden:
    data = (GOLDEN / name).read_bytes()
    return Golden(name=name, data=data, meaning=meaning, decode=decode, encode=encode)


def _goldens() -> list[Golden]:
    launch = samples.launch()
    odd = replace(launch, cwd="/srv/\udcff\udc80", client_token="\ud800")
    found = [
        _golden("request.json", launch, request, lambda: codec.encode_request(launch)),
        _golden("request-bytes.json", odd, request, lambda: codec.encode_request(odd)),
        _golden(
            "result.json", samples.result(), result, lambda: codec.encode_result(samples.result())
        ),
        _golden(
            "command-stop.json",
            samples.command(),
            command,
            lambda: codec.encode_command(samples.command()),
        ),
        _golden(
            "dismissed.json",
            samples.dismissal(),
            dismissal,
            lambda: codec.encode_dismissal(samples.dismissal()),
        ),
    ]
    states = {"queued": samples.queued(), "running": samples.running(), "ended": samples.ended()}
    for name, state in states.items():
        found.append(
            _golden(
                f"status-{name}.json", state, status, functools.partial(codec.encode_status, state)
            )
        )
    lines = (GOLDEN / "events.jsonl").read_bytes().splitlines(keepends=True)
    for line, recorded in zip(lines, samples.recorded(), strict=True):
        found.append(
            Golden(
                name=f"events.jsonl:{recorded.seq}",
                data=line,
                meaning=recorded,
                decode=event,
                encode=functools.partial(codec.encode_recorded, recorded),
            )
        )
    return found


GOLDENS = _goldens()
