"""What a run is asked to do: the launch, its steps, and what is refused before anything exists.

A single run is a plan of one step; chains and parallel groups are plans of more.  A ``Launch`` is
immutable and is the only place where the prompt, the command line and the environment live.

This module must never look at the machine: whether a directory exists is asked by ``control``.
"""

from dataclasses import dataclass
from enum import StrEnum

from sidecar.core import ids, policy
from sidecar.core.errors import InvalidParams

COMMAND_AGENT = "command"


class Mode(StrEnum):
    """The shape of a plan, as clients see it."""

    SINGLE = "single"
    CHAIN = "chain"
    PARALLEL = "parallel"


class StdinMode(StrEnum):
    """What the agent finds on descriptor 0."""

    NULL = "null"
    """End of file at once: an agent that reads it never waits for a person who is not there."""
    FILE = "file"
    """The prompt, then end of file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """One step as asked for.  ``repr`` hides what may be secret: people paste logs."""

    agent: str
    label: str | None = None
    prompt: str | None = None
    command: tuple[str, ...] | None = None
    shell: str | None = None
    cwd: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    timeout_ms: int | None = None

    def __repr__(self) -> str:
        return f"StepRequest(agent={self.agent!r}, label={self.label!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A whole run as asked for, checked and complete: ids, session and directory are resolved.

    ``env`` is the whole environment of the agent but for what sidecar itself adds (see
    ``control.environment``).  ``meta`` is carried through untouched.
    """

    run_id: str
    session_id: str
    cwd: str
    mode: Mode
    steps: tuple[StepRequest, ...]
    label: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    timeout_ms: int | None = None
    parent_run_id: str | None = None
    client_token: str | None = None
    meta: dict[str, object] | None = None
    created_at: int

    def __repr__(self) -> str:
        return f"Launch(run_id={self.run_id!r}, label={self.label!r}, steps={self.steps!r})"


def argv_of(step: StepRequest) -> tuple[str, ...]:
    """The argument vector of a ``command`` step; a ``shell`` string is given to ``/bin/sh -c``."""
    if step.command is not None:
        return step.command
    return ("/bin/sh", "-c", step.shell or "")


def stdin_of(step: StepRequest) -> StdinMode:
    """What the agent of this step finds on its standard input."""
    return StdinMode.NULL if step.prompt is None else StdinMode.FILE


def check(launch: Launch) -> None:
    """Refuses, with the offending field, what can be refused by looking at the request alone.

    Raises ``InvalidParams``.  Limits of execve(2) are checked here, since the kernel's E2BIG comes
    when the run already exists.
    """
    ids.parse_run_id(launch.run_id)
    ids.parse_session(launch.session_id)
    _check_label(launch.label, "label")
    _check_timeout(launch.timeout_ms, "timeoutMs")
    _check_env(launch.env, "env")
    if not launch.steps:
        raise InvalidParams("a run needs at least one step", field="step")
    if launch.client_token is not None and not (
        0 < len(launch.client_token) <= policy.CLIENT_TOKEN_MAX
    ):
        raise InvalidParams(
            f"client token of {len(launch.client_token)} characters",
            field="clientToken",
            hint=f"1 to {policy.CLIENT_TOKEN_MAX} characters",
        )
    for step in launch.steps:
        _check_step(step, launch)


def _check_step(step: StepRequest, launch: Launch) -> None:
    _check_label(step.label, "step.label")
    _check_timeout(step.timeout_ms, "step.timeoutMs")
    _check_env(step.env, "step.env")
    if step.prompt is not None and len(step.prompt) > policy.PROMPT_MAX_BYTES:
        raise InvalidParams(f"prompt of {len(step.prompt)} characters", field="step.prompt")
    if step.agent != COMMAND_AGENT:
        if step.command is not None or step.shell is not None:
            raise InvalidParams(
                f"only the agent {COMMAND_AGENT!r} takes a command: {step.agent[:64]!r}",
                field="step.command" if step.command is not None else "step.shell",
            )
        return
    if (step.command is None) == (step.shell is None):
        raise InvalidParams(
            "give exactly one of command and shell",
            field="step.command",
            hint="command is an argument vector, shell is one string for /bin/sh -c",
        )
    if step.command is not None and (not step.command or not step.command[0]):
        raise InvalidParams("the command is empty", field="step.command")
    if step.shell is not None and not step.shell.strip():
        raise InvalidParams("the shell command is empty", field="step.shell")
    _check_exec_limits(argv_of(step), launch.env + step.env)


def _check_exec_limits(argv: tuple[str, ...], env: tuple[tuple[str, str], ...]) -> None:
    total = 0
    for index, arg in enumerate(argv):
        size = len(_encoded(arg, f"step.command[{index}]"))
        if size > policy.ARG_MAX_BYTES:
            raise InvalidParams(
                f"an argument of {size} bytes",
                field=f"step.command[{index}]",
                hint="execve(2) takes 131071 bytes at most; use the prompt, which goes to stdin",
            )
        total += size + 9
    total += sum(len(name) + len(value) + 10 for name, value in env)
    if total > policy.ARGV_MAX_BYTES:
        raise InvalidParams(
            f"command and environment of {total} bytes",
            field="step.command",
            hint=f"execve(2) takes {policy.ARGV_MAX_BYTES} bytes in all",
        )


def _check_label(label: str | None, field: str) -> None:
    if label is not None and len(label) > policy.LABEL_MAX:
        raise InvalidParams(
            f"label of {len(label)} characters",
            field=field,
            hint=f"at most {policy.LABEL_MAX}",
        )


def _check_timeout(timeout_ms: int | None, field: str) -> None:
    if timeout_ms is not None and not 1 <= timeout_ms <= policy.TIMEOUT_MAX_MS:
        raise InvalidParams(
            f"timeout out of range: {timeout_ms}",
            field=field,
            hint=f"1 to {policy.TIMEOUT_MAX_MS} milliseconds",
        )


def _check_env(env: tuple[tuple[str, str], ...], field: str) -> None:
    """Names as execve(2) and POSIX chapter 8 allow them; the value of a bad one is not repeated."""
    for name, value in env:
        where = f"{field}.{name[:64]}"
        if not name or "=" in name:
            raise InvalidParams(f"not a variable name: {name[:64]!r}", field=where)
        _encoded(name, where)
        if len(_encoded(value, where)) + len(name) + 1 > policy.ARG_MAX_BYTES:
            raise InvalidParams(f"a variable of {len(value)} characters: {name[:64]}", field=where)


def _encoded(text: str, field: str) -> bytes:
    if "\0" in text:
        raise InvalidParams("a NUL character cannot be passed to a program", field=field)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise InvalidParams(
            f"a lone surrogate at position {exc.start} cannot be passed to a program", field=field
        ) from exc
