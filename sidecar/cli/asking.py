"""From the words of ``sidecar launch`` to a launch as asked for.

This module must never look at the machine: the prompt, which may lie in a file, and the directory
are given to it.
"""

from argparse import Namespace

from sidecar.cli.human import parse_duration
from sidecar.core.asked import Asked
from sidecar.core.errors import InvalidParams
from sidecar.core.plan import COMMAND_AGENT, Mode, StepRequest


def asked(words: Namespace, *, cwd: str, prompt: str | None) -> Asked:
    """The launch that ``words`` ask for.  Raises ``InvalidParams``."""
    command, shell = words.command_line, words.shell
    if command is None and shell is None:
        raise InvalidParams(
            "no command given",
            field="step.command",
            hint="put it after --: sidecar launch -- COMMAND ...; or use --shell STRING",
        )
    if command is not None and shell is not None:
        raise InvalidParams(
            "give either a command after -- or --shell, not both", field="step.command"
        )
    timeout_ms = None
    if words.timeout is not None:
        timeout_ms = parse_duration(words.timeout, field="timeoutMs")
    return Asked(
        mode=Mode.SINGLE,
        steps=(StepRequest(agent=COMMAND_AGENT, prompt=prompt, command=command, shell=shell),),
        label=words.label,
        cwd=cwd,
        env=tuple(_variable(pair) for pair in words.env),
        timeout_ms=timeout_ms,
        client_token=words.token,
    )


def _variable(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals or not name:
        # The value is not repeated: it may be a secret.
        raise InvalidParams(
            f"not NAME=VALUE: {name[:64]!r}", field="env", hint="for example --env LEVEL=debug"
        )
    return name, value
