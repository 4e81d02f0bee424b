"""The two process attributes that Python has no name for: subreaper, and the name in ``ps``.

The C library is called through ``_ctypes`` itself: ``ctypes`` costs the boot path two milliseconds
more and gives nothing for a call with plain integers. Off Linux both say False and change nothing.
It must never be asked for anything else.
"""

import sys

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36


def set_subreaper() -> bool:
    """Let orphaned descendants become children of this process; whether that holds now.

    Not inherited by fork: a warden says it for itself, before it starts anything (prctl(2)).
    """
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_name(name: bytes) -> bool:
    """Give this process a name of at most 15 bytes, for people who look at ``ps``."""
    return _prctl(_PR_SET_NAME, name[:15])


def _prctl(option: int, argument: int | bytes) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        import _ctypes

        address = _ctypes.dlsym(_ctypes.dlopen(None), "prctl")  # type: ignore[arg-type]
        return bool(_ctypes.call_function(address, (option, argument)) == 0)
    except (ImportError, AttributeError):
        # Another Python implementation, or one that changed what is private to it.
        return _prctl_by_ctypes(option, argument)
    except OSError:
        return False  # a C library without prctl


def _prctl_by_ctypes(option: int, argument: int | bytes) -> bool:
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(option, argument) == 0)
    except (ImportError, AttributeError, OSError):
        return False
