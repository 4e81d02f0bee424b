"""One call of the command line: what was asked, and what a command needs to do it.

A command is a function from an ``Invocation`` to an exit code.  What costs time (the context, the
session of the directory) is made when it is first asked for.

This module must never decide what a command does.
"""

import os
from argparse import Namespace
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sidecar.cli import clock
from sidecar.cli.terminal import Terminal
from sidecar.core.errors import InvalidParams

if TYPE_CHECKING:
    from sidecar.control.context import Context, Snapshot
    from sidecar.settings import Settings

CLIENT = "sidecar-cli"


class Invocation:
    """What was asked (``words``), whom to tell (``terminal``), and the means (``context``)."""

    def __init__(self, words: Namespace, terminal: Terminal, environ: Mapping[str, str]) -> None:
        self.words = words
        self.terminal = terminal
        self._environ = environ

    @property
    def wants_json(self) -> bool:
        """Whether one JSON document is wanted in place of text for people."""
        return bool(getattr(self.words, "json", False))

    @cached_property
    def settings(self) -> "Settings":
        """What the environment and ``--state-dir`` say.  Raises ``InvalidParams``."""
        from sidecar.settings import from_environment

        return from_environment(self._environ, state_dir=self.words.state_dir)

    @cached_property
    def cwd(self) -> str:
        """The working directory, absolute.  Raises ``InvalidParams`` if it was deleted."""
        try:
            return os.getcwd()
        except OSError as exc:
            raise InvalidParams(
                "the working directory does not exist any more", hint="go to one that does"
            ) from exc

    @cached_property
    def context(self) -> "Context":
        """What operations need; nothing is made on disk."""
        from sidecar.control.context import Caller, Context
        from sidecar.settings import session_of
        from sidecar.store.layout import Layout

        return Context(
            layout=Layout(self.settings.state_dir),
            caller=Caller(session_id=session_of(self.settings, self.cwd), client=CLIENT),
            base_env=self.settings.base_env,
            runner_env=self.settings.runner_env,
            parent_run_id=self.settings.parent_run_id,
            now_ms=clock.now_ms,
            random_bytes=os.urandom,
        )

    def print_document(self, value: dict[str, Any]) -> None:
        """Prints ``value`` as JSON: on one line, or for a person on several."""
        from sidecar.cli import document

        out = self.terminal.out
        out.write_bytes(document.encode(value, indent=out.is_terminal))

    def print_run(self, snapshot: "Snapshot") -> None:
        """Prints one run as JSON."""
        from sidecar.cli import document

        self.print_document({"run": document.of_run(snapshot)})
