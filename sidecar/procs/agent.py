"""Starting the agent's process, and saying in words why it could not be started.

The agent gets its own session, descriptors 0, 1 and 2, the environment of the order and nothing of
ours: default signal dispositions and an empty mask, whatever we inherited or set ourselves.

It must never go through a shell or touch the search path of our own process, and import only what
the boot path may.
"""

import errno
import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

# POSIX execvp: what is searched if the environment has no PATH.
_DEFAULT_PATH = b"/usr/local/bin:/usr/bin:/bin"

# linux/binfmts.h, BINPRM_BUF_SIZE: all that the kernel reads of a script's first line.
_FIRST_LINE_SIZE = 256

_FILE_TYPE = 0o170000
_REGULAR = 0o100000
_DIRECTORY = 0o040000


class NotSpawned:
    """Why there is no agent: the system's number and a sentence that names what was wrong."""

    __slots__ = ("detail", "errno")

    def __init__(self, number: int, detail: str) -> None:
        """Take both as they are."""
        self.errno = number
        self.detail = detail


def not_spawned(refused: OSError, what: str) -> NotSpawned:
    """Say that the system refused something on the way to the agent, and in which words."""
    number = refused.errno or 0
    return NotSpawned(number, f"{what}: {posix.strerror(number)}")


def spawn(
    argv: list[bytes], env: list[bytes], cwd: bytes, stdio: tuple[int, int, int]
) -> int | NotSpawned:
    """Start the agent in ``cwd`` with ``stdio`` as its 0, 1 and 2, and return its pid.

    All other descriptors of this process must be close-on-exec. Leaves this process in ``cwd``.
    """
    try:
        posix.chdir(cwd)
    except OSError as refused:
        return not_spawned(refused, f"cwd cannot be entered: {_text(cwd)}")
    # As in every shell, the last one of several values counts.
    variables = dict(pair.split(b"=", 1) for pair in env)
    program = _resolve(argv[0], variables.get(b"PATH", _DEFAULT_PATH))
    if isinstance(program, NotSpawned):
        return program
    actions = [(posix.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(stdio)]
    everything = {*_signal.valid_signals()} - {_signal.SIGKILL, _signal.SIGSTOP}
    try:
        try:
            return posix.posix_spawn(
                program,
                argv,
                variables,
                file_actions=actions,
                setsid=True,
                setsigdef=everything,
                setsigmask=(),
            )
        except NotImplementedError:
            # No POSIX_SPAWN_SETSID here: its own group is what the second mechanism needs.
            return posix.posix_spawn(
                program,
                argv,
                variables,
                file_actions=actions,
                setpgroup=0,
                setsigdef=everything,
                setsigmask=(),
            )
    except OSError as refused:
        return _explain(program, refused)


def _resolve(name: bytes, search: bytes) -> bytes | NotSpawned:
    """Find the program as execvp(3) would, but in the order's PATH and not in ours."""
    if b"/" in name:
        return name
    refused = None
    for folder in search.split(b":"):
        candidate = (folder or b".") + b"/" + name
        if _type_of(candidate) != _REGULAR:
            continue
        if posix.access(candidate, posix.X_OK):
            return candidate
        refused = refused or candidate
    if refused is not None:
        return NotSpawned(errno.EACCES, f"not executable: {_text(refused)}")
    return NotSpawned(errno.ENOENT, f"not found on PATH: {_text(name)}")


def _explain(program: bytes, refused: OSError) -> NotSpawned:
    """Name the cause behind an errno of exec: ENOENT alone has three of them."""
    number = refused.errno or 0
    name = _text(program)
    kind = _type_of(program)
    interpreter = _interpreter_of(program)
    if number == errno.ENOEXEC:
        why = f"neither a program for this machine nor a script with a #! line: {name}"
    elif kind == _DIRECTORY:
        why = f"is a directory: {name}"
    elif number == errno.ENOENT and kind is None:
        why = f"no such file: {name}"
    elif number == errno.EACCES and kind is not None and not posix.access(program, posix.X_OK):
        why = f"not executable: {name}"
    elif interpreter and number == errno.ENOENT:
        why = f"its #! line names an interpreter that does not exist: {interpreter} (in {name})"
    elif interpreter and number == errno.EACCES:
        why = f"its #! line names an interpreter that may not be run: {interpreter} (in {name})"
    elif number == errno.ENOENT:
        why = f"the loader that it was linked for does not exist: {name}"
    else:
        return not_spawned(refused, f"cannot be run: {name}")
    return NotSpawned(number, why)


def _interpreter_of(program: bytes) -> str:
    """Read the interpreter that a script's first line names; empty if it names none."""
    try:
        fd = posix.open(program, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except OSError:
        return ""
    try:
        first_line = posix.read(fd, _FIRST_LINE_SIZE).split(b"\n", 1)[0]
    except OSError:
        return ""
    finally:
        posix.close(fd)
    words = first_line[2:].split(None, 1)
    return _text(words[0]) if first_line.startswith(b"#!") and words else ""


def _type_of(path: bytes) -> int | None:
    try:
        return posix.stat(path).st_mode & _FILE_TYPE
    except OSError:
        return None


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
