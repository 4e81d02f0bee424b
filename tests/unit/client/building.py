"""Runs and pieces of output as a server tells them."""

import msgspec

from sidecar.wire import convert
from sidecar.wire.notifications import RunOutputNotification, RunStatusNotification
from sidecar.wire.params import LogStream
from sidecar.wire.views import RunView
from tests.support import samples


def live(number: int = 0, revision: int = 1) -> RunView:
    """A run that is under way."""
    view = convert.run_view(samples.running(samples.run_id(number)))
    return msgspec.structs.replace(view, revision=revision)


def over(number: int = 0, revision: int = 9) -> RunView:
    """A run that has ended."""
    view = convert.run_view(samples.ended(samples.run_id(number)))
    return msgspec.structs.replace(view, revision=revision)


def status(run: RunView) -> tuple[str, object]:
    """The notification of a run: its method and params."""
    return "run/status", msgspec.to_builtins(RunStatusNotification(run=run))


def output(run_id: str, offset: int, text: str, stream: str = "stdout") -> tuple[str, object]:
    """The notification of a piece of output, which is all ASCII."""
    piece = RunOutputNotification(
        run_id=run_id,
        step=0,
        stream=LogStream(stream),
        offset=offset,
        next_offset=offset + len(text),
        text=text,
    )
    return "run/output", msgspec.to_builtins(piece)
