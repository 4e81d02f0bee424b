"""The table of runs: what is told of each, in whatever width there is."""

from dataclasses import replace

from sidecar.cli import listing, wording
from sidecar.cli.spans import Tone, bare, cells
from sidecar.control.context import Snapshot
from sidecar.core.dismissal import Dismissal
from sidecar.core.plan import Mode
from sidecar.core.states import AgentExit, RunState, Step
from tests.unit.cli.building import NOW, complete, over, run_id_at, running, seen, stopping


def shown(*snapshots: Snapshot, width: int | None = 100) -> list[str]:
    return [bare(line) for line in listing.lines(snapshots, NOW, width)]


def test_a_run_is_one_line() -> None:
    run = running(label="fix the parser")
    assert shown(seen(run)) == [
        "ID             STATE    AGE   TOOK  NAME",
        f"{run.run_id[:13]}  running   1m  1m00s  fix the parser",
    ]


def test_the_duration_of_a_run_that_is_over_stands_still() -> None:
    run = complete()
    assert "50s" in shown(seen(run))[1].split()


def test_a_run_that_failed_tells_why() -> None:
    run = over(RunState.FAILED, "exit-status", exited=AgentExit(code=3))
    assert "exit-status" in shown(seen(run))[1]


def test_a_run_that_is_being_ended_is_stopping() -> None:
    assert shown(seen(stopping()))[1].split()[1] == "stopping"


def test_a_run_without_a_label_is_called_after_its_agents() -> None:
    run = running()
    assert shown(seen(run))[1].endswith("  command")
    labelled = replace(run, steps=(replace(run.steps[0], label="build"),))
    assert shown(seen(labelled))[1].endswith("  build")


def test_steps_are_counted_where_there_are_several() -> None:
    run = running()
    second = Step(index=1, id="second", agent="command", label=None, timeout_ms=None)
    chain = replace(run, mode=Mode.CHAIN, steps=(*run.steps, second))
    assert "0/2" in shown(seen(chain))[1].split()


def test_nobodys_control_characters_reach_the_terminal() -> None:
    run = running(label="\x1b[2Jclear\x07\r\nsecond")
    assert shown(seen(run))[1].endswith("clear second")
    assert not any(ord(c) < 32 for line in shown(seen(run), width=None) for c in line)


def test_a_pipe_gets_whole_ids_whole_names_and_no_empty_cell() -> None:
    run = running(label="x" * 300)
    line = shown(seen(run), width=None)[1]
    assert line.split() == [run.run_id, "running", "1m", "1m00s", "-", "-", "x" * 300]


def test_every_width_is_kept_and_shows_id_and_state() -> None:
    runs = [
        seen(running(number=n, created_at=NOW - n * 100_000, label=f"run {n} " + "漢字" * 20))
        for n in range(1, 50)
    ]
    for width in (30, 40, 60, 80, 120):
        lines = shown(*runs, width=width)
        assert all(cells(line) <= width for line in lines), width
        assert lines[1].startswith(runs[0].run.run_id[:13])
        assert "running" in lines[1]


def test_sixty_columns_still_show_the_name() -> None:
    run = over(RunState.FAILED, "runner-lost", run=running(label="fix the parser"))
    assert shown(seen(run), width=60)[1].endswith("fix the parser")


def test_ids_are_cut_where_they_differ_and_no_sooner_than_after_their_time() -> None:
    same_minute = [run_id_at(NOW + n) for n in range(3)]
    assert wording.id_length(same_minute) == 13
    same_ms = [run_id_at(NOW, n) for n in range(3)]
    assert len({run_id[: wording.id_length(same_ms)] for run_id in same_ms}) == 3
    assert wording.id_length([]) == 13


def test_a_dismissed_run_is_told_from_the_others() -> None:
    run = complete()
    hidden = Dismissal(dismissed=True, changes=1, at=NOW, at_seq=run.seq)
    line = listing.lines([seen(run, dismissal=hidden)], NOW, 80)[1]
    assert line[0].tone is Tone.DIM
    assert "dismissed" in bare(line)
