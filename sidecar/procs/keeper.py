"""The warden's life once the agent runs: collect, tell, end the tree, outlive the runner.

While its runner lives the warden decides nothing: leftovers of an agent that has exited stay until
the runner says ``end``. When the socket ends without ``bye`` the runner has vanished; then the
warden ends the tree, completes the logs, records the proof and starts an adopter, in this order.

It must never write a status, a result or an event: those belong to whoever holds the lease. It
imports only what the boot path may.
"""

import posix
import select

from sidecar.core import policy
from sidecar.procs import clock, scopes, tree
from sidecar.procs.drain import STORAGE_PATIENCE_MS, Drain
from sidecar.procs.telling import Teller

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from sidecar.procs.lines import ProofObserved, ProofUnknown
else:
    import _signal

_ADOPT_TRIES = 10
_ADOPT_PAUSE_MS = 200


class Keeper:
    """Keeps one attempt: ``keep`` returns when nobody needs this warden any more."""

    def __init__(
        self,
        teller: Teller,
        drain: Drain,
        adopt_argv: list[str],
        agent: "tuple[int, int | None] | None",
        scope: scopes.Scope | None,
    ) -> None:
        """Take over after the spawn; ``agent`` (pid, start ticks) and ``scope`` if it succeeded."""
        self._teller = teller
        self._drain = drain
        self._adopt_argv = adopt_argv
        self._agent = agent
        self._scope = scope
        self._has_exited = False
        self._ending: tree.TreeEnding | None = None
        self._proof: ProofObserved | ProofUnknown | None = None
        self._is_proof_told = False
        self._is_bye_said = False
        self._has_vanished = False
        self._is_over = False
        self._wake_at: int | None = None
        self._behind_since: int | None = None
        self._wakeup_fd, wakeup_write_fd = posix.pipe()
        for fd in (self._wakeup_fd, wakeup_write_fd):
            posix.set_blocking(fd, False)
        _signal.set_wakeup_fd(wakeup_write_fd, warn_on_full_buffer=False)
        # What exited before this line left no signal, but it is collected by the first turn.
        _signal.signal(_signal.SIGCHLD, _wake_up)

    def keep(self) -> None:
        """Serve until ``bye``, or until everything is done that follows the runner's vanishing."""
        while not self._is_over:
            self._turn(clock.now_ms())

    def _turn(self, now_ms: int) -> None:
        self._wake_at = None
        self._collect()
        self._end(now_ms)
        self._tell_proof()
        self._keep_record(now_ms)
        if self._has_vanished:
            self._clear_up(now_ms)
        elif self._is_bye_said and self._is_settled():
            self._is_over = True
        if not self._is_over:
            self._wait(now_ms)

    def _is_settled(self) -> bool:
        return self._scope is None or self._proof is not None

    def _collect(self) -> None:
        """Reap; tell the agent's exit, and the proof as soon as the kernel gives it."""
        if self._scope is None or self._agent is None:
            return
        is_empty = self._scope.reap()
        exits, self._scope.exits = self._scope.exits, []
        for pid, status in exits:
            if pid == self._agent[0] and not self._has_exited:
                self._has_exited = True
                how, number = tree.exit_of(status)
                self._teller.tell(("exited", how, number, clock.wall_ms()), durable=True)
        if is_empty and self._has_exited and (self._proof is None or self._proof[1] != "observed"):
            killed = self._ending.killed if self._ending else 0
            mechanism = self._scope.mechanism
            self._proof = ("proof", "observed", mechanism, killed, clock.wall_ms())
            self._is_proof_told = False

    def _end(self, now_ms: int) -> None:
        """Go down the ladder, if there is one; what it cannot prove is a finding too."""
        if self._ending is None or self._ending.is_over:
            return
        self._wake_by(self._ending.advance(now_ms))
        self._collect()
        result = self._ending.result
        if self._proof is None and result is not None and result[0] == "unknown":
            _, reason, diagnostic = result
            self._proof = ("proof", "unknown", reason, clock.wall_ms(), str(diagnostic))
            self._is_proof_told = False

    def _tell_proof(self) -> None:
        # After a vanished runner the proof is kept back until the logs are complete: whoever reads
        # it in the record may rely on them.
        if self._proof is not None and not self._is_proof_told and not self._has_vanished:
            self._is_proof_told = True
            self._teller.tell(self._proof, durable=True)

    def _keep_record(self, now_ms: int) -> None:
        if not self._teller.unwritten or self._teller.flush():
            self._behind_since = None
            return
        self._behind_since = self._behind_since or now_ms
        self._wake_by(now_ms + policy.STORAGE_RETRY_MS)

    def _clear_up(self, now_ms: int) -> None:
        """Do what is left to do after the runner: logs, proof, adopter, in this order."""
        self._drain.step(now_ms)
        if not self._is_settled():
            self._wake_by(self._drain.retry_at(now_ms))
            return
        self._drain.settle(now_ms)
        ends_at = self._drain.ends_at()
        if ends_at is not None and now_ms < ends_at:
            self._wake_by(ends_at)
            self._wake_by(self._drain.retry_at(now_ms))
            return
        if self._proof is not None and not self._is_proof_told:
            self._is_proof_told = True
            self._teller.tell(self._proof, durable=True)
            self._keep_record(now_ms)
        if self._behind_since is None or now_ms - self._behind_since >= STORAGE_PATIENCE_MS:
            self._teller.close_record()
            _start_adopter(self._adopt_argv)
            self._is_over = True

    def _wait(self, now_ms: int) -> None:
        poll = select.poll()
        poll.register(self._wakeup_fd, select.POLLIN)
        if not self._teller.is_deaf:
            wanted = select.POLLIN | (select.POLLOUT if self._teller.unsent else 0)
            poll.register(self._teller.sock_fd, wanted)
        if self._has_vanished:
            for fd in self._drain.readable_fds():
                poll.register(fd, select.POLLIN)
        timeout = None if self._wake_at is None else max(0, self._wake_at - now_ms)
        ready = dict(poll.poll(timeout))
        if self._wakeup_fd in ready:
            posix.read(self._wakeup_fd, 4096)
        if self._teller.sock_fd in ready:
            self._teller.send()
            self._obey(clock.now_ms())

    def _obey(self, now_ms: int) -> None:
        for words in self._teller.hear():
            match words:
                case ["end", grace] if grace.isdecimal():
                    self._start_ending(now_ms, int(grace))
                case ["signal", number] if number.isdecimal():
                    self._signal_agent(int(number))
                case ["bye"]:
                    self._is_bye_said = True
                    # A runner says bye when all is over; if it is not, leaving would be a leak.
                    self._start_ending(now_ms, policy.GRACE_MS)
                case _:
                    pass  # words of a newer runner, in a process that an upgrade left running
        if self._teller.is_deaf and not self._is_bye_said:
            self._has_vanished = True
            self._teller.note(("runner-vanished", clock.wall_ms()))
            self._start_ending(now_ms, policy.GRACE_MS)

    def _start_ending(self, now_ms: int, grace_ms: int) -> None:
        """Start down the ladder, or hurry; a tree that could not be ended is tried again."""
        if self._scope is None or (self._proof is not None and self._proof[1] == "observed"):
            return
        if self._ending is not None and not self._ending.is_over:
            self._ending.shorten(now_ms, grace_ms)
            return
        if self._ending is not None and self._is_bye_said:
            return  # it was tried, and nobody is left to ask for more
        self._proof = None
        self._ending = tree.TreeEnding(now_ms, grace_ms, self._scope)

    def _signal_agent(self, number: int) -> None:
        if self._agent is not None and not self._has_exited and number in _signal.valid_signals():
            tree.send_to(*self._agent, number)

    def _wake_by(self, at_ms: int | None) -> None:
        if at_ms is not None:
            self._wake_at = at_ms if self._wake_at is None else min(self._wake_at, at_ms)


def _wake_up(number: int, frame: object) -> None:
    """Do nothing: that the signal is handled is what makes it write to the wake-up pipe."""


def _start_adopter(argv: list[str]) -> None:
    """Start the program that leads the run from here; if the system refuses, a caretaker will."""
    for _ in range(_ADOPT_TRIES):
        try:
            posix.posix_spawn(
                argv[0],
                argv,
                posix.environ,
                setsid=True,
                setsigdef={*_signal.valid_signals()} - {_signal.SIGKILL, _signal.SIGSTOP},
                setsigmask=(_signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT),  # see procs.spawn
            )
        except OSError:
            select.poll().poll(_ADOPT_PAUSE_MS)
        else:
            return
