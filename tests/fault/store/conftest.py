"""What the fault tests of the store stand on: disks that are small or read-only, and a canary.

They mount, and so have to be run by root, as CI does.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.store.layout import Layout, open_state_dir
from tests.support.stored import release_all


@pytest.fixture
def layout(state_dir: Path) -> Iterator[Layout]:
    """Give an opened, empty state directory; what was led in it is let go at the end."""
    yield open_state_dir(str(state_dir))
    release_all()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Give a file that whoever follows a link would spoil."""
    canary = tmp_path / "canary"
    canary.write_text("alive")
    return canary


class Disk:
    """A file system of 256 KiB; ``fill`` leaves no byte of it, ``clear`` makes room again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self, *, leaving: int = 0) -> None:
        """Use up the space, but for about ``leaving`` bytes (whole pages)."""
        with self._filler.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
            if leaving:
                file.truncate(file.tell() - leaving)

    def clear(self) -> None:
        """Give the space back."""
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """Give a small disk of its own."""
    path = tmp_path / "disk"
    path.mkdir()
    _run("mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "sidecar-test", str(path))
    yield Disk(path)
    _run("umount", "--lazy", str(path))


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """Give a directory of which ``tmp_path/bound`` is a view that cannot be written to."""
    path = tmp_path / "writable"
    view = tmp_path / "bound"
    path.mkdir(mode=0o700)
    view.mkdir()
    _run("mount", "--bind", str(path), str(view))
    _run("mount", "-o", "remount,bind,ro", str(view))
    yield path
    _run("umount", "--lazy", str(view))


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True)
