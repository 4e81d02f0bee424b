"""An agent that saves its work when it is asked to end, and takes its time for it.

Usage: saves.py FILE. Prints "ready"; on TERM writes "saved" into FILE and exits with 0.
"""

import signal
import sys
import time
from pathlib import Path


def save(*_: object) -> None:
    """Save slowly enough for an impatient supervisor to spoil it."""
    time.sleep(0.3)
    Path(sys.argv[1]).write_text("saved")
    sys.exit(0)


signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
while True:
    signal.pause()
