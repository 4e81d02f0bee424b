"""An agent in whose tree processes end all the time, and thirty have ended and were not collected.

Usage: zombies.py FILE. Goes on until FILE exists, then exits with 0.
"""

import contextlib
import os
import sys
import time

for _ in range(30):
    if os.fork() == 0:
        os._exit(0)
print("thirty are dead", flush=True)
while not os.path.exists(sys.argv[1]):  # noqa: PTH110
    if os.fork() == 0:
        os._exit(0)
    time.sleep(0.01)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
