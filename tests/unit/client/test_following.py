"""A log comes whole and in order, whatever of it is told, and however late."""

import asyncio
import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.client import following
from sidecar.client.following import Wanted
from sidecar.client.link import Link
from sidecar.core.errors import InvalidParams
from sidecar.wire.fields import Params
from sidecar.wire.params import (
    Encoding,
    RunGetParams,
    RunOutputParams,
    RunSubscribeParams,
    RunUnsubscribeParams,
    Stream,
)
from sidecar.wire.results import (
    RunGetResult,
    RunOutputResult,
    RunSubscribeResult,
    RunUnsubscribeResult,
)
from sidecar.wire.views import RunView
from tests.support import samples
from tests.unit.client.building import live, output, over

RUN_ID = samples.run_id(0)


class Log(Link):
    """A server that is only the log of one run, of which it tells what it is told to tell."""

    def __init__(self) -> None:
        super().__init__({"cwd": "/", "session_id": "mine"})
        self.text = ""
        self.run: RunView = live()
        self.asked: list[Params] = []
        self.generation = 1
        self.told = 0
        self.is_deaf = True
        """Nobody has subscribed at this server."""

    @property
    def is_lost(self) -> bool:
        return False

    async def ask(self, params: Params, result_type: Any) -> Any:
        del result_type
        await asyncio.sleep(0)
        self.asked.append(params)
        match params:
            case RunGetParams():
                return RunGetResult(run=self.run)
            case RunSubscribeParams():
                self.is_deaf = False
                self.told = params.from_offset
                return RunSubscribeResult()
            case RunUnsubscribeParams():
                return RunUnsubscribeResult()
            case RunOutputParams():
                return self._page(params)
            case _:
                raise AssertionError(params)

    def _page(self, params: RunOutputParams) -> RunOutputResult:
        offset = params.offset
        if offset < 0:
            offset = max(0, len(self.text) + offset)
        # Small pages, so that there are several.
        text = self.text[offset : offset + 7]
        end = offset + len(text)
        is_binary = params.encoding is Encoding.BASE64
        return RunOutputResult(
            text=base64.b64encode(text.encode()).decode() if is_binary else text,
            offset=offset,
            next_offset=end,
            eof=self.run.ended_at is not None and end == len(self.text),
            truncated=end < len(self.text),
        )

    def write(self, text: str) -> None:
        """The agent writes."""
        self.text += text

    def tell(self, n_characters: int) -> None:
        """Whoever subscribed is told so much of what was not told yet."""
        piece = self.text[self.told : self.told + n_characters]
        if piece and not self.is_deaf:
            self.hub.hear(*output(RUN_ID, self.told, piece))
            self.told += len(piece)

    def skip(self, n_characters: int) -> None:
        """So much is dropped."""
        self.told = min(len(self.text), self.told + n_characters)

    def lose(self) -> None:
        """Another server takes the place of this one."""
        self.generation += 1
        self.is_deaf = True
        self.hub.wake()

    def end(self) -> None:
        """The run is over."""
        self.run = over()
        self.hub.see(self.run)

    @property
    def subscriptions(self) -> list[RunSubscribeParams]:
        """All that there were."""
        return [params for params in self.asked if isinstance(params, RunSubscribeParams)]

    def n_asked(self, kind: type[Params]) -> int:
        """How many requests of this kind there were."""
        return sum(isinstance(params, kind) for params in self.asked)


async def read(log: Log, wanted: Wanted) -> list[RunOutputResult]:
    """All pages."""
    return [page async for page in following.pages(log, wanted)]


async def settle() -> None:
    """Let everybody do what can be done now."""
    for _ in range(30):
        await asyncio.sleep(0)


async def test_as_far_as_it_goes_now() -> None:
    log = Log()
    log.write("0123456789")
    pages = await read(log, Wanted(run_id=RUN_ID))
    assert [page.text for page in pages] == ["0123456", "789"]
    assert log.n_asked(RunSubscribeParams) == 0


async def test_nothing_is_no_page() -> None:
    assert await read(Log(), Wanted(run_id=RUN_ID)) == []


async def test_what_is_told_need_not_be_asked_for() -> None:
    log = Log()
    reader = asyncio.create_task(read(log, Wanted(run_id=RUN_ID[:8], follow=True)))
    await settle()
    n_asked = log.n_asked(RunOutputParams)
    for text in ("one\n", "two\n"):
        log.write(text)
        log.tell(99)
        await settle()
    assert log.n_asked(RunOutputParams) == n_asked
    log.end()
    assert [page.text for page in await reader] == ["one\n", "two\n"]
    assert log.n_asked(RunUnsubscribeParams) == 1


