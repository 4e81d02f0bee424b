"""One client token launches one run, whoever races and whoever dies."""

import os
from pathlib import Path

import pytest

from sidecar.core.errors import Bug, LimitReached, StorageError
from sidecar.core.ids import token_name
from sidecar.store import locks, tokens
from sidecar.store.layout import Layout
from sidecar.store.tokens import TokenLock
from tests.support import samples
from tests.support.stored import all_at_once, make_run, python, stage_run

NAME = token_name("session", "token")

# Launches as control does: binds only if nobody has.
RACER = """
import sys
from sidecar.store.layout import Layout
from sidecar.store.tokens import TokenLock
print("ready", flush=True)
sys.stdin.readline()
with TokenLock(Layout(sys.argv[1]), sys.argv[2]) as token:
    if token.run_id is None:
        token.bind(sys.argv[3])
    print(token.run_id, flush=True)
"""

HOLDER = """
import sys
from sidecar.store.layout import Layout
from sidecar.store.tokens import TokenLock
with TokenLock(Layout(sys.argv[1]), sys.argv[2]) as token:
    if len(sys.argv) > 3:
        token.bind(sys.argv[3])
    print("held", flush=True)
    sys.stdin.read()
"""


def bound(layout: Layout, name: str = NAME) -> str | None:
    with TokenLock(layout, name) as token:
        return token.run_id


def test_a_token_remembers_its_run(layout: Layout) -> None:
    assert bound(layout) is None
    with TokenLock(layout, NAME) as token:
        token.bind(samples.RUN_ID)
        assert token.run_id == samples.RUN_ID
    assert bound(layout) == samples.RUN_ID
    assert bound(layout, token_name("other", "token")) is None
    assert Path(layout.tokens, NAME).read_text() == f"{samples.RUN_ID}\n"


def test_a_binding_is_durable_before_the_run_is_staged(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def told(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)

    monkeypatch.setattr(os, "fdatasync", told)
    monkeypatch.setattr(os, "fsync", told)
    with TokenLock(layout, NAME) as token:
        token.bind(samples.RUN_ID)
    assert synced == [NAME, "tokens"]


def test_a_token_can_be_bound_anew(layout: Layout) -> None:
    with TokenLock(layout, NAME) as token:
        token.bind(samples.RUN_ID)
        token.bind(samples.OTHER_ID)
    assert bound(layout) == samples.OTHER_ID


def test_of_racers_with_one_token_all_get_the_run_of_the_first(layout: Layout) -> None:
    for number in range(5):
        name = token_name("session", str(number))
        racers = [python(RACER, layout.state_dir, name, samples.run_id(n)) for n in range(4)]
        said = set(all_at_once(racers))
        assert len(said) == 1
        assert said == {bound(layout, name)}


def test_a_token_that_is_held_makes_others_wait_for_a_bounded_time(layout: Layout) -> None:
    with python(HOLDER, layout.state_dir, NAME) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LimitReached) as caught, TokenLock(layout, NAME, wait_ms=50):
            pass
        assert caught.value.field == "clientToken"
        holder.kill()
    assert bound(layout) is None


def test_a_dead_launcher_leaves_its_binding_and_not_its_lock(layout: Layout) -> None:
    with python(HOLDER, layout.state_dir, NAME, samples.RUN_ID) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
    assert bound(layout) == samples.RUN_ID


@pytest.mark.parametrize(
    "content",
    ["", "\n", samples.RUN_ID, samples.RUN_ID[:20], f"{samples.RUN_ID}x\n", "../../etc/passwd\n"],
)
def test_a_torn_or_odd_binding_is_none(layout: Layout, content: str) -> None:
    Path(layout.tokens, NAME).write_text(content)
    assert bound(layout) is None


def test_a_link_in_the_place_of_a_token_is_not_followed(layout: Layout, canary: Path) -> None:
    Path(layout.tokens, NAME).symlink_to(canary)
    with pytest.raises(StorageError), TokenLock(layout, NAME) as token:
        token.bind(samples.RUN_ID)
    assert canary.read_text() == "alive"


@pytest.mark.parametrize("name", ["", "short", "../" + "a" * 61, "a" * 63 + "/"])
def test_only_a_hash_names_a_token(layout: Layout, name: str) -> None:
    with pytest.raises(Bug):
        TokenLock(layout, name)


def test_tokens_of_runs_that_are_gone_are_swept(layout: Layout) -> None:
    names = {}
    for kind in ("run", "staged", "gone", "unbound"):
        names[kind] = token_name("session", kind)
    make_run(layout, samples.run_id(1))
    _, lease = stage_run(layout, samples.run_id(2))
    for kind, number in (("run", 1), ("staged", 2), ("gone", 3)):
        with TokenLock(layout, names[kind]) as token:
            token.bind(samples.run_id(number))
    bound(layout, names["unbound"])
    assert tokens.sweep(layout) == 1
    left = set(os.listdir(layout.tokens))  # noqa: PTH208
    assert left == {names["run"], names["staged"], names["unbound"]}
    lease.release()


def test_a_token_that_is_in_use_is_not_swept(layout: Layout) -> None:
    with TokenLock(layout, NAME) as token:
        token.bind(samples.RUN_ID)
        assert tokens.sweep(layout) == 0
    assert tokens.sweep(layout) == 1


def test_whoever_waited_for_a_token_that_was_swept_holds_the_new_one(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(layout.tokens, NAME).touch()
    whole = locks.lock_within
    swept: list[int] = []

    def swept_meanwhile(fd: int, wait_ms: int) -> bool:
        if not swept:
            swept.append(fd)
            Path(layout.tokens, NAME).unlink()
        return whole(fd, wait_ms)

    monkeypatch.setattr(locks, "lock_within", swept_meanwhile)
    with TokenLock(layout, NAME) as token:
        token.bind(samples.RUN_ID)
    assert Path(layout.tokens, NAME).read_text() == f"{samples.RUN_ID}\n"
