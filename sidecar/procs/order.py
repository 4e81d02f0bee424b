"""The spawn order: the private file in which a launcher tells a warden what to start.

Format: a version line, then NUL-terminated fields: stdin, cwd, number of arguments, the arguments,
number of variables, the variables as NAME=value. NUL is the one byte that none of them can hold.
It may carry a prompt and always carries the environment: 0600, and unlinked by whoever takes it.

It must never look at the disk or the environment, and import only what the boot path may.
"""

VERSION_LINE = b"sidecar-spawn 1\n"

STDIN_NULL = "null"
STDIN_FILE = "file"
STDIN_PIPE = "pipe"
STDIN_CHOICES = (STDIN_NULL, STDIN_FILE, STDIN_PIPE)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    # argv, env, cwd, stdin
    Order = tuple[list[bytes], list[bytes], bytes, str]


class OrderError(ValueError):
    """An order that could not be carried out, or bytes that are no order."""

    code = "spawn-order-damaged"


def encode(argv: "Sequence[bytes]", env: "Sequence[bytes]", cwd: bytes, stdin: str) -> bytes:
    """Write an order; ``env`` (NAME=value) is complete: nothing will be added to it.

    ``stdin`` is ``null``, ``file`` (the attempt's ``stdin`` file) or ``pipe`` (the runner writes).
    Raises ``OrderError`` if that cannot be carried out: no program, a relative ``cwd``, a NUL.
    """
    _check(argv, env, cwd, stdin)
    fields = [stdin.encode("ascii"), cwd, b"%d" % len(argv), *argv, b"%d" % len(env), *env]
    return VERSION_LINE + b"\0".join(fields) + b"\0"


def decode(data: bytes) -> "Order":
    """Read ``(argv, env, cwd, stdin)``.

    Raises ``OrderError`` on damage: cut off, lengthened, or of a version that is not known here.
    """
    if not data.startswith(VERSION_LINE):
        raise OrderError("not a spawn order of a known version")
    if not data.endswith(b"\0"):
        raise OrderError("the spawn order is cut off")
    fields = data[len(VERSION_LINE) : -1].split(b"\0")
    try:
        stdin = fields[0].decode("ascii")
        cwd = fields[1]
        argv, after_argv = _counted(fields, 2)
        env, after_env = _counted(fields, after_argv)
    except (IndexError, ValueError) as damage:
        raise OrderError("the spawn order is damaged") from damage
    if after_env != len(fields):
        raise OrderError("the spawn order holds more than it says")
    _check(argv, env, cwd, stdin)
    return argv, env, cwd, stdin


def _counted(fields: list[bytes], at: int) -> tuple[list[bytes], int]:
    n_fields = int(fields[at])
    end = at + 1 + n_fields
    if n_fields < 0 or end > len(fields):
        raise IndexError(n_fields)
    return fields[at + 1 : end], end


def _check(argv: "Sequence[bytes]", env: "Sequence[bytes]", cwd: bytes, stdin: str) -> None:
    if not argv or not argv[0]:
        raise OrderError("no program is named")
    if not cwd.startswith(b"/"):
        raise OrderError(f"the working directory is not an absolute path: {cwd!r}")
    if stdin not in STDIN_CHOICES:
        raise OrderError(f"no such kind of standard input: {stdin}")
    for pair in env:
        if pair.find(b"=") < 1:
            # Not quoted: without the sign there is no telling where a secret begins.
            raise OrderError("a variable is not NAME=value")
    for field in (cwd, *argv, *env):
        if b"\0" in field:
            raise OrderError("an argument, a variable or the working directory holds a NUL")
