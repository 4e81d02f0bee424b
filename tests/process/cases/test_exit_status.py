"""What happened is what is recorded: every code, every signal, and what could not be started."""

import sys
from pathlib import Path

from tests.support.each import each
from tests.support.serving import Servers, SidecarClient, cli

CODES = [0, 1, 2, 3, 42, 77, 100, 126, 127, 128, 129, 130, 137, 143, 254, 255]
SIGNALS = [1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15]

# Shells of some systems report 128 + n; the agent is not a shell, and the number is the kernel's.
KILL_SELF = "kill -{} $$; sleep 600"


def test_every_code(client: SidecarClient) -> None:
    run_ids = [client.launch(f"exit {code}")["runId"] for code in CODES]
    runs = client.wait_over(*run_ids)
    assert [run["steps"][0]["exitCode"] for run in runs] == CODES
    assert all("signal" not in run["steps"][0] for run in runs)
    assert [run["state"] for run in runs] == ["complete"] + ["failed"] * (len(CODES) - 1)
    assert {run["reason"] for run in runs[1:]} == {"exit-status"}


def test_every_signal(client: SidecarClient) -> None:
    run_ids = [client.launch(KILL_SELF.format(number))["runId"] for number in SIGNALS]
    runs = client.wait_over(*run_ids)
    assert [run["steps"][0]["signal"] for run in runs] == SIGNALS
    assert all("exitCode" not in run["steps"][0] for run in runs)
    assert {(run["state"], run["reason"]) for run in runs} == {("failed", "signal")}


def test_the_result_says_the_same_as_the_status(client: SidecarClient) -> None:
    for shell in ("exit 0", "exit 3", KILL_SELF.format(15)):
        run = client.run_to_end(shell)
        result = client.call("run/result", {"runId": run["runId"]})
        assert (result["state"], result["reason"]) == (run["state"], run["reason"])
        for name in ("exitCode", "signal"):
            assert result["steps"][0].get(name) == run["steps"][0].get(name)


def test_the_command_line_tells_the_same(state_dir: Path, servers: Servers) -> None:
    client = servers.connect()
    launched = cli(state_dir, "launch", "--", "sh", "-c", KILL_SELF.format(15))
    assert launched.returncode == 0, launched.stderr
    run = client.list(scope="all")[0]
    ended = client.wait_over(run["runId"])[0]
    assert (ended["state"], ended["steps"][0]["signal"]) == ("failed", 15)


def test_a_stop_is_no_failure(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    run = client.stop(run_id)
    assert (run["state"], run["steps"][0]["signal"]) == ("stopped", 15)
    assert "error" not in run


def test_a_report_of_an_error_and_a_good_code_are_both_kept(client: SidecarClient) -> None:
    said = '{"type":"result","subtype":"success","is_error":true}'
    good = client.run_to_end(f"echo '{said}'")
    bad = client.run_to_end(f"echo '{said}'; exit 1")
    assert (good["state"], good["steps"][0]["exitCode"]) == ("complete", 0)
    assert (bad["state"], bad["steps"][0]["exitCode"]) == ("failed", 1)
    assert client.text(good["runId"]) == client.text(bad["runId"]) == said + "\n"


@each("kind", ["missing", "not-executable", "no-interpreter", "directory"])
def test_what_cannot_be_started_says_why(client: SidecarClient, tmp_path: Path, kind: str) -> None:
    program = tmp_path / f"the {kind} program"
    match kind:
        case "not-executable":
            program.write_text("#!/bin/sh\n")
        case "no-interpreter":
            program.write_text("#!/no/such/interpreter\n")
            program.chmod(0o755)
        case "directory":
            program.mkdir()
        case _:
            pass
    run = client.run_to_end(command=[str(program)])
    assert (run["state"], run["reason"]) == ("failed", "spawn-failed")
    assert str(program) in run["error"]["message"]
    assert "pid" not in run["steps"][0]
    assert run["proof"]["state"] in ("not-started", "observed")
    # Whatever went wrong, the next one is not the worse for it.
    assert client.run_to_end("true")["state"] == "complete"


def test_a_name_that_is_nowhere_on_the_path(client: SidecarClient) -> None:
    run = client.run_to_end(command=["no-such-program-anywhere"])
    assert (run["state"], run["reason"]) == ("failed", "spawn-failed")
    assert "no-such-program-anywhere" in run["error"]["message"]


def test_a_program_is_found_on_the_path_of_the_launch(
    client: SidecarClient, tmp_path: Path
) -> None:
    (tmp_path / "my-program").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "my-program").chmod(0o755)
    run = client.run_to_end(command=["my-program"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert run["state"] == "complete", run
    assert client.text(run["runId"]) == "mine\n"


def test_ignored_child_signals_are_not_inherited(servers: Servers) -> None:
    # An editor that ignores SIGCHLD gives that to its server: children would vanish unseen.
    program = (
        "import os, signal, sys\n"
        "for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP, signal.SIGTERM):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})\n"
        "os.execvp(sys.argv[1], sys.argv[1:])\n"
    )
    client = servers.start(wrapper=[sys.executable, "-I", "-c", program])
    client.initialize()
    assert client.run_to_end("exit 3")["steps"][0]["exitCode"] == 3
    stopped = client.launch("exec sleep 600")["runId"]
    run = client.stop(stopped)
    assert (run["state"], run["steps"][0]["signal"]) == ("stopped", 15)
    seen = client.run_to_end("grep -E '^Sig(Ign|Blk)' /proc/self/status")
    # The C library keeps 32 and 33 for itself, and nobody can change them.
    masks = [int(line.split()[1], 16) for line in client.text(seen["runId"]).splitlines()]
    assert [mask & 0x7FFF_FFFF for mask in masks] == [0, 0], client.text(seen["runId"])
