"""What the boot path imports before the agent runs, and what a warden ever imports, is counted."""

import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.procs import warden

PACKAGE_ROOT = Path(warden.__file__).parents[2]

# What `python -I -S -E` has anyway, and what comes with it once anything is imported from a file.
GIVEN = {"encodings", "codecs", "io", "abc", "zipimport", "zlib", "binascii", "__mp_main__"}

BUILT_IN = {"posix", "sys", "fcntl", "_socket", "_signal", "select", "errno", "_ctypes", "time"}

BEFORE_THE_AGENT = {
    "sidecar", "sidecar.procs", "sidecar.procs.agent", "sidecar.procs.boot", "sidecar.procs.clock",
    "sidecar.procs.descriptors", "sidecar.procs.handle", "sidecar.procs.identity",
    "sidecar.procs.lines", "sidecar.procs.order", "sidecar.procs.prctl", "sidecar.procs.telling",
    "sidecar.procs.warden",
}  # fmt: skip

AFTER_THE_AGENT = {
    "sidecar.core", "sidecar.core.policy", "sidecar.procs.drain", "sidecar.procs.keeper",
    "sidecar.procs.members", "sidecar.procs.pump", "sidecar.procs.scopes", "sidecar.procs.tree",
}  # fmt: skip


def imported_by(*modules: str) -> set[str]:
    program = "import sys; before = set(sys.modules); sys.path.append(sys.argv[1])\n"
    program += "".join(f"import {module}\n" for module in modules)
    program += "from sidecar.procs import prctl; prctl.set_name(b'x')\n"
    program += "print(*(set(sys.modules) - before))"
    argv = [sys.executable, "-I", "-S", "-E", "-c", program, str(PACKAGE_ROOT)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return set(done.stdout.split()) - GIVEN


@pytest.mark.parametrize(
    ("modules", "ours"),
    [
        (["sidecar.procs.boot", "sidecar.procs.warden"], BEFORE_THE_AGENT),
        (
            ["sidecar.procs.boot", "sidecar.procs.warden", "sidecar.procs.keeper"],
            BEFORE_THE_AGENT | AFTER_THE_AGENT,
        ),
    ],
    ids=["boot", "warden"],
)
def test_imports_are_ours_and_the_interpreters_own(modules: list[str], ours: set[str]) -> None:
    found = imported_by(*modules)
    assert {name for name in found if name.partition(".")[0] == "sidecar"} == ours
    assert {name for name in found if name.partition(".")[0] != "sidecar"} <= BUILT_IN
