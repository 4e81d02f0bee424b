"""Which descriptors one of our own processes keeps: the named ones and no others.

A descriptor that slips into a child is a promise that nobody made: a lease that never falls, a pipe
that never ends. It must never decide what is kept, and import only what the boot path may.
"""

import posix

# Without close_range(2) each number is closed one by one, so the bound has to be a modest one.
_LEAST_LIMIT = 65_536


def close_all_but(keep: tuple[int, ...]) -> None:
    """Close every descriptor of this process that is not in ``keep``."""
    low = 0
    for fd in sorted(keep):
        if low < fd:  # an empty range from 0 would reach close_range(2) as all there are
            posix.closerange(low, fd)
        low = fd + 1
    posix.closerange(low, max(posix.sysconf("SC_OPEN_MAX"), _LEAST_LIMIT))


def fill_standard() -> None:
    """Open ``/dev/null`` for each of 0, 1 and 2 that is closed, so that no pipe becomes one."""
    while True:
        fd = posix.open("/dev/null", posix.O_RDWR | posix.O_CLOEXEC)
        if fd > 2:
            posix.close(fd)
            return
        posix.set_inheritable(fd, True)