async def test_a_run_that_is_over_is_not_waited_for() -> None:
    log = Log()
    log.write("all")
    log.end()
    pages = await read(log, Wanted(run_id=RUN_ID, follow=True))
    assert [page.text for page in pages] == ["all"]
    assert log.n_asked(RunSubscribeParams) == 0


async def test_the_end_of_a_log_is_where_a_negative_offset_begins() -> None:
    log = Log()
    log.write("0123456789")
    reader = asyncio.create_task(read(log, Wanted(run_id=RUN_ID, offset=-3, follow=True)))
    await settle()
    assert [params.from_offset for params in log.subscriptions] == [10]
    log.write("ab")
    log.end()
    assert "".join(page.text for page in await reader) == "789ab"


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(run_id=RUN_ID, follow=True, encoding=Encoding.BASE64),
        Wanted(run_id=RUN_ID, follow=True, raw=True),
        Wanted(run_id=RUN_ID, follow=True, stream=Stream.ANSWER),
    ],
)
async def test_what_is_told_in_another_form_is_asked_for(wanted: Wanted) -> None:
    log = Log()
    reader = asyncio.create_task(read(log, wanted))
    await settle()
    log.write("one")
    log.tell(3)
    await settle()
    log.end()
    (page,) = await reader
    is_binary = wanted.encoding is Encoding.BASE64
    assert (base64.b64decode(page.text).decode() if is_binary else page.text) == "one"


async def test_an_end_just_before_the_subscription_is_seen() -> None:
    class Ending(Log):
        async def ask(self, params: Params, result_type: Any) -> Any:
            if isinstance(params, RunSubscribeParams):
                self.write("last words")
                self.run = over()  # and nobody is told, since nobody had subscribed
            return await super().ask(params, result_type)

    pages = await read(Ending(), Wanted(run_id=RUN_ID, follow=True))
    assert "".join(page.text for page in pages) == "last words"


async def test_another_server_is_subscribed_to_from_where_the_reader_is() -> None:
    log = Log()
    reader = asyncio.create_task(read(log, Wanted(run_id=RUN_ID, follow=True)))
    await settle()
    log.write("one")
    log.tell(3)
    await settle()
    log.lose()
    await settle()
    assert [params.from_offset for params in log.subscriptions] == [0, 3]
    log.end()
    await reader


async def test_two_who_follow_one_run_share_a_subscription() -> None:
    log = Log()
    log.write("0123456789")
    first = asyncio.create_task(read(log, Wanted(run_id=RUN_ID, follow=True)))
    await settle()
    log.write("abcdef")
    second = asyncio.create_task(
        read(log, Wanted(run_id=RUN_ID, stream=Stream.STDERR, follow=True))
    )
    await settle()
    # Both logs, from where the one who has read least is.
    latest = log.subscriptions[-1]
    assert (latest.stream, latest.from_offset) == (None, 10)
    log.end()
    for reader in (first, second):
        assert "".join(page.text for page in await reader) == log.text
    assert log.n_asked(RunUnsubscribeParams) == 1


async def test_an_error_ends_it_and_leaves_nothing_open() -> None:
    class Refusing(Log):
        def _page(self, params: RunOutputParams) -> RunOutputResult:
            raise InvalidParams("no", field="offset")

    log = Refusing()
    with pytest.raises(InvalidParams):
        await read(log, Wanted(run_id=RUN_ID, follow=True))
    assert log.hub.feeds_of(RUN_ID) == ()


steps = st.lists(
    st.tuples(
        st.sampled_from(("write", "tell", "skip", "lose", "settle")),
        st.integers(min_value=1, max_value=12),
    ),
    max_size=40,
)


@given(steps, st.integers(min_value=0, max_value=5))
def test_the_log_comes_whole_whatever_is_told(story: list[tuple[str, int]], offset: int) -> None:
    async def tell() -> None:
        log = Log()
        log.write("begin")
        reader = asyncio.create_task(read(log, Wanted(run_id=RUN_ID, offset=offset, follow=True)))
        for number, (what, amount) in enumerate(story):
            match what:
                case "write":
                    log.write(f"<{number}>" * amount)
                case "tell":
                    log.tell(amount)
                case "skip":
                    log.skip(amount)
                case "lose":
                    log.lose()
                case _:
                    await settle()
        log.end()
        pages = await reader
        assert "".join(page.text for page in pages) == log.text[offset:]
        at = offset
        for page in pages:
            assert page.offset == at
            at = page.next_offset

    asyncio.run(tell())
