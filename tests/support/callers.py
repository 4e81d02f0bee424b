"""A caller of ``control`` with a real state directory, and a stand-in where runners would start.

The stand-in keeps a copy of the lease, as a runner does, and plays a run's events into its real
directory: what readers see is what a runner would have written, without a process.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sidecar.control.context import Caller, Context
from sidecar.control.launch import Launched, launch
from sidecar.core import lifecycle
from sidecar.core.asked import Asked
from sidecar.core.effects import AppendEvent, StoreResult
from sidecar.core.events import (
    AgentExited,
    AgentSpawned,
    Event,
    OutputDrained,
    ResultStored,
    RunnerStarted,
    TreeEnded,
)
from sidecar.core.ids import ProcId
from sidecar.core.plan import Mode, StepRequest
from sidecar.core.result import RunResult
from sidecar.core.states import AgentExit, Proof, ProofState, Run, run_proof
from sidecar.store import markers
from sidecar.store.layout import Layout
from sidecar.store.lease import Lease
from sidecar.store.rundir import LeasedRunDir

NOW = 1_700_000_000_000
SESSION = "here"
OBSERVED = Proof(state=ProofState.OBSERVED, mechanism="subreaper", verified_at=NOW, killed=0)
UNKNOWN = Proof(state=ProofState.UNKNOWN, reason="warden-lost")
NOBODY = ProcId(pid=1, start_ticks=1, boot_id="boot")


class Clock:
    """A wall clock that moves one millisecond with every look."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        """Look."""
        self.now += 1
        return self.now


@dataclass(slots=True)
class StandIn:
    """Stands in for ``procs.spawn``: starts nobody, and remembers whom it was to start.

    ``refuses`` is raised in place of a start.  ``ended`` are the pids that ``reap`` finds over;
    ``asked_about`` those it was asked about.
    """

    runners: dict[str, "Runner"] = field(default_factory=dict)
    adopted: list[str] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)
    asked_about: list[int] = field(default_factory=list)
    environments: list[dict[str, str]] = field(default_factory=list)
    refuses: BaseException | None = None
    clock: Clock = field(default_factory=Clock)

    def spawn_runner(self, run_dir: str, lease_fd: int, env: Mapping[str, str]) -> int:
        """Take a copy of the lease."""
        if self.refuses is not None:
            raise self.refuses
        self.environments.append(dict(env))
        run_id = Path(run_dir).name
        self.runners[run_id] = Runner(run_dir, Lease.inherit(os.dup(lease_fd)))
        return 1_000_000 + len(self.runners)

    def spawn_adopter(self, run_dir: str, env: Mapping[str, str]) -> int:
        """Remember it."""
        if self.refuses is not None:
            raise self.refuses
        self.adopted.append(Path(run_dir).name)
        return 2_000_000 + len(self.adopted)

    def reap(self, pid: int) -> int | None:
        """Say what the test says."""
        self.asked_about.append(pid)
        return 0 if pid in self.ended else None


class Runner:
    """The leader of one run, as far as its files go."""

    def __init__(self, run_dir: str, lease: Lease) -> None:
        self._lease = lease
        self._dir = LeasedRunDir(run_dir, lease)
        self.run: Run = self._dir.read_status()

    def feed(self, *events: Event) -> Run:
        """Let events happen, and write what follows from them."""
        for event in events:
            self.run, effects = lifecycle.step(self.run, event, NOW + self.run.seq)
            for effect in effects:
                if isinstance(effect, AppendEvent):
                    self._dir.append(effect.recorded)
                if isinstance(effect, StoreResult):
                    self._store(effect)
        self._dir.write_status(self.run, durable=False)
        return self.run

    def start(self) -> Run:
        """Get as far as a running agent."""
        return self.feed(
            RunnerStarted(runner=NOBODY, adopted=False),
            AgentSpawned(step=0, attempt=1, agent=NOBODY),
        )

    def write(self, stream: str, data: bytes) -> None:
        """Let the agent print."""
        with (Path(self._dir.path) / "steps" / "0" / "1" / f"{stream}.log").open("ab") as log:
            log.write(data)

    def end(self, code: int = 0, proof: Proof = OBSERVED, *, complete: bool = True) -> Run:
        """Let a running agent exit, and the run be over; the lease falls."""
        self.feed(
            AgentExited(step=0, attempt=1, exit=AgentExit(code=code)),
            OutputDrained(
                step=0, attempt=1, stdout_bytes=0, stderr_bytes=0, complete=complete, preview=""
            ),
            TreeEnded(step=0, attempt=1, proof=proof),
        )
        outcome = self.run.outcome
        assert outcome is not None
        self.feed(ResultStored(outcome=outcome))
        if run_proof(self.run).state is ProofState.OBSERVED:
            markers.remove(Layout(str(Path(self._dir.path).parents[1])), self.run.run_id)
        self.vanish()
        return self.run

    def vanish(self) -> None:
        """Die: the lease falls, and nothing is written."""
        self._dir.close()
        self._lease.release()

    def _store(self, effect: StoreResult) -> None:
        self._dir.write_result(
            RunResult(
                run_id=self.run.run_id,
                outcome=effect.outcome,
                ended_at=NOW,
                duration_ms=0,
                proof=run_proof(self.run),
                steps=(),
            )
        )


def context(
    state_dir: Path | str,
    *,
    spawner: StandIn | None = None,
    session: str = SESSION,
    env: Mapping[str, str] | None = None,
    parent_run_id: str | None = None,
) -> Context:
    """A caller in ``session``; give the same ``spawner`` (with its clock) to several."""
    spawner = spawner or StandIn()
    return Context(
        layout=Layout(str(state_dir)),
        caller=Caller(session_id=session, client="test"),
        base_env=tuple((env or {"HOME": "/home/nobody", "PATH": "/bin"}).items()),
        runner_env={"PATH": "/bin"},
        parent_run_id=parent_run_id,
        now_ms=spawner.clock,
        random_bytes=os.urandom,
        spawner=spawner,
    )


def asked(**changes: object) -> Asked:
    """A launch of ``true`` in ``/``, changed as given; what belongs to the step is put there."""
    step = {name: changes.pop(name) for name in list(changes) if name in STEP_FIELDS}
    step.setdefault("agent", "command")
    if not {"command", "shell"} & set(step):
        step["command"] = ("true",)
    if "step_cwd" in changes:
        step["cwd"] = changes.pop("step_cwd")
    if "step_env" in changes:
        step["env"] = changes.pop("step_env")
    changes.setdefault("cwd", "/")
    changes.setdefault("mode", Mode.SINGLE)
    changes.setdefault("steps", (StepRequest(**step),))  # type: ignore[arg-type]
    return Asked(**changes)  # type: ignore[arg-type]


STEP_FIELDS = frozenset({"agent", "prompt", "command", "shell"})


def launched(ctx: Context, **changes: object) -> tuple[Launched, Runner]:
    """Launch with a stand-in; the run and its leader."""
    made = launch(ctx, asked(**changes))
    assert isinstance(ctx.spawner, StandIn)
    return made, ctx.spawner.runners[made.snapshot.run.run_id]


def left_in(state_dir: Path) -> set[str]:
    """What lies in the folders where runs leave something."""
    return {
        f"{folder}/{entry.name}"
        for folder in ("active", "runs", "staging")
        if (state_dir / folder).is_dir()
        for entry in (state_dir / folder).iterdir()
    }
