"""An agent whose process name breaks naive readers of /proc: a blank and an open bracket.

Usage: odd_name.py. Prints what the kernel calls it, reads its input to the end, exits with 0.
"""

import sys
from pathlib import Path

NAME = Path("/proc/self/comm")

NAME.write_text("my (agent) S 1")
print(NAME.read_text().strip(), flush=True)
sys.stdin.read()
