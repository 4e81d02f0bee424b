"""Starting our own programs from a launcher's side: a runner with its lease, or an adopter.

Both are started by descriptor and argument alone, in a session of their own, with nothing inherited
but the standard descriptors and, for a runner, the lease as 3: no terminal, no pipe to the caller,
no environment but the few variables that are handed in. Whoever starts one should ``reap`` it.

It must never start an agent, and never write into a run directory but to append to ``runner.log``.
"""

import errno
import fcntl
import functools
import importlib.util
import os
import signal
from collections.abc import Mapping
from pathlib import Path

import sidecar
from sidecar.core.errors import SpawnRefused
from sidecar.procs import boot, warden

RUNNER_LOG = "runner.log"

# A runner decides what these mean to it; in the milliseconds before it has, they must not end it.
_HELD_BACK = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

# Above everything that is placed below, so that no copy is overwritten before it is copied.
_FIRST_FREE_FD = 16


def spawn_runner(run_dir: str, lease_fd: int, env: Mapping[str, str]) -> int:
    """Start the runner of ``run_dir`` and hand it the lease; return its pid.

    ``run_dir`` is absolute; ``env`` is all of the runner's own environment (not the agent's). The
    caller closes its ``lease_fd`` afterwards: the lock stays with the runner's copy. Raises
    ``SpawnRefused``, and then the lease is still the caller's alone.
    """
    return _spawn("run", run_dir, env, lease_fd)


def spawn_adopter(run_dir: str, env: Mapping[str, str]) -> int:
    """Start the reconciler of ``run_dir``; return its pid. Raises ``SpawnRefused``."""
    return _spawn("adopt", run_dir, env, None)


def reap(pid: int) -> int | None:
    """Collect a child of this process without waiting; ``None`` while it has not ended.

    Returns its exit code, or the negative number of the signal that ended it; 0 for one that is no
    child of ours, or has been collected already, of which nothing is known but that it is over.
    """
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if done else None


@functools.cache
def package_paths() -> list[str]:
    """Where the boot path finds sidecar and orjson: the folders that hold them, each once."""
    folders = [str(Path(sidecar.__path__[0]).resolve().parent)]
    spec = importlib.util.find_spec("orjson")
    if spec is not None and spec.origin is not None:
        folders.append(str(Path(spec.origin).resolve().parent.parent))
    return list(dict.fromkeys(folders))


def _spawn(mode: str, run_dir: str, env: Mapping[str, str], lease_fd: int | None) -> int:
    argv = warden.boot_argv(mode, run_dir, package_paths())
    fds: list[int] = []
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        log_fd = os.open(f"{run_dir}/{RUNNER_LOG}", flags, 0o600)
        fds.append(log_fd)
        fds.append(_high_copy(log_fd))
        actions: list[tuple[int, int, str, int, int] | tuple[int, int, int]] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, fds[1], 1),
            (os.POSIX_SPAWN_DUP2, fds[1], 2),
        ]
        if lease_fd is not None:
            fds.append(_high_copy(lease_fd))
            actions.append((os.POSIX_SPAWN_DUP2, fds[2], boot.LEASE_FD))
        return os.posix_spawn(
            argv[0],
            argv,
            env,
            file_actions=actions,
            setsid=True,
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
            setsigmask=_HELD_BACK,
        )
    except OSError as refused:
        name = errno.errorcode.get(refused.errno or 0, "?")
        raise SpawnRefused(
            f"the system would not start a process for the run: {name}",
            hint="see whether processes, descriptors, memory or disk have run out",
        ) from refused
    finally:
        for fd in fds:
            os.close(fd)


def _high_copy(fd: int) -> int:
    """Copy a descriptor above all those that the child is given, closed on exec."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
