"""What lies in an attempt's directory: the order for its warden, the prompt, the logs.

The order and the prompt are private and short-lived: the warden unlinks both as soon as it has
them.  The logs are made before the agent starts, and stay whole.

This module must never look into what it writes or opens.
"""

import os

from sidecar.store import atomic, layout
from sidecar.store.rundir import LeasedRunDir


def write_order(
    run_dir: LeasedRunDir, step: int, attempt: int, *, order: bytes, prompt: str | None
) -> str:
    """Puts down what the warden of this attempt is to start; returns the attempt's directory.

    ``prompt`` becomes the file that the agent has as its standard input.  Raises ``StorageError``;
    doing it again replaces what was there.
    """
    path = run_dir.make_attempt(step, attempt)
    for name in (layout.STDOUT_LOG, layout.STDERR_LOG):
        os.close(open_log(f"{path}/{name}"))
    if prompt is not None:
        atomic.replace_file(f"{path}/{layout.STDIN}", _prompt_bytes(prompt), durable=False)
    # Last: the order is what says that there is something to start.
    atomic.replace_file(f"{path}/{layout.SPAWN}", order, durable=False)
    return path


def open_log(path: str) -> int:
    """A log for writing at explicit offsets (not for appending: ``procs.pump``).

    Raises ``StorageError`` also if something else has taken its name.
    """
    return atomic.open_for_writing(path, appending=False)


def _prompt_bytes(prompt: str) -> bytes:
    try:
        return prompt.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half a pair, which some editor cut: no bytes mean that, and no agent would take them.
        return prompt.encode("utf-8", "replace")
