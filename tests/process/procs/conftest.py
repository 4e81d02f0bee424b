"""Rigs: a run directory with a fake runner each, all killed at the end of the test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process.procs.rig import Rig


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[Callable[[], Rig]]:
    """Give as many rigs as a test wants."""
    rigs: list[Rig] = []

    def make() -> Rig:
        base = tmp_path / f"rig{len(rigs)}"
        base.mkdir()
        rigs.append(Rig(base))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.close()


@pytest.fixture
def rig(make_rig: Callable[[], Rig]) -> Rig:
    """Give one rig."""
    return make_rig()
