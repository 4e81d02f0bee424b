"""What this machine offers to runs: kernel, limits, versions, and who may end us all at once.

Half of ``sidecar doctor``; the other half, ``control.doctor``, looks at the state directory.

This module must never change anything: no attribute is set, no file created, nothing started.
"""

import os
import platform
import re
import resource
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata

from sidecar.procs import identity


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at: ``code`` is stable, ``message`` and ``hint`` for people."""

    level: Level
    code: str
    message: str
    hint: str | None = None


NOFILE_LOW = 256
NPROC_LOW = 256

DEPENDENCIES = ("pygls", "lsprotocol", "orjson", "msgspec", "rich", "shtab")

_SCOPE = re.compile(r"session-[^/]*\.scope")


def host_findings() -> Iterator[Finding]:
    """Everything about this machine and this process."""
    yield _python()
    yield _versions()
    yield from _kernel()
    yield from _limits()
    yield cgroup_finding(_read("/proc/self/cgroup"))


def _python() -> Finding:
    version = platform.python_version()
    text = f"Python {version} ({platform.python_implementation()}) at {sys.executable}"
    if sys.platform != "linux":
        return Finding(
            level=Level.WARNING,
            code="platform",
            message=f"{text}, on {sys.platform}",
            hint="only Linux is known to work; elsewhere escaped processes cannot be excluded",
        )
    return Finding(level=Level.OK, code="python", message=f"{text}, Linux {platform.release()}")


def _versions() -> Finding:
    found, missing = [], []
    for name in DEPENDENCIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding(
            level=Level.WARNING,
            code="dependencies",
            message=f"not installed: {', '.join(missing)}",
            hint="install sidecar with its dependencies into one environment",
        )
    return Finding(level=Level.OK, code="dependencies", message=", ".join(found))


def _kernel() -> Iterator[Finding]:
    """Each ability that the owning of process trees rests on, and what is lost without it."""
    yield _ability(
        "subreaper",
        has=sys.platform == "linux" and _kernel_version() >= (3, 4),
        what="child subreaper, prctl(2)",
        lost="processes that detach themselves from an agent may outlive its run",
    )
    yield _ability(
        "pidfd",
        has=_has_pidfd(),
        what="process descriptors, pidfd_open(2)",
        lost="processes are signalled by a pid that is checked just before",
    )
    yield _ability(
        "children-file",
        has=os.path.exists(f"/proc/self/task/{os.getpid()}/children"),
        what="lists of children, /proc/PID/task/TID/children",
        lost="ending a large tree is slower",
    )
    yield _ability(
        "splice",
        has=hasattr(os, "splice"),
        what="moving output within the kernel, splice(2)",
        lost="output is copied through the runner",
    )
    yield _ability(
        "boot-id",
        has=bool(identity.boot_id()),
        what="an identity of this boot, /proc/sys/kernel/random/boot_id",
        lost="recorded processes cannot be told from later ones with their number",
    )
    yield _ability(
        "cgroup-v2",
        has=os.path.exists("/sys/fs/cgroup/cgroup.controllers"),
        what="cgroup v2",
        lost="what a lost warden leaves behind is found by list and by environment only",
        level=Level.NOTE,
    )


def _ability(
    code: str, *, has: bool, what: str, lost: str, level: Level = Level.WARNING
) -> Finding:
    if has:
        return Finding(level=Level.OK, code=code, message=f"{what}: there")
    return Finding(level=level, code=code, message=f"{what}: not there", hint=f"without it {lost}")


def _kernel_version() -> tuple[int, int]:
    numbers = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _has_pidfd() -> bool:
    """By trying: a sandbox may refuse what the kernel has."""
    try:
        fd = os.pidfd_open(os.getpid())
    except (AttributeError, OSError):
        return False
    try:
        # Being able to wait for it is what it is for.
        return not select.select([fd], [], [], 0)[0]
    except ValueError:
        return True  # a number too large for select(2); the descriptor itself is fine
    finally:
        os.close(fd)


def _limits() -> Iterator[Finding]:
    for code, which, low, what in (
        ("open-files", resource.RLIMIT_NOFILE, NOFILE_LOW, "open files"),
        ("processes", resource.RLIMIT_NPROC, NPROC_LOW, "processes of this user"),
    ):
        soft, hard = resource.getrlimit(which)
        message = f"limit of {what}: {_limit(soft)} (at most {_limit(hard)})"
        if soft != resource.RLIM_INFINITY and soft < low:
            yield Finding(
                level=Level.WARNING,
                code=code,
                message=message,
                hint=f"raise it to {low} at least, by ulimit or in the service manager",
            )
        else:
            yield Finding(level=Level.OK, code=code, message=message)


def _limit(value: int) -> str:
    return "none" if value == resource.RLIM_INFINITY else str(value)


def cgroup_finding(text: str | None) -> Finding:
    """Whether what is launched from here may be ended as a whole, from /proc/self/cgroup.

    A runner leaves the session and the terminal, but no process leaves its control group by
    itself: a login session or a service that is ended with all its processes takes the runs along.
    They are then found lost, and said to be.
    """
    if text is None:
        return Finding(level=Level.NOTE, code="cgroup", message="no /proc/self/cgroup to look at")
    path = next((line[3:] for line in text.splitlines() if line.startswith("0::")), None)
    if path is None:
        path = next(
            (line.split(":", 2)[2] for line in text.splitlines() if ":name=systemd:" in line), "/"
        )
    if _SCOPE.search(path):
        return Finding(
            level=Level.WARNING,
            code="cgroup",
            message=f"runs launched from here end with the login session, if it is set so: {path}",
            hint="KillUserProcesses in logind.conf(5) decides; 'loginctl enable-linger' and "
            "'systemd-run --user --scope' make them independent of it",
        )
    if path.rstrip("/").endswith((".service", ".scope")):
        return Finding(
            level=Level.WARNING,
            code="cgroup",
            message=f"runs launched from here end when this unit is stopped: {path}",
            hint="'systemd-run --user --scope' or KillMode=process, systemd.kill(5), prevents it",
        )
    return Finding(
        level=Level.OK, code="cgroup", message=f"no unit that is ended as a whole: {path}"
    )


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None
