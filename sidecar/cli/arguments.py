"""The grammar of the command line.

Every command is described by one function; only the chosen one is built, since building all takes
longer than most commands do.  What follows the first ``--`` is the command line of an agent and is
taken away before anything here looks at it.

This module must never act: it turns words into values, or raises ``InvalidParams``.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn

from sidecar.cli import exits
from sidecar.core.errors import InvalidParams

PROGRAM = "sidecar"
SHELLS = ("bash", "zsh", "fish", "tcsh")

_EPILOG_WIDTH = 8


class Parser(argparse.ArgumentParser):
    """Raises instead of ending the process, so that errors are told in one way."""

    def error(self, message: str) -> NoReturn:
        """Called by argparse for whatever it cannot read."""
        raise InvalidParams(message, hint=f"see {self.prog} --help")


class Help(argparse.RawDescriptionHelpFormatter):
    """Has a width from the start: argparse would import a lot, for every argument, to find one."""

    columns = 80

    def __init__(self, prog: str) -> None:
        """Called by argparse."""
        super().__init__(prog, width=self.columns - 2)


def read(argv: Sequence[str], *, columns: int | None = None) -> argparse.Namespace:
    """``argv`` as values; ``command_line`` is what stood behind ``--``, if there was a ``--``.

    ``columns`` is how wide help may be.
    Raises ``InvalidParams``, or ``SystemExit`` for ``--help`` and ``--version``.
    """
    Help.columns = columns or Help.columns
    words, command_line = _split(argv)
    chosen = words[0] if words and words[0] in COMMANDS else None
    found, rest = parser(chosen).parse_known_args(words)
    if rest:
        hint = f"see {PROGRAM} {found.command} --help"
        if found.command == "launch" and not rest[0].startswith("-"):
            hint = f"the command goes after --: {PROGRAM} launch -- {rest[0]} ..."
        raise InvalidParams(f"not understood: {rest[0][:64]!r}", hint=hint)
    if command_line is not None and found.command != "launch":
        raise InvalidParams(
            f"only launch takes a command after --: {found.command}",
            hint=f"see {PROGRAM} {found.command} --help",
        )
    found.command_line = command_line
    return found


def parser(only: str | None = None) -> Parser:
    """The whole grammar, or just that of one command."""
    whole = Parser(
        prog=PROGRAM,
        description="Background runs of agents and commands that survive editor and terminal.\n"
        "(sidecar serve is the server for editors: JSON-RPC on stdin and stdout.)",
        epilog=epilog(),
        formatter_class=Help,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=_version())
    commands = whole.add_subparsers(
        prog=PROGRAM, dest="command", metavar="COMMAND", required=True, parser_class=Parser
    )
    for name, (summary, describe) in COMMANDS.items():
        if only is not None and name != only:
            continue
        one = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog(),
            formatter_class=Help,
            allow_abbrev=False,
        )
        describe(one)
    return whole


def epilog() -> str:
    """The table of exit codes, as ``--help`` shows it."""
    rows = (f"  {code.ljust(_EPILOG_WIDTH)}{meaning}" for code, meaning in exits.TABLE)
    return "exit codes:\n" + "\n".join(rows)


def _split(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...] | None]:
    words = list(argv)
    if "--" not in words:
        return words, None
    cut = words.index("--")
    return words[:cut], tuple(words[cut + 1 :])


def _version() -> str:
    from sidecar import __version__

    return f"{PROGRAM} {__version__}"


# --- what several commands take ------------------------------------------------------------------


def _basics(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print one JSON document")
    directory = one.add_argument(
        "--state-dir", metavar="DIR", help="where runs are kept (default: SIDECAR_STATE_DIR)"
    )
    directory.complete = "directory"  # type: ignore[attr-defined]


def _any_session(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--any-session", action="store_true", help="act on runs of other sessions, too"
    )


def _run_id(one: argparse.ArgumentParser, nargs: str | None = None) -> None:
    words = "a run id, or a unique prefix of at least 4 characters"
    if nargs is None:
        one.add_argument("run", metavar="ID", help=words)
    else:
        one.add_argument("runs", metavar="ID", nargs=nargs, help=words)


# --- one function a command ----------------------------------------------------------------------


def _launch(one: argparse.ArgumentParser) -> None:
    _basics(one)
    one.usage = f"{PROGRAM} launch [options] (-- COMMAND [ARGUMENT ...] | --shell STRING)"
    one.add_argument("--shell", metavar="STRING", help="run this by /bin/sh -c")
    one.add_argument("--label", metavar="TEXT", help="what lists call the run")
    directory = one.add_argument("--cwd", metavar="DIR", help="where it works (default: here)")
    directory.complete = "directory"  # type: ignore[attr-defined]
    one.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="add to its environment"
    )
    one.add_argument("--timeout", metavar="TIME", help="end it after this time: 30s, 5m, 1h30m")
    prompt = one.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="give it this on its stdin")
    file = prompt.add_argument(
        "--prompt-file", metavar="FILE", help="give it this file on its stdin (-: our stdin)"
    )
    file.complete = "file"  # type: ignore[attr-defined]
    one.add_argument(
        "--token", metavar="TEXT", help="the same token in the same session is the same run"
    )
    one.add_argument(
        "--wait", action="store_true", help="wait for its end; the exit code mirrors it"
    )
    one.add_argument(
        "--follow", action="store_true", help="show its output as it comes, and wait for its end"
    )


def _list(one: argparse.ArgumentParser) -> None:
    _basics(one)
    scope = one.add_mutually_exclusive_group()
    scope.add_argument("--all", action="store_true", help="runs that are over, too")
    scope.add_argument(
        "--session", action="store_true", help="all runs of this session (SIDECAR_SESSION)"
    )
    one.add_argument(
        "--state", metavar="STATE", action="append", default=[], help="only runs in this state"
    )
    one.add_argument("--limit", metavar="N", type=int, help="at most so many, newest first")
    one.add_argument("--dismissed", action="store_true", help="dismissed runs, too")
    one.add_argument("--no-trunc", action="store_true", help="cut nothing off")
    one.add_argument("-q", "--quiet", action="store_true", help="whole ids only")


def _show(one: argparse.ArgumentParser) -> None:
    _basics(one)
    _run_id(one)


def _stop(one: argparse.ArgumentParser) -> None:
    _basics(one)
    _any_session(one)
    _run_id(one, "+")
    one.add_argument("--reason", metavar="TEXT", help="recorded with the run")
    grace = one.add_mutually_exclusive_group()
    grace.add_argument("--grace", metavar="TIME", help="from asking to killing (default: 3s)")
    grace.add_argument("--force", action="store_true", help="kill at once: no grace")
    one.add_argument(
        "--wait",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="wait until nothing of them is left",
    )


def _wait(one: argparse.ArgumentParser) -> None:
    _basics(one)
    _run_id(one, "*")
    one.add_argument("--any", action="store_true", help="until the first of them is over")
    one.add_argument("--timeout", metavar="TIME", help="wait no longer (default: 30m)")


def _logs(one: argparse.ArgumentParser) -> None:
    _basics(one)
    _run_id(one)
    one.add_argument("-f", "--follow", action="store_true", help="go on until the run is over")
    which = one.add_mutually_exclusive_group()
    which.add_argument("--stderr", action="store_true", help="its stderr instead of its stdout")
    which.add_argument("--both", action="store_true", help="both, each to our own")
    one.add_argument("--step", metavar="N", type=int, help="of this step (default: the last one)")
    start = one.add_mutually_exclusive_group()
    start.add_argument("--offset", metavar="N", type=int, help="from this byte on")
    start.add_argument("--tail", metavar="N", type=int, help="the last N lines")
    one.add_argument("--raw", action="store_true", help="control characters, too, on a terminal")


def _dismiss(one: argparse.ArgumentParser) -> None:
    _basics(one)
    _any_session(one)
    _run_id(one, "+")
    one.add_argument("--undo", action="store_true", help="show it in lists again")


def _remove(one: argparse.ArgumentParser) -> None:
    _basics(one)
    _any_session(one)
    _run_id(one, "+")


def _events(one: argparse.ArgumentParser) -> None:
    _basics(one)
    _run_id(one)
    one.add_argument("-f", "--follow", action="store_true", help="go on until the run is over")
    one.add_argument("--after", metavar="SEQ", type=int, default=0, help="only later ones")


def _result(one: argparse.ArgumentParser) -> None:
    _basics(one)
    _run_id(one)


def _agents(one: argparse.ArgumentParser) -> None:
    _basics(one)


def _doctor(one: argparse.ArgumentParser) -> None:
    _basics(one)
    one.add_argument("--repair", action="store_true", help="adopt runs that nobody leads")


def _completion(one: argparse.ArgumentParser) -> None:
    one.add_argument("shell", choices=SHELLS)


def _nothing(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print one JSON document")


Describe = Callable[[argparse.ArgumentParser], None]

COMMANDS: dict[str, tuple[str, Describe]] = {
    "launch": ("start a command in the background", _launch),
    "list": ("list runs, newest first", _list),
    "show": ("show everything about one run", _show),
    "logs": ("print a run's output", _logs),
    "wait": ("wait until runs are over", _wait),
    "stop": ("end runs, with everything that they started", _stop),
    "result": ("print what a run that is over answered", _result),
    "events": ("print what happened to a run", _events),
    "dismiss": ("hide runs that are over from lists", _dismiss),
    "remove": ("delete the files of runs that are over", _remove),
    "agents": ("list the agents that can be launched", _agents),
    "doctor": ("look for trouble on this machine and in the state directory", _doctor),
    "completion": ("print the completion script of a shell", _completion),
    "version": ("print the version", _nothing),
}
