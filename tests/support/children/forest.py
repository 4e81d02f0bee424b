"""An agent with every kind of descendant: plain, deep, in sessions of their own, daemons, nameless.

Usage: forest.py MARK [WIDTH]. MARK is found in the command line of each process, for the test to
count them; WIDTH (default 3) is how many of each kind. Prints the number of processes, then waits.
"""

import os
import subprocess
import sys
import time

MARK = sys.argv[1]
WIDTH = int(sys.argv[2]) if len(sys.argv) > 2 else 3
SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", MARK]
NULL = subprocess.DEVNULL


def daemon(env: dict[str, str]) -> None:
    """Fork twice with a session between, so that the parent of the last is nobody we know."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execve(sys.executable, SLEEP, env)  # noqa: S606


def deep(left: int) -> None:
    """A chain of processes, each the only child of the one before."""
    if os.fork():
        return
    if left:
        deep(left - 1)
    os.execv(sys.executable, SLEEP)  # noqa: S606


for _ in range(WIDTH):
    subprocess.Popen(SLEEP, stdin=NULL, stdout=NULL, stderr=NULL)
    subprocess.Popen(SLEEP, stdin=NULL, stdout=NULL, stderr=NULL, start_new_session=True)
    daemon(dict(os.environ))
    daemon({})
deep(2)
print(1 + WIDTH * 4 + 3, flush=True)
time.sleep(600)
