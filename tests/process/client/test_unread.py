"""Whoever takes nothing of what is told holds nobody up, and can still have it all."""

from pathlib import Path

from sidecar.client import hub
from sidecar.client.asynchronous import AsyncClient
from sidecar.client.options import ClientOptions
from sidecar.core.states import RunState
from tests.support.serving import Gate

SIZE = 20_000_000


async def test_unread_output_holds_nobody_up(options: ClientOptions, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    async with AsyncClient(**options) as client:
        updates, notices = client.updates(), client.notices()
        flood = await client.launch(
            shell=f"echo begin; {gate.wait}; yes 0123456789 | head -c {SIZE}"
        )
        pages = client.output(flood, follow=True)
        size = (await anext(pages)).next_offset
        gate.open()
        # Everything else is answered, while nobody takes what is told.
        others = [await client.launch(["true"]) for _ in range(10)]
        waited = await client.wait_for((flood, *others))
        assert {run.state for run in waited.runs} == {RunState.COMPLETE}
        (feed,) = client._link.hub.feeds_of(flood.run_id)
        assert feed._held <= hub.OUTPUT_MAX
        # And nothing is missing once somebody does.
        async for page in pages:
            assert page.offset == size
            size = page.next_offset
        assert size == SIZE + len("begin\n")
        ended = set()
        async for run in updates:
            assert run.ended_at is not None, "the newest state is the only one that was kept"
            ended.add(run.run_id)
            if len(ended) == 11:
                break
        assert ended == {run.run_id for run in waited.runs}
        await notices.aclose()


async def test_a_request_beyond_the_pipe_while_nobody_reads(options: ClientOptions) -> None:
    prompt = "x" * 10_000_000
    async with AsyncClient(**options) as client:
        run = await client.launch(["wc", "-c"], prompt=prompt)
        await client.wait(run)
        assert (await client.result(run)).steps[0].answer.strip() == str(len(prompt))
