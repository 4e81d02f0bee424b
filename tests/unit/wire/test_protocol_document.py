"""protocol.md: what is generated is up to date, its links lead somewhere, its example is real."""

import re
from pathlib import Path

import pytest

from scripts import gen_protocol
from sidecar.core.errors import InvalidParams
from sidecar.core.states import ProofState, RunState, StepState, StopCause
from sidecar.wire import decode, example, methods, vocabulary
from sidecar.wire.notifications import NoticeKind
from tests.support.tree import ROOT

DOCUMENT = (ROOT / "protocol.md").read_text(encoding="utf-8")


def test_what_is_generated_is_up_to_date() -> None:
    stale = [str(path) for path in gen_protocol.out_of_date(ROOT)]
    assert stale == [], f"run: {gen_protocol.FIX}"


def test_checking_says_what_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_protocol.main(["--check"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_difference_is_shown_with_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gen_protocol, "ROOT", tmp_path)
    (tmp_path / "protocol.md").write_text(DOCUMENT.replace("| [`run/get`]", "| [`run/fetch`]"))
    (tmp_path / "sidecar/wire").mkdir(parents=True)
    assert gen_protocol.main(["--check"]) == 1
    assert not (tmp_path / "sidecar/wire/schema.json").exists()
    told = capsys.readouterr()
    assert told.err == (
        "out of date: sidecar/wire/schema.json, protocol.md\nrun: python scripts/gen_protocol.py\n"
    )
    assert "+| [`run/get`]" in told.out
    assert gen_protocol.main([]) == 0
    assert gen_protocol.main(["--check"]) == 0
    assert (tmp_path / "protocol.md").read_text() == DOCUMENT


def test_what_is_written_by_hand_stays() -> None:
    document = "before\n<!-- generated: a -->\nold\n<!-- /generated -->\nafter\n"
    assert gen_protocol.filled(document, {"a": "new"}) == (
        "before\n<!-- generated: a -->\n\nnew\n\n<!-- /generated -->\nafter\n"
    )


@pytest.mark.parametrize("made", [{}, {"a": "x", "b": "y"}])
def test_markers_and_sections_must_agree(made: dict[str, str]) -> None:
    with pytest.raises(gen_protocol.MarkerError):
        gen_protocol.filled("<!-- generated: a -->\n<!-- /generated -->\n", made)


def test_every_link_within_the_document_leads_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", DOCUMENT, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    twice = {anchor for anchor in anchors if anchors.count(anchor) > 1}
    targets = set(re.findall(r"\]\(#([^)]+)\)", DOCUMENT))
    assert targets - set(anchors) == set()
    assert targets & twice == set()


@pytest.mark.parametrize("name", [*methods.BY_NAME, *methods.LATER_REQUESTS])
def test_every_method_is_named(name: str) -> None:
    assert f"`{name}`" in DOCUMENT


def test_every_word_is_explained() -> None:
    assert vocabulary.RUN_STATES.keys() == set(RunState)
    assert vocabulary.STEP_STATES.keys() == set(StepState)
    assert vocabulary.PROOF_STATES.keys() == set(ProofState)
    assert vocabulary.STOP_CAUSES.keys() == set(StopCause)
    assert vocabulary.NOTICE_KINDS.keys() == set(NoticeKind)


def test_the_lengths_in_the_example_count_bytes() -> None:
    frames = re.findall(r"Content-Length: (\d+)\\r\\n\n +\\r\\n\n +(.+)", example.text())
    assert len(frames) == len(list(example.messages()))
    for length, body in frames:
        assert len(body.encode()) == int(length)
    assert any(len(body) != int(length) for length, body in frames)


def test_the_example_asks_for_what_is_taken_but_for_one_mistake() -> None:
    refused = []
    for _, message in example.messages():
        request = methods.BY_NAME.get(message.get("method", ""))
        if request is None:
            continue
        try:
            decode.decode(request.params, message["params"])
        except InvalidParams as error:
            refused.append(error.field)
    assert refused == ["runid"]
