"""Dying at any step: a forked process that kills itself before its k-th call into the system.

``os`` is what the store sees of the system, so that counting its functions counts every point at
which a crash can leave something on disk.
"""

import os
import signal
import traceback
from collections.abc import Callable

# Everything by which the store changes something that outlives the process.
CHANGING = (
    "open", "mkdir", "write", "pwrite", "ftruncate", "rename", "replace", "unlink", "rmdir",
    "chmod", "fchmod", "utime", "fdatasync", "fsync",
)  # fmt: skip

DONE = 42


def crash_before(k: int, doing: Callable[[], object]) -> bool:
    """Do ``doing`` in a fork that is killed before its ``k``-th changing call; whether it was."""
    pid = os.fork()
    if pid == 0:
        try:
            _arm(k)
            doing()
            os._exit(DONE)
        except BaseException:  # noqa: BLE001 - a fork must never go on with the rest of the test
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == DONE, "it failed before it was killed"
    return False


def _arm(k: int) -> None:
    left = [k]

    def counted(whole: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            left[0] -= 1
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(*args, **kwargs)

        return call

    for name in CHANGING:
        setattr(os, name, counted(getattr(os, name)))
