"""Starting a warden: pipes, socket, fork, and in the fork all up to the agent's first breath.

The order of the steps in ``_Birth`` is the whole point: the lease is closed before anything else,
the process is a subreaper before it has a child, and the record is visible and locked before the
order is taken, so that whatever dies in between leaves something that can be named.

The agent's start waits for every import made here, so the rest of a warden's life (``keeper``) is
imported once the agent runs. It must never import anything but C built-ins and its neighbours.
"""

import _socket
import errno
import fcntl
import posix
import sys

from sidecar.procs import agent, clock, descriptors, identity, lines, order, prctl, telling
from sidecar.procs.handle import WardenHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from typing import NoReturn
else:
    import _signal

SPAWN_FILE = "spawn"
STDIN_FILE = "stdin"

SUBREAPER = "subreaper"
PROCESS_GROUP = "process-group"

# What ends or stops a process that does not care; a warden ends when its work is done.
_IGNORED = (
    "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE", "SIGXFSZ",
    "SIGTSTP", "SIGTTIN", "SIGTTOU",
)  # fmt: skip

# Enough that a chatty agent does not wait for a runner that is busy; the kernel may give less.
_PIPE_SIZE = 262_144

_EXIT_BUG = 70


def boot_argv(mode: str, run_dir: str, paths: list[str]) -> list[str]:
    """The command line of a runner (``run``) or reconciler (``adopt``) for ``run_dir``.

    ``paths`` are the folders that hold sidecar and orjson.
    """
    script = __file__.rpartition("/")[0] + "/boot.py"
    return [sys.executable, "-I", "-S", "-E", script, mode, run_dir, *paths]


def start(
    run_dir: str,
    attempt_dir: str,
    lease_fd: int,
    *,
    paths: list[str],
    mechanism: str = SUBREAPER,
) -> WardenHandle:
    """Fork a warden that carries out ``attempt_dir/spawn``, and return the runner's side of it.

    ``lease_fd`` is closed in the warden (-1 if there is none). ``paths`` is what an adopter needs,
    which the warden starts for ``run_dir`` when its runner vanishes. ``mechanism`` is
    ``process-group``, or ``subreaper``, which falls back to the other where there is none. The
    calling process becomes a subreaper too: if the warden dies, its tree falls to the caller.

    Whatever is wrong with the order or the program is told by ``spawn-failed``; ``OSError`` is
    raised, and nothing is left, if there could be no warden at all.
    """
    if mechanism == SUBREAPER:
        prctl.set_subreaper()
    wanted = _read_order(attempt_dir)
    has_input = isinstance(wanted, tuple) and wanted[3] == order.STDIN_PIPE
    ends = _Ends()
    # No handler of the runner may run in its copy.
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    try:
        ends.open(has_input=has_input)
        pid = posix.fork()
        if pid == 0:
            adopt_argv = boot_argv("adopt", run_dir, paths)
            _Birth(attempt_dir, mechanism, adopt_argv, wanted, ends).live(lease_fd)
    except OSError:
        ends.close()
        raise
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    return ends.handle(pid)


class _Ends:
    """The pipes and the socket between a runner, its warden and the agent; -1 is not open."""

    def __init__(self) -> None:
        self.stdin = (-1, -1)
        self.stdout = (-1, -1)
        self.stderr = (-1, -1)
        self.sock = (-1, -1)

    def open(self, *, has_input: bool) -> None:
        """Open all of them, the runner's sides non-blocking."""
        if has_input:
            self.stdin = _pipe()
            posix.set_blocking(self.stdin[1], False)
        self.stdout = _pipe()
        self.stderr = _pipe()
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.sock = (ours.detach(), theirs.detach())
        for fd in (self.stdout[0], self.stderr[0], *self.sock):
            posix.set_blocking(fd, False)

    def close(self) -> None:
        """Close what is open."""
        for fd in (*self.stdin, *self.stdout, *self.stderr, *self.sock):
            if fd >= 0:
                posix.close(fd)

    def handle(self, pid: int) -> WardenHandle:
        """Keep the runner's sides and close the others."""
        for fd in (self.stdin[0], self.stdout[1], self.stderr[1], self.sock[1]):
            if fd >= 0:
                posix.close(fd)
        stdin_fd = self.stdin[1] if self.stdin[1] >= 0 else None
        return WardenHandle(pid, self.sock[0], self.stdout[0], self.stderr[0], stdin_fd)


