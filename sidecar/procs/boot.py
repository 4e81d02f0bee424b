"""The thin script that every runner and adopter starts with.

    python -I -S -E boot.py run|adopt RUN_DIR PATH...

As ``run`` it is handed the lease as descriptor 3, starts the warden of the first attempt before it
has imported anything else, and only then becomes ``sidecar.runner``, while the agent already runs.
As ``adopt`` it becomes the reconciler at once. ``PATH``s are where sidecar and orjson are found.

It must never import anything but C built-ins and the warden before the warden has been started.
"""

import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from sidecar.procs.handle import WardenHandle
else:
    import _signal

LEASE_FD = 3

# A start takes one or two milliseconds; a file system that hangs must not hold the runner too.
_HEAD_START_MS = 50

_EXIT_USAGE = 64
_EXIT_BUG = 70


def main(argv: list[str]) -> int:
    """Run as a script; the exit status."""
    if len(argv) < 4 or argv[1] not in {"run", "adopt"}:
        sys.stderr.write("usage: boot.py run|adopt RUN_DIR PATH...\n")
        return _EXIT_USAGE
    _, mode, run_dir, *paths = argv
    try:
        _become_ordinary()
        # Behind the standard library, so that nothing installed can stand in for a part of it.
        sys.path += paths
        if mode == "run":
            _run(run_dir, paths)
        else:
            _adopt(run_dir, paths)
    except Exception:  # noqa: BLE001 - the end of this process; stderr is runner.log
        sys.excepthook(*sys.exc_info())
        return _EXIT_BUG
    return 0


def _become_ordinary() -> None:
    """Undo what a parent may have left in us: an ignored SIGCHLD, a blocked one.

    SIGPIPE stays ignored, as Python has it: a reader that went away is an error, not our end.
    """
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    for number in (_signal.SIGINT, _signal.SIGHUP):
        _signal.signal(number, _signal.SIG_IGN)
    # TERM stays back until the runner's loop can take it for what it is: a request to stop.
    _signal.pthread_sigmask(_signal.SIG_SETMASK, (_signal.SIGTERM,))


def _run(run_dir: str, paths: list[str]) -> None:
    posix.set_inheritable(LEASE_FD, False)
    from sidecar.procs import clock, descriptors

    descriptors.close_all_but((0, 1, 2, LEASE_FD))
    descriptors.fill_standard()
    started_at = clock.wall_ms()
    warden = _first_warden(run_dir, paths)

    from sidecar.runner import main as runner

    runner.run(run_dir, paths, started_at=started_at, lease_fd=LEASE_FD, warden=warden)


def _first_warden(run_dir: str, paths: list[str]) -> "WardenHandle | None":
    """Start the first attempt of the first step, if its order is there and the system lets us.

    If it does not (no processes, no descriptors), the runner's loop tries again until it does.
    """
    from sidecar.procs import warden

    attempt_dir = f"{run_dir}/steps/0/1"
    if not posix.access(f"{attempt_dir}/{warden.SPAWN_FILE}", posix.R_OK):
        return None
    try:
        handle = warden.start(run_dir, attempt_dir, LEASE_FD, paths=paths)
    except OSError:
        return None
    _let_it_start(handle.sock_fd)
    return handle


def _let_it_start(sock_fd: int) -> None:
    """Stay off the processor until the agent runs: on a busy machine it would wait for our imports.

    Nothing is read: what the warden says is for the runner.
    """
    import select

    poll = select.poll()
    poll.register(sock_fd, select.POLLIN)
    poll.poll(_HEAD_START_MS)


def _adopt(run_dir: str, paths: list[str]) -> None:
    from sidecar.procs import descriptors

    descriptors.close_all_but((0, 1, 2))
    descriptors.fill_standard()

    from sidecar.runner import main as runner

    runner.adopt(run_dir, paths)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
