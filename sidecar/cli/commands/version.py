"""``sidecar version``: which version this is; never looks at any run."""

from sidecar import __version__
from sidecar.cli import exits
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import line


def run(invocation: Invocation) -> int:
    """Prints the version."""
    if invocation.wants_json:
        invocation.print_document({"version": __version__})
    else:
        invocation.terminal.out.say(line(f"sidecar {__version__}"))
    return exits.DONE
