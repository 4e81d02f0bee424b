"""The program: chooses a face, nothing else.

``sidecar serve`` is the server, everything else the command line; neither imports the other.
"""

import os
import sys


def main() -> int:
    """Run what the words ask for; the exit code."""
    argv = sys.argv[1:]
    if os.name != "posix":
        sys.stderr.write(
            "sidecar: not on this system: runs are owned by means that only POSIX systems have\n"
            "  hint: use it inside WSL or a container\n"
        )
        return 1
    if argv[:1] == ["serve"]:
        from sidecar.server import app

        return app.main(argv[1:])
    try:
        from sidecar.cli import main as command_line

        return command_line.main(argv, os.environ)
    except KeyboardInterrupt:  # while it was still being imported
        return 130


if __name__ == "__main__":
    sys.exit(main())
