"""Measures what the main job promises, as ratios to baselines of the same run: ``main_job.py``.

1. **Status writes**: 100,000 lines in ten seconds; renames onto status.json, counted by inotify.
2. **The ending**: from the agent's last instruction to the terminal notification on the client's
   pipe; beside it, how long a bare parent takes to see the same child go.

Prints a table and, with ``--json FILE``, writes the figures.  It is no test: nothing fails here.
"""

import argparse
import ctypes
import ctypes.util
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

IN_MOVED_TO = 0x80
FLOOD = """
import sys, time
begin = time.monotonic()
for n in range(100):
    sys.stdout.write("".join(f'{{"type":"event","n":{n * 1000 + i}}}\\n' for i in range(1000)))
    sys.stdout.flush()
    time.sleep(max(0, begin + (n + 1) / 10 - time.monotonic()))
"""
LIVED_S = 0.4
LAST_WORDS = f"import time; time.sleep({LIVED_S}); print(time.time_ns(), flush=True)"


class Client:
    """The least that speaks to a server: requests, and every message with its time of arrival."""

    def __init__(self, state_dir: str) -> None:
        command = [sys.executable, "-m", "sidecar", "serve"]
        env = {**os.environ, "SIDECAR_STATE_DIR": state_dir}
        self._proc = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        )
        self._stdin = cast(IO[bytes], self._proc.stdin)
        self._stdout = cast(IO[bytes], self._proc.stdout)
        self._id = 0
        self.request("initialize", {"processId": os.getpid(), "capabilities": {}})
        self._send({"method": "initialized", "params": {}})

    def request(self, method: str, params: object) -> dict[str, Any]:
        """The result; what comes before it is passed over."""
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        for _, message in self.messages():
            if message.get("id") == self._id and "method" not in message:
                return dict(message["result"] or {})
        raise ConnectionError(method)

    def launch(self, *command: str) -> str:
        """The id of a new run."""
        step = {"agent": "command", "command": command}
        return str(self.request("run/launch", {"step": step})["run"]["runId"])

    def end_of(self, run_id: str) -> tuple[int, dict[str, Any]]:
        """When (ns since the epoch) and how the run was told to be over."""
        for at, message in self.messages():
            run = message.get("params", {}).get("run", {})
            if run.get("runId") == run_id and run["state"] in {"complete", "failed", "stopped"}:
                return at, run
        raise ConnectionError(run_id)

    def messages(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every message with the time of its arrival, ns since the epoch."""
        pipe = self._stdout
        while header := pipe.readline():
            if not header.lower().startswith(b"content-length"):
                continue
            while pipe.readline() != b"\r\n":
                pass
            body = pipe.read(int(header.split(b":")[1]))
            yield time.time_ns(), json.loads(body)

    def close(self) -> None:
        """End the server."""
        self.request("shutdown", None)
        self._send({"method": "exit"})
        self._proc.wait()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._stdin.flush()


class Renames(threading.Thread):
    """Counts renames onto one name in a directory.

    A thread, since the kernel merges equal events that nobody has read yet (inotify(7)).
    """

    def __init__(self, directory: str, name: str) -> None:
        super().__init__(daemon=True)
        libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
        self._fd = libc.inotify_init1(os.O_CLOEXEC)
        libc.inotify_add_watch(self._fd, directory.encode(), IN_MOVED_TO)
        self._name = name.encode()
        self.count = 0
        self.start()

    def run(self) -> None:
        """Read for ever; the process's end ends it."""
        while data := os.read(self._fd, 1 << 20):
            while data:
                length = struct.unpack_from("iIII", data)[3]
                self.count += data[16 : 16 + length].rstrip(b"\0") == self._name
                data = data[16 + length :]


def status_writes(client: Client, state_dir: str) -> dict[str, float]:
    """100,000 lines in ten seconds: renames of status.json, and whether all lines arrived."""
    run_id = client.launch(sys.executable, "-c", FLOOD)
    run_dir = f"{state_dir}/runs/{run_id}"
    renames = Renames(run_dir, "status.json")
    client.end_of(run_id)
    log = Path(run_dir, "steps/0/1/stdout.log").read_bytes()
    return {"lines": log.count(b"\n"), "status writes": renames.count}


def endings(client: Client, state_dir: str, n_runs: int) -> dict[str, float]:
    """Milliseconds from a child's last words to the news of its end, ours and a bare parent's."""
    told, seen = [], []
    for _ in range(n_runs):
        run_id = client.launch(sys.executable, "-I", "-S", "-c", LAST_WORDS)
        at, _ = client.end_of(run_id)
        words = Path(state_dir, f"runs/{run_id}/steps/0/1/stdout.log").read_bytes()
        told.append((at - int(words)) / 1e6)
        bare = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LAST_WORDS], stdout=subprocess.PIPE
        )
        words = bare.communicate()[0]
        seen.append((time.time_ns() - int(words)) / 1e6)
    ours, floor = statistics.median(told), statistics.median(seen)
    return {
        "told ms, median": round(ours, 2),
        "told ms, worst": round(max(told), 2),
        "bare parent ms, median": round(floor, 2),
        "ratio": round(ours / floor, 1),
    }


def main() -> None:
    """Run all, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50, help="endings to measure")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as state_dir:
        client = Client(state_dir)
        found = {
            "100,000 lines in 10 s": status_writes(client, state_dir),
            "the ending": endings(client, state_dir, options.runs),
        }
        client.close()
    for title, figures in found.items():
        print(title)
        for name, value in figures.items():
            print(f"  {name:26} {value:>12,}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
