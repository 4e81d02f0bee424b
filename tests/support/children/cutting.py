"""A server that dies when it has done what it was asked, and before it says so; once.

cutting.py METHOD FLAG COMMAND...     FLAG is a file that is made when it happens; if it is there
                                      already, this is COMMAND and nothing else
"""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.support.framing import Frames, decode, frame


def main(method: str, flag: Path, command: list[str]) -> None:
    """Stand between a client and its server until the answer to ``method`` comes."""
    if flag.exists():
        os.execvp(command[0], command)  # noqa: S606 - it is given as words
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    asked: set[Any] = set()
    threading.Thread(target=pass_on, args=(server, method, asked), daemon=True).start()
    assert server.stdout is not None
    frames = Frames()
    while data := os.read(server.stdout.fileno(), 65536):
        for body in frames.feed(data):
            message = decode(body)
            if message.get("id") in asked and "method" not in message:
                flag.touch()
                server.kill()
                os._exit(9)
            sys.stdout.buffer.write(frame(body))
            sys.stdout.buffer.flush()
    os._exit(server.wait())


def pass_on(server: "subprocess.Popen[bytes]", method: str, asked: set[Any]) -> None:
    """Hand the client's messages to the server, keeping the ids of what will not be answered."""
    assert server.stdin is not None
    frames = Frames()
    while data := os.read(0, 65536):
        for body in frames.feed(data):
            message = decode(body)
            if message.get("method") == method:
                asked.add(message["id"])
            server.stdin.write(frame(body))
            server.stdin.flush()
    server.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
