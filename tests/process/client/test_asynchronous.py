"""On an event loop: many things at once, each of which can be given up."""

import asyncio
import sys
from pathlib import Path

import pytest

from sidecar.client.asynchronous import AsyncClient
from sidecar.client.errors import ServerLost
from sidecar.client.options import ClientOptions
from sidecar.core.errors import InvalidParams, SpawnRefused
from sidecar.core.states import RunState
from tests.support.serving import Gate
from tests.support.wait import wait_until_async

EVERY_BYTE = bytes(range(256)) * 5000


async def test_many_runs_at_once(options: ClientOptions) -> None:
    async with AsyncClient(**options) as client:
        runs = await asyncio.gather(*(client.launch(["echo", str(n)]) for n in range(20)))
        waited = await client.wait_for(runs)
        assert {run.state for run in waited.runs} == {RunState.COMPLETE}
        answers = [(await client.result(run)).steps[0].answer for run in runs]
        assert answers == [f"{n}\n" for n in range(20)]


async def test_a_wait_that_is_given_up_is_cancelled(options: ClientOptions, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    async with AsyncClient(**options) as client:
        run = await client.launch(shell=gate.wait)

        async def n_waiting() -> int:
            return (await client.server_status()).queues.requests - 1

        async def is_waiting() -> bool:
            return await n_waiting() == 1

        async def is_alone() -> bool:
            return await n_waiting() == 0

        waiting = asyncio.create_task(client.wait(run))
        await wait_until_async(is_waiting, what="a wait")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await wait_until_async(is_alone, what="no wait")
        gate.open()
        await client.wait(run)


async def test_the_very_bytes(options: ClientOptions, tmp_path: Path) -> None:
    source = tmp_path / "bytes"
    source.write_bytes(EVERY_BYTE)
    gate = Gate(tmp_path / "gate")
    async with AsyncClient(**options) as client:
        run = await client.launch(shell=f"cat {source}; {gate.wait}; cat {source} >&2")
        found = b""
        async for piece in client.output_bytes(run, follow=True):
            if not found:
                gate.open()
            found += piece
        assert found == EVERY_BYTE
        found = b"".join([piece async for piece in client.output_bytes(run, stream="stderr")])
        assert found == EVERY_BYTE
        tail = [piece async for piece in client.output_bytes(run, offset=-10)]
        assert b"".join(tail) == EVERY_BYTE[-10:]


async def test_both_logs_are_followed_as_they_grow(options: ClientOptions, tmp_path: Path) -> None:
    lines = 200
    script = f"i=0; while [ $i -lt {lines} ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
    gate = Gate(tmp_path / "gate")

    async def text(client: AsyncClient, run_id: str, *, is_err: bool) -> str:
        pages = client.output(run_id, stream="stderr" if is_err else "stdout", follow=True)
        return "".join([page.text async for page in pages])

    async with AsyncClient(**options) as client:
        run = await client.launch(shell=f"{gate.wait}; {script}")
        readers = [
            asyncio.create_task(text(client, run.run_id, is_err=is_err))
            for is_err in (False, True, False)
        ]

        async def are_following() -> bool:
            return (await client.server_status()).counts.subscriptions == 2

        await wait_until_async(are_following, what="subscriptions to both logs")
        gate.open()
        out, err, again = await asyncio.gather(*readers)
        assert out == again == "".join(f"out {n}\n" for n in range(lines))
        assert err == "".join(f"err {n}\n" for n in range(lines))
        assert (await client.server_status()).counts.subscriptions == 0


async def test_a_run_of_another_session_is_followed_to_its_end(
    options: ClientOptions, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    async with (
        AsyncClient(**options) as mine,
        AsyncClient(**(options | {"session_id": "another"})) as other,
    ):
        run = await mine.launch(shell=f"echo one; {gate.wait}; echo two")
        text = ""
        async for page in other.output(run.run_id[:30], follow=True):
            if not text:
                gate.open()
            text += page.text
        assert text == "one\ntwo\n"


async def test_what_a_run_launches_is_nested_in_it(options: ClientOptions, tmp_path: Path) -> None:
    script = tmp_path / "launch.py"
    script.write_text(
        "from sidecar.client.blocking import Client\n"
        "with Client() as client:\n"
        "    print(client.wait(client.launch(['true'])).run_id)\n"
    )
    async with AsyncClient(**options) as client:
        run = await client.launch([sys.executable, script])
        outer = await client.wait(run)
        assert outer.state is RunState.COMPLETE, (await client.result(run)).steps[0].stderr_tail
        inner = await client.get((await client.result(run)).steps[0].answer.strip())
        assert (inner.parent_run_id, inner.session_id) == (outer.run_id, outer.session_id)


async def test_options_that_are_none(options: ClientOptions) -> None:
    client = AsyncClient(**(options | {"session_id": "\n"}))
    with pytest.raises(InvalidParams) as refused:
        await client.open()
    assert refused.value.field == "initializationOptions.sessionId"


@pytest.mark.parametrize(
    ("command", "error", "why"),
    [
        (["/no/such/server"], SpawnRefused, "ENOENT"),
        (["sh", "-c", "exit 7"], ServerLost, "exited with 7"),
        (["sh", "-c", "kill -9 $$"], ServerLost, "signal 9"),
        (["sh", "-c", "yes no | tr -d '\\n'"], ServerLost, "does not speak the protocol"),
        (
            ["sh", "-c", r"printf 'Content-Length: 2\r\n\r\n[]'; exec sleep 600"],
            ServerLost,
            "no object",
        ),
        (["sh", "-c", "exec sleep 600"], ServerLost, "does not answer"),
    ],
    ids=["none", "exit", "signal", "noise", "nonsense", "silence"],
)
async def test_a_server_that_is_none(
    options: ClientOptions,
    command: list[str],
    error: type[Exception],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sidecar.client.connection.START_S", 1.0)
    client = AsyncClient(**(options | {"command": command}))
    with pytest.raises(error, match=why):
        await client.open()
    await client.close()