class _Birth:
    """The fork's first milliseconds, and the rest of its life. Never returns to the runner."""

    def __init__(
        self,
        attempt_dir: str,
        mechanism: str,
        adopt_argv: list[str],
        wanted: "order.Order | agent.NotSpawned",
        ends: _Ends,
    ) -> None:
        self._attempt_dir = attempt_dir
        self._mechanism = mechanism
        self._adopt_argv = adopt_argv
        self._wanted = wanted
        self._stdin_fd = ends.stdin[0]
        self._stdout = ends.stdout
        self._stderr = ends.stderr
        self._sock_fd = ends.sock[1]

    def live(self, lease_fd: int) -> "NoReturn":
        """Be a warden from here to the end of the process."""
        status = _EXIT_BUG
        try:
            if lease_fd >= 0:
                posix.close(lease_fd)
            self._detach()
            self._run()
            status = 0
        except BaseException:  # noqa: BLE001 - the end of this process; the story goes to runner.log
            sys.excepthook(*sys.exc_info())
        finally:
            posix._exit(status)  # it is a fork: nothing of the runner may be run or flushed

    def _detach(self) -> None:
        keep = [self._sock_fd, self._stdin_fd, *self._stdout, *self._stderr]
        descriptors.close_all_but((0, 1, 2, *(fd for fd in keep if fd >= 0)))
        _signal.set_wakeup_fd(-1)
        posix.setsid()
        for name in _IGNORED:
            _signal.signal(getattr(_signal, name), _signal.SIG_IGN)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        if self._mechanism == SUBREAPER and not prctl.set_subreaper():
            self._mechanism = PROCESS_GROUP
        prctl.set_name(b"sidecar-warden")

    def _run(self) -> None:
        teller = telling.Teller(self._sock_fd)
        attempt_fd = -1
        try:
            flags = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC
            attempt_fd = posix.open(self._attempt_dir, flags)
            pid = posix.getpid()
            ticks = identity.start_ticks(pid) or lines.NO_TICKS
            boot = identity.boot_id() or lines.NO_BOOT_ID
            teller.open_record(attempt_fd, ("spawning", pid, ticks, boot, clock.wall_ms()))
            spawned = self._spawn(attempt_fd)
        except OSError as refused:
            spawned = agent.not_spawned(refused, "the attempt's record could not be made")
        posix.chdir("/")
        for fd in (self._stdin_fd, self._stdout[1], self._stderr[1]):
            if fd >= 0:
                posix.close(fd)
        found: tuple[int, int | None] | None = None
        if isinstance(spawned, agent.NotSpawned):
            at = clock.wall_ms()
            teller.tell(("spawn-failed", spawned.errno, at, spawned.detail), durable=True)
        else:
            found = (spawned, identity.start_ticks(spawned))
            ticks = found[1] or lines.NO_TICKS
            teller.tell(("running", spawned, ticks, clock.wall_ms()), durable=False)
        self._keep(teller, attempt_fd, found)

    def _spawn(self, attempt_fd: int) -> int | agent.NotSpawned:
        """Take the order and carry it out."""
        if isinstance(self._wanted, agent.NotSpawned):
            return self._wanted
        argv, env, cwd, stdin = self._wanted
        # Whoever removes the order is the one that carries it out, and it is private.
        try:
            posix.unlink(SPAWN_FILE, dir_fd=attempt_fd)
        except OSError as refused:
            return agent.not_spawned(refused, "the spawn order could not be taken")
        if stdin != order.STDIN_PIPE:
            try:
                self._stdin_fd = _open_stdin(attempt_fd, stdin)
            except OSError as refused:
                return agent.not_spawned(refused, "the agent's input could not be opened")
        return agent.spawn(argv, env, cwd, (self._stdin_fd, self._stdout[1], self._stderr[1]))

    def _keep(
        self, teller: telling.Teller, attempt_fd: int, found: tuple[int, int | None] | None
    ) -> None:
        # Imported here: the agent runs already, and the rest of its warden's life has time.
        from sidecar.procs import drain, keeper, scopes

        scope: scopes.Scope | None = None
        if found is not None:
            is_subreaper = self._mechanism == SUBREAPER
            scope = scopes.Below() if is_subreaper else scopes.Group(found[0])
        outputs = drain.Drain(attempt_fd, self._stdout[0], self._stderr[0])
        keeper.Keeper(teller, outputs, self._adopt_argv, found, scope).keep()


def _read_order(attempt_dir: str) -> "order.Order | agent.NotSpawned":
    try:
        flags = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC
        fd = posix.open(f"{attempt_dir}/{SPAWN_FILE}", flags)
        data = b""
        try:
            while part := posix.read(fd, 1 << 20):
                data += part
        finally:
            posix.close(fd)
    except OSError as refused:
        return agent.not_spawned(refused, "the spawn order could not be read")
    try:
        return order.decode(data)
    except order.OrderError as damage:
        return agent.NotSpawned(errno.EBADMSG, str(damage))


def _open_stdin(attempt_fd: int, stdin: str) -> int:
    flags = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC
    if stdin == order.STDIN_NULL:
        return posix.open("/dev/null", flags)
    fd = posix.open(STDIN_FILE, flags, dir_fd=attempt_fd)
    posix.unlink(STDIN_FILE, dir_fd=attempt_fd)
    return fd


def _pipe() -> tuple[int, int]:
    ends = posix.pipe()  # closed on exec, as all descriptors that Python makes
    try:
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    except (OSError, AttributeError):
        # Over the user's share of pipe memory, or no such call: the usual size is correct too.
        return ends
    return ends
