"""One living attempt: when its runner has to look at it again, and when it has not."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.events import TreeEnded, WardenLost
from sidecar.procs.handle import WardenHandle
from sidecar.runner import attempt as module
from sidecar.runner.attempt import LiveAttempt
from sidecar.store.rundir import RunDir


class Gone:
    """A ladder at whose end nobody is left."""

    result = ("observed", "subreaper", 0)

    def __init__(self, *_: object) -> None:
        self.exits: list[tuple[int, str, int]] = []

    def advance(self, _: int) -> None:
        """There is nothing more to do."""

    def shorten(self, *_: int) -> None:
        """It is over."""


@pytest.fixture
def orphaned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveAttempt]:
    """Give an attempt whose warden has died and whose output somebody holds open."""
    stand_in: Any = Gone
    monkeypatch.setattr(module, "EndInherited", stand_in)
    (tmp_path / "steps/0/1").mkdir(parents=True)
    outputs = [os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) for _ in range(2)]
    ours, theirs = socket.socketpair()
    theirs.close()
    ours.setblocking(False)
    warden = WardenHandle(os.getpid(), ours.detach(), outputs[0][0], outputs[1][0], None)
    live = LiveAttempt(
        step=0, number=1, run_dir=RunDir(str(tmp_path)), warden=warden, boot_id="boot"
    )
    yield live
    live.close()
    for _, fd in outputs:
        os.close(fd)


def test_a_stop_after_the_proof_is_nothing_to_look_at_again_and_again(
    orphaned: LiveAttempt,
) -> None:
    assert [type(event) for event, _ in orphaned.turn(0, 0)] == [WardenLost]
    orphaned.drain(0)
    orphaned.end_tree(3000, (), 0)
    assert [type(event) for event, _ in orphaned.turn(0, 0)] == [TreeEnded]
    orphaned.end_tree(0, (), 10)
    assert orphaned.turn(10, 10) == []
    next_at = orphaned.next_at()
    assert next_at is not None
    assert next_at > 10
