"""A server as a child of its client: started with two pipes, reaped when it is over.

It has a session of its own, so that a Ctrl-C meant for the script does not take the server away
while the script is still cleaning up; that its client is gone a server sees by itself.  Its
standard error is the client's.

Only for clients: whatever a runner or a warden imports must not import this, since it needs
asyncio.  It must never know what goes through the pipes.
"""

import asyncio
import errno
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from sidecar.core.errors import SpawnRefused


def own_command() -> tuple[str, ...]:
    """The command of a server of this installation; a ``sidecar`` in the directory is not it."""
    return (sys.executable, "-P", "-m", "sidecar", "serve")


class ServerProcess:
    """A server that was started; lives on the event loop that listens to it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._sink = _Sink()
        self._source: asyncio.ReadTransport | None = None
        self._exit: asyncio.Task[int] | None = None

    @property
    def pid(self) -> int:
        """Of the server's process, or of what was started in its place."""
        return self._process.pid

    async def listen(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """From now on ``on_data`` gets the bytes of its stdout as they come; ``on_end`` is called
        once, after the last.  Only then can anything be sent.
        """
        loop = asyncio.get_running_loop()
        await loop.connect_write_pipe(lambda: self._sink, self._process.stdin)
        self._source, _ = await loop.connect_read_pipe(
            lambda: _Source(on_data, on_end), self._process.stdout
        )

    def send(self, data: bytes) -> None:
        """Give ``data`` to its stdin, sooner or later; nothing happens if nobody reads it."""
        if self._sink.transport is not None:
            self._sink.transport.write(data)

    async def room(self) -> None:
        """Wait until what was sent is mostly taken, or never will be."""
        await self._sink.has_room.wait()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    async def end(self, within_s: float) -> int:
        """Close its stdin, which ends it, wait for that, and kill it if it takes too long.

        Returns its exit code, or the negative number of the signal that ended it.
        """
        if self._sink.transport is not None:
            self._sink.transport.close()
        if self._exit is None:
            self._exit = asyncio.create_task(asyncio.to_thread(self._process.wait))
        _, unfinished = await asyncio.wait((self._exit,), timeout=within_s)
        if unfinished:
            self.kill()
        code = await asyncio.shield(self._exit)
        if self._sink.transport is not None:
            self._sink.transport.abort()  # what nobody took would be held for ever
        if self._source is not None:
            self._source.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return code


def start(argv: Sequence[str], env: Mapping[str, str] | None) -> ServerProcess:
    """Start a server; ``env`` is all of its environment, without one it has ours.

    Whoever starts it has to ``end`` it.  Raises ``SpawnRefused``.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
    except (OSError, ValueError) as refused:  # ValueError: a NUL character
        why = errno.errorcode.get(getattr(refused, "errno", 0) or 0, "not a command")
        raise SpawnRefused(
            f"the server could not be started ({why}): {argv[0] if argv else ''}",
            hint="give the command that starts one, such as sidecar serve",
        ) from refused
    return ServerProcess(process)


class _Source(asyncio.Protocol):
    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._on_data = on_data

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._on_end()


class _Sink(asyncio.BaseProtocol):
    """Says whether there is room; ``transport`` is none while there is nobody to write to."""

    def __init__(self) -> None:
        self.transport: asyncio.WriteTransport | None = None
        self.has_room = asyncio.Event()
        self.has_room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 - of a pipe to write to
        self.transport = transport

    def pause_writing(self) -> None:
        self.has_room.clear()

    def resume_writing(self) -> None:
        self.has_room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.transport = None
        self.has_room.set()
