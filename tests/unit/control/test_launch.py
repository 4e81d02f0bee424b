"""Launching: the run is whole when it is answered, and nothing is left when it is refused."""

import errno
import os
from pathlib import Path

import pytest

from sidecar.control.launch import launch
from sidecar.core.errors import (
    AgentUnavailable,
    InvalidParams,
    SidecarError,
    SpawnRefused,
    StorageError,
)
from sidecar.core.ids import new_run_id
from sidecar.core.plan import Mode, StepRequest
from sidecar.core.states import RunState
from sidecar.procs import order
from sidecar.store import attempts, markers, staging
from sidecar.store.doorbell import Bell
from sidecar.store.layout import Layout, open_state_dir
from sidecar.store.lease import Holding, Lease, probe
from sidecar.store.rundir import LeasedRunDir, RunDir
from tests.support.callers import StandIn, asked, context, launched, left_in

GIVEN = "01890a5d-ac96-774b-bcce-b302099a8057"


def test_a_launched_run_is_durable_marked_visible_and_held(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, _ = launched(ctx, command=("echo", "a b"), prompt="hello", label="mine")
    run = made.snapshot.run
    assert made.created
    assert (run.state, run.seq, run.label, run.session_id) == (RunState.QUEUED, 1, "mine", "here")
    run_dir = RunDir(ctx.layout.run_dir(run.run_id))
    assert run_dir.read_current() == run
    assert markers.active_ids(ctx.layout) == [run.run_id]
    assert left_in(state_dir) == {f"active/{run.run_id}", f"runs/{run.run_id}"}
    # Ours is closed: only the runner's copy holds it.
    assert probe(run_dir.path) is Holding.HELD


def test_the_lease_falls_with_the_runner_alone(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.vanish()
    assert probe(ctx.layout.run_dir(made.snapshot.run.run_id)) is Holding.FREE


def test_the_order_of_the_first_attempt(state_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "two words").mkdir()
    ctx = context(state_dir, env={"HOME": "/h", "CLAUDECODE": "1", "A": "base", "B": "base"})
    made, _ = launched(
        ctx,
        command=("a b", "", "*"),
        prompt="hello",
        cwd=str(tmp_path),
        step_cwd="two words",
        env=(("B", "launch"), ("C", "launch")),
        step_env=(("C", "step"),),
    )
    run_id = made.snapshot.run.run_id
    attempt = Path(ctx.layout.run_dir(run_id)) / "steps" / "0" / "1"
    argv, env, cwd, stdin = order.decode((attempt / "spawn").read_bytes())
    assert argv == [b"a b", b"", b"*"]
    assert dict(pair.split(b"=", 1) for pair in env) == {
        b"HOME": b"/h",
        b"A": b"base",
        b"B": b"launch",
        b"C": b"step",
        b"SIDECAR_RUN_ID": run_id.encode(),
        b"SIDECAR_SESSION": b"here",
        b"SIDECAR_STATE_DIR": os.fsencode(state_dir),
    }
    assert cwd == os.fsencode(tmp_path / "two words")
    assert (stdin, (attempt / "stdin").read_bytes()) == ("file", b"hello")


def test_secrets_are_in_the_request_alone(state_dir: Path) -> None:
    ctx = context(state_dir, env={"KEY": "s3cret-base"})
    made, _ = launched(ctx, prompt="s3cret-prompt", env=(("K", "s3cret-env"),))
    run_dir = Path(ctx.layout.run_dir(made.snapshot.run.run_id))
    holding = {
        str(path.relative_to(run_dir))
        for path in run_dir.rglob("*")
        if path.is_file() and b"s3cret" in path.read_bytes()
    }
    assert holding == {"request.json", "steps/0/1/spawn", "steps/0/1/stdin"}
    assert "s3cret" not in repr(ctx)


def test_everything_is_private_whatever_the_umask(state_dir: Path) -> None:
    before = os.umask(0)
    try:
        launched(context(state_dir), prompt="x", client_token="t")
    finally:
        os.umask(before)
    loose = [path for path in state_dir.rglob("*") if path.lstat().st_mode & 0o077]
    assert loose == []


def test_the_runner_gets_its_own_small_environment(state_dir: Path) -> None:
    spawner = StandIn()
    launched(context(state_dir, spawner=spawner, env={"KEY": "secret"}))
    assert spawner.environments == [{"PATH": "/bin"}]


def test_whoever_listens_is_told(state_dir: Path) -> None:
    bell = Bell(open_state_dir(str(state_dir)))
    try:
        made, _ = launched(context(state_dir))
        rings = [(ring.kind, ring.run_id) for ring in bell.receive()]
    finally:
        bell.close()
    assert rings == [("status", made.snapshot.run.run_id)]


def test_an_environment_that_is_not_utf_8_reaches_the_agent(state_dir: Path) -> None:
    ctx = context(state_dir, env={"NAME": "caf\udce9"})
    made, _ = launched(ctx)
    run_dir = RunDir(ctx.layout.run_dir(made.snapshot.run.run_id))
    assert ("NAME", "caf\udce9") in run_dir.read_request().env
    order_file = Path(run_dir.path) / "steps" / "0" / "1" / "spawn"
    assert b"NAME=caf\xe9" in order.decode(order_file.read_bytes())[1]


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"cwd": "relative"}, "cwd"),
        ({"cwd": ""}, "cwd"),
        ({"cwd": "/no/such/directory"}, "cwd"),
        ({"cwd": "/etc/passwd"}, "cwd"),
        ({"cwd": "/etc/passwd/below"}, "cwd"),
        ({"cwd": "/a\0b"}, "cwd"),
        ({"cwd": "/\ud800"}, "cwd"),
        ({"cwd": "~somebody/x"}, "cwd"),
        ({"cwd": "~/no/such"}, "cwd"),
        ({"step_cwd": "no-such"}, "step.cwd"),
        ({"step_cwd": "/etc/passwd"}, "step.cwd"),
        ({"mode": Mode.CHAIN}, "chain"),
        ({"mode": Mode.PARALLEL}, "parallel"),
        ({"steps": ()}, "step"),
        ({"steps": (StepRequest(agent="command", command=("a",)),) * 2}, "step"),
        ({"command": ()}, "step.command"),
        ({"command": ("a\0b",)}, "step.command[0]"),
        ({"shell": " "}, "step.shell"),
        ({"label": "x" * 201}, "label"),
        ({"env": (("A=B", "x"),)}, "env.A=B"),
        ({"run_id": "../../etc"}, "runId"),
        ({"run_id": GIVEN.upper()}, "runId"),
        ({"session_id": ""}, "sessionId"),
        ({"client_token": ""}, "clientToken"),
        ({"timeout_ms": 0}, "timeoutMs"),
        ({"parent_run_id": "x"}, "parentRunId"),
        ({"meta": {"not json": object()}}, "_meta"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    state_dir: Path, changes: dict[str, object], field: str
) -> None:
    spawner = StandIn()
    with pytest.raises(InvalidParams) as refused:
        launch(context(state_dir, spawner=spawner), asked(**changes))
    assert refused.value.field == field
    assert left_in(state_dir) == set()
    assert spawner.runners == {}


