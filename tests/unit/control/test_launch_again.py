"""The same launch again: a token is one run, a given id is one run, and never two."""

from pathlib import Path

import pytest

from sidecar.control.launch import launch
from sidecar.core.errors import InvalidParams
from sidecar.core.states import RunState
from sidecar.store import staging
from sidecar.store.layout import open_state_dir
from sidecar.store.lease import Holding, probe
from tests.support.callers import StandIn, asked, context, launched, left_in

GIVEN = "01890a5d-ac96-774b-bcce-b302099a8057"


def test_the_same_token_is_the_same_run(state_dir: Path) -> None:
    ctx = context(state_dir)
    first, runner = launched(ctx, client_token="t")
    runner.start()
    # Whatever else is said, and even if its directory has gone meanwhile.
    again = launch(ctx, asked(client_token="t", cwd="/no/such/directory", label="other"))
    assert again.snapshot.run.run_id == first.snapshot.run.run_id
    assert again.snapshot.run.state is RunState.RUNNING
    assert (again.created, again.runner_pid) == (False, None)


def test_a_token_belongs_to_its_session(state_dir: Path) -> None:
    spawner = StandIn()
    here = context(state_dir, spawner=spawner, session="here")
    there = context(state_dir, spawner=spawner, session="there")
    ids = {
        launch(ctx, asked(client_token="t", session_id=session)).snapshot.run.run_id
        for ctx, session in ((here, None), (there, None), (there, "here"))
    }
    assert len(ids) == 2


def test_a_given_id_is_the_runs(state_dir: Path) -> None:
    ctx = context(state_dir)
    assert launched(ctx, run_id=GIVEN, client_token="t")[0].snapshot.run.run_id == GIVEN
    again = launch(ctx, asked(run_id=GIVEN, client_token="t"))
    assert (again.snapshot.run.run_id, again.created) == (GIVEN, False)


@pytest.mark.parametrize("token", [None, "other"])
def test_a_given_id_that_is_taken_is_refused(state_dir: Path, token: str | None) -> None:
    ctx = context(state_dir)
    launched(ctx, run_id=GIVEN, client_token="t")
    before = left_in(state_dir)
    with pytest.raises(InvalidParams) as refused:
        launch(ctx, asked(run_id=GIVEN, client_token=token))
    assert refused.value.field == "runId"
    assert left_in(state_dir) == before
    assert probe(ctx.layout.run_dir(GIVEN)) is Holding.HELD


def test_a_token_of_another_id_is_refused(state_dir: Path) -> None:
    ctx = context(state_dir)
    launched(ctx, client_token="t")
    with pytest.raises(InvalidParams) as refused:
        launch(ctx, asked(run_id=GIVEN, client_token="t"))
    assert refused.value.field == "clientToken"


def test_a_retry_of_a_launcher_that_died_before_the_commit_launches(state_dir: Path) -> None:
    layout = open_state_dir(str(state_dir))
    _, lease = staging.stage(layout, GIVEN)
    lease.release()  # as death does
    made, _ = launched(context(state_dir), run_id=GIVEN, client_token="t")
    assert made.created
