"""``sidecar serve``: one server for one client, from its first byte to the exit code.

This is where the parts meet: the connection brings requests, ``initialize`` makes the desk, the
table says who handles what, and the lifetime says when it is over. None of that touches a run.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Sequence
from typing import Any, Final

from lsprotocol import types as lsp

from sidecar import settings as environment
from sidecar.control import agents, stop
from sidecar.control.context import Caller, Context
from sidecar.control.launch import Launched
from sidecar.core.errors import SidecarError
from sidecar.server import options, protocol, stdio
from sidecar.server.calls import Calls
from sidecar.server.connection import Connection
from sidecar.server.desk import Desk, Means
from sidecar.server.diary import log, open_diary
from sidecar.server.gate import INITIALIZE, SHUTDOWN, Gate, Hear, MessageId, Serve
from sidecar.server.handlers import table
from sidecar.server.lifetime import Lifetime, Nursery
from sidecar.server.options import Greeting
from sidecar.server.teller import Teller
from sidecar.server.watching import Watching
from sidecar.server.workers import Workers
from sidecar.store.layout import Layout
from sidecar.wire import convert, decode, methods
from sidecar.wire.errors import RpcCode, error_object, fault_object

ANSWER_S: Final = 0.4
FLUSH_S: Final = 0.3
"""How long the end waits for what is under way, and for the client to take the answers: below 1 s
in all, since a client that is gone waits for nothing."""


class Server:
    """The server of one client."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        ends: tuple[stdio.Source, stdio.Sink],
        state_dir: str | None,
    ) -> None:
        self._loop = loop
        self._state_dir = state_dir
        self._started_at = _now_ms()
        self._handlers = table.handlers()
        self._gate = Gate(
            frozenset({*self._handlers, lsp.WORKSPACE_EXECUTE_COMMAND}),
            frozenset({lsp.INITIALIZED, lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL}),
        )
        self._workers = Workers()
        self._protocol = protocol.new_protocol()
        self._protocol.transport = self
        self._connection = Connection(loop, ends, self._gate, self)
        self._calls = Calls(self._connection)
        self._lifetime = Lifetime(loop, lambda: self._gate.exit_code)
        self._nursery = Nursery(loop, self._runner_ended)
        self._desk: Desk | None = None
        self._watching: Watching | None = None
        self._asides: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Serve until it is over; the exit code."""
        self._lifetime.watch_signals()
        self._nursery.watch()
        self._connection.open()
        code = await self._lifetime.over
        self._connection.close_inlet()
        self._close_desk()
        async with asyncio.TaskGroup() as last:
            last.create_task(self._calls.settled(ANSWER_S))
            if self._watching is not None:
                last.create_task(self._watching.closed(ANSWER_S))
        await self._connection.outlet.drained(FLUSH_S)
        self._lifetime.close()
        self._nursery.close()
        self._workers.close()
        self._connection.outlet.close()
        return code

    @property
    def is_stuck(self) -> bool:
        """Whether a thread is still held up, by a disk that does not answer."""
        return self._workers.is_stuck

    # --- for the connection ----------------------------------------------------------------------

    @property
    def under_way(self) -> int:
        """See ``connection.Server``."""
        return self._calls.under_way

    def serve(self, request: Serve) -> None:
        """See ``connection.Server``."""
        if request.method == INITIALIZE:
            self._initialize(request)
            return
        self._begin()
        if request.method == SHUTDOWN:
            self._close_desk()
            self._protocol.shut_down(request.id)
        elif request.method == lsp.WORKSPACE_EXECUTE_COMMAND:
            self._execute(request)
        else:
            self._call(request.id, request.method, request.params)

    def hear(self, notification: Hear) -> None:
        """See ``connection.Server``."""
        self._begin()
        if notification.method == lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL:
            self._cancel_progress(notification.params)

    def cancel(self, request_id: MessageId) -> None:
        """See ``connection.Server``."""
        self._calls.cancel(request_id)

    def route(self, message: dict[str, Any]) -> None:
        """See ``connection.Server``."""
        self._protocol.route(message)

    def end(self, code: int | None, why: str) -> None:
        """See ``connection.Server``."""
        self._lifetime.end(code, why)

    # --- for pygls -------------------------------------------------------------------------------

    def send(self, body: bytes) -> None:
        """See ``protocol.Transport``."""
        self._connection.send(body)

    def may_answer(self, request_id: MessageId) -> bool:
        """See ``protocol.Transport``."""
        return self._gate.close(request_id)

    # --- requests --------------------------------------------------------------------------------

    def _initialize(self, request: Serve) -> None:
        params = request.params if request.params is not None else {}
        try:
            greeting = options.read(params)
            ctx = self._context(greeting)
        except SidecarError as exc:
            self._connection.refuse(request.id, error_object(exc))
            self._gate.reopen()
            return
        means = Means(
            connection=self._connection,
            workers=self._workers,
            expect=self._launched,
            started_at=self._started_at,
        )
        session_id = ctx.caller.session_id
        teller = Teller(self._loop, self._connection, self._protocol, greeting, session_id)
        self._desk = Desk(ctx, greeting, means, teller)
        self._watching = Watching(self._loop, self._desk)
        views = [convert.agent_view(agent) for agent in agents.known_agents()]
        offer = convert.to_object(methods.capabilities(views))
        self._protocol.offer = lsp.ServerCapabilities(
            execute_command_provider=lsp.ExecuteCommandOptions(commands=list(methods.BY_COMMAND)),
            experimental={"sidecar": offer},
        )
        self._protocol.initialize(request.id, params)
        self._lifetime.watch_client(greeting.process_id)

    def _context(self, greeting: Greeting) -> Context:
        settings = environment.of_process(state_dir=greeting.options.state_dir or self._state_dir)
        return Context(
            layout=Layout(settings.state_dir),
            caller=Caller(
                session_id=options.session_of(greeting, settings), client=greeting.client
            ),
            base_env=settings.base_env,
            runner_env=settings.runner_env,
            parent_run_id=settings.parent_run_id,
            now_ms=_now_ms,
            random_bytes=os.urandom,
        )

    def _begin(self) -> None:
        """The client is ready: ``initialized``, or whatever else it sent after ``initialize``."""
        if self._watching is not None:
            self._watching.start()

    def _call(self, request_id: MessageId, method: str, params: Any, *, at: str = "") -> None:
        assert self._desk is not None  # noqa: S101 - the gate lets nothing in before it is there
        self._calls.begin(request_id, self._handlers[method], self._desk, params, at)

    def _execute(self, request: Serve) -> None:
        """``workspace/executeCommand``: the same request, for clients that have only that."""
        params = request.params if isinstance(request.params, dict) else {}
        name = params.get("command")
        known = methods.BY_COMMAND.get(name) if isinstance(name, str) else None
        if known is None:
            fault = fault_object(RpcCode.INVALID_PARAMS, f"no such command: {name!r:.200}")
            self._connection.refuse(request.id, fault)
            return
        try:
            argument = decode.command_argument(params.get("arguments"))
        except SidecarError as exc:
            self._connection.refuse(request.id, error_object(exc))
            return
        self._call(request.id, known.name, argument)

    def _cancel_progress(self, params: Any) -> None:
        desk = self._desk
        if desk is None or not isinstance(params, dict):
            return
        run_id = desk.teller.run_of_progress(params.get("token"))
        if run_id is None or desk.greeting.options.progress_cancel is None:
            return
        task = asyncio.create_task(self._stop(desk, run_id), name=f"stop of {run_id}")
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    async def _stop(self, desk: Desk, run_id: str) -> None:
        try:
            await self._workers.commit(
                stop.stop, desk.ctx, run_id, reason="its progress was cancelled"
            )
        except SidecarError as exc:
            log.warning("run %s cannot be stopped: %s", run_id, exc)

    # --- children, and the end -------------------------------------------------------------------

    def _launched(self, launched: Launched) -> None:
        if launched.runner_pid is not None:
            self._nursery.add(launched.runner_pid, launched.snapshot.run.run_id)

    def _runner_ended(self, run_id: str) -> None:
        if self._watching is not None:
            self._watching.runner_ended(run_id)

    def _close_desk(self) -> None:
        self._calls.cancel_patient()
        if self._desk is not None:
            self._desk.close()


def main(argv: Sequence[str]) -> int:
    """Serve the client at standard input and output; the exit code (see ``lifetime``)."""
    asked = _parser().parse_args(argv)
    open_diary()
    try:
        ends = stdio.take_over()
    except OSError as exc:
        log.error("no client: standard input or output is not open: %s", exc)
        return 1
    return asyncio.run(_serve(ends, asked.state_dir))


async def _serve(ends: tuple[stdio.Source, stdio.Sink], state_dir: str | None) -> int:
    server = Server(asyncio.get_running_loop(), ends, state_dir)
    code = await server.run()
    if server.is_stuck:
        # Python would wait for that thread; the client is gone, and its launch is safe to leave.
        log.warning("leaving while a disk does not answer")
        os._exit(code)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sidecar serve",
        description="Serve one client (an editor, a script) over standard input and output.",
        allow_abbrev=False,
    )
    parser.add_argument("--state-dir", metavar="DIR", help="where runs are kept")
    # What editors add to the command of every server.
    parser.add_argument("--stdio", action="store_true", help="accepted; there is nothing else")
    parser.add_argument("--clientProcessId", metavar="PID", help="accepted; see processId of LSP")
    return parser


def _now_ms() -> int:
    return time.time_ns() // 1_000_000  # noqa: TID251 - this is the server's own shell