def test_an_agent_that_there_is_not(state_dir: Path) -> None:
    with pytest.raises(AgentUnavailable) as refused:
        launch(context(state_dir), asked(agent="no-such", command=None, prompt="x"))
    assert refused.value.field == "step.agent"
    assert left_in(state_dir) == set()


@pytest.mark.parametrize("env", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_a_home_that_nobody_knows_is_refused(state_dir: Path, env: dict[str, str]) -> None:
    with pytest.raises(InvalidParams) as refused:
        launch(context(state_dir, env=env or {"PATH": "/bin"}), asked(cwd="~/x"))
    assert refused.value.field == "cwd"


def test_a_home_that_is_known_is_used(state_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    ctx = context(state_dir, env={"HOME": str(tmp_path)})
    assert launched(ctx, cwd="~/x")[0].snapshot.run.cwd == str(tmp_path / "x")
    assert launched(ctx, cwd="~")[0].snapshot.run.cwd == str(tmp_path)


def test_a_directory_comes_back_as_it_was_given(state_dir: Path, tmp_path: Path) -> None:
    for name in ("two words", "'quoted'", "tab\there", "ümläut"):
        (tmp_path / name).mkdir()
        made, _ = launched(context(state_dir), cwd=str(tmp_path / name))
        assert made.snapshot.run.cwd == str(tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path / "two words")
    assert launched(context(state_dir), cwd=f"{tmp_path}/link")[0].snapshot.run.cwd == (
        f"{tmp_path}/link"
    )


def test_without_a_directory_it_is_that_of_the_process(
    state_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert launched(context(state_dir), cwd=None)[0].snapshot.run.cwd == str(tmp_path)


def test_a_state_directory_that_cannot_be_made_is_told_before_an_id_exists() -> None:
    with pytest.raises(StorageError) as refused:
        launch(context("/dev/null/state"), asked(run_id=GIVEN))
    assert refused.value.errno_name == "ENOTDIR"
    assert "/dev/null" in refused.value.message


# --- failures on the way: nothing is left --------------------------------------------------------

STEPS: list[tuple[object, str]] = [
    (staging, "stage"),
    (LeasedRunDir, "write_request"),
    (LeasedRunDir, "append"),
    (LeasedRunDir, "write_status"),
    (LeasedRunDir, "make_attempt"),
    (attempts, "write_order"),
    (staging, "commit"),
    (markers, "add"),
    (Lease, "create"),
]


@pytest.mark.parametrize(("owner", "name"), STEPS, ids=[name for _, name in STEPS])
def test_a_refusal_of_the_system_at_any_step_leaves_nothing(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise StorageError("cannot", errno_name="ENOSPC")

    monkeypatch.setattr(owner, name, refuse)
    with pytest.raises(StorageError):
        launch(context(state_dir), asked(prompt="x", client_token="t"))
    assert left_in(state_dir) == set()
    monkeypatch.undo()
    # And the token is free again: the retry is a launch.
    assert launched(context(state_dir), prompt="x", client_token="t")[0].created


def test_a_rename_that_the_system_refuses_leaves_nothing(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def refuse(source: str, target: str, **kwargs: int) -> None:
        if "/runs/" in str(target):
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        rename(source, target, **kwargs)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StorageError) as refused:
        launch(context(state_dir), asked())
    assert refused.value.errno_name == "EDQUOT"
    assert left_in(state_dir) == set()


def test_a_runner_that_cannot_be_started_takes_the_run_back(state_dir: Path) -> None:
    spawner = StandIn(refuses=SpawnRefused("no processes left"))
    ctx = context(state_dir, spawner=spawner)
    for _ in range(20):
        with pytest.raises(SpawnRefused):
            launch(ctx, asked(client_token="t", prompt="x"))
    assert left_in(state_dir) == set()
    spawner.refuses = None
    assert launched(ctx, client_token="t")[0].created


def test_an_interrupt_after_the_commit_leaves_a_run_that_can_be_adopted(state_dir: Path) -> None:
    # Whether a runner was started is not known then: taking the run from under it would be worse.
    spawner = StandIn(refuses=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        launch(context(state_dir, spawner=spawner), asked(run_id=GIVEN))
    assert left_in(state_dir) == {f"active/{GIVEN}", f"runs/{GIVEN}"}
    assert probe(str(state_dir / "runs" / GIVEN)) is Holding.FREE


def test_no_descriptor_is_left_open(state_dir: Path) -> None:
    spawner = StandIn(refuses=SpawnRefused("no"))

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def fail(ctx_changes: dict[str, object]) -> None:
        with pytest.raises(SidecarError):
            launch(context(state_dir, spawner=spawner), asked(**ctx_changes))

    fail({"client_token": "t"})
    before = descriptors()
    for _ in range(5):
        fail({"client_token": "t"})
        fail({"cwd": "no"})
        fail({"run_id": "no"})
    assert descriptors() == before


def test_ids_of_runs_launched_later_sort_later(state_dir: Path) -> None:
    ctx = context(state_dir)
    made = [launched(ctx)[0].snapshot.run.run_id for _ in range(3)]
    assert made == sorted(made)
    assert len(set(made)) == 3
    assert new_run_id(0, b"\xff" * 10) < made[0]


def test_the_layout_is_made_where_it_is_missing(tmp_path: Path) -> None:
    made, _ = launched(context(tmp_path / "not" / "yet"))
    assert markers.active_ids(Layout(f"{tmp_path}/not/yet")) == [made.snapshot.run.run_id]
