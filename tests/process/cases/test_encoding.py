"""Output that is no text, and text that is not tame: stored as it is, shown as it may be."""

import base64
import json
from pathlib import Path

from tests.support.each import each
from tests.support.serving import SidecarClient


def cat(client: SidecarClient, tmp_path: Path, data: bytes, *, code: int = 0) -> dict[str, object]:
    """The run of an agent that writes exactly ``data``."""
    source = tmp_path / "data"
    source.write_bytes(data)
    run = client.run_to_end(f"cat {source}; exit {code}")
    assert run["state"] == ("failed" if code else "complete")
    return run


def log_of(client: SidecarClient, run: dict[str, object]) -> bytes:
    page = client.call(
        "run/output", {"runId": run["runId"], "encoding": "base64", "limit": 1 << 20}
    )
    return base64.b64decode(page["text"])


def everything_said(client: SidecarClient, run: dict[str, object]) -> str:
    """All that is told of a run, as one text; the client has checked that it is strict UTF-8."""
    run_id = {"runId": run["runId"]}
    return json.dumps(
        [
            client.call("run/get", run_id),
            client.call("run/list", {"scope": "all"}),
            client.call("run/result", run_id),
            client.call("run/events", run_id),
            client.call("run/output", run_id),
            [note.params for note in client.notes],
        ],
        ensure_ascii=False,
    )


ODD = {
    "latin-1": "gr\u00fc\u00df\n".encode("latin-1"),
    "nul": b"a\0b\0c\n",
    "lone": b"\x80\n",
    "utf-16": "hi\n".encode("utf-16"),
    "overlong": b"\xc0\xaf\xe0\x80\xaf\n",
    "surrogate": b"\xed\xa0\x80\n",
    "beyond": b"\xf4\x90\x80\x80\n",
    "all-bytes": bytes(range(256)),
}


@each("kind", list(ODD))
@each("code", [0, 1])
def test_bytes_that_are_no_text(
    client: SidecarClient, tmp_path: Path, kind: str, code: int
) -> None:
    data = b"good one\n" + ODD[kind] + b"\ngood last\n" + ODD[kind]
    run = cat(client, tmp_path, data, code=code)
    assert log_of(client, run) == data
    lines = client.text(str(run["runId"])).split("\n")
    assert lines[0] == "good one"
    assert "good last" in lines
    assert "\0" not in everything_said(client, run)


def test_a_flood_of_what_is_no_text_does_not_stop_the_reader(client: SidecarClient) -> None:
    run = client.run_to_end(r"printf '\210\n'; head -c 300000 /dev/zero; echo; echo end")
    assert run["state"] == "complete"
    assert client.text(run["runId"]).endswith("end\n")
    assert run["steps"][0]["outputBytes"]["stdout"] == 2 + 300_000 + 1 + 4


def test_an_escaped_lone_surrogate(client: SidecarClient, tmp_path: Path) -> None:
    # Harmless as it stands; whoever parses and writes it again makes invalid UTF-8 of it.
    line = rb'{"type":"result","text":"\udcb2"}' + b"\n"
    run = cat(client, tmp_path, line)
    assert client.text(str(run["runId"])).encode() == line
    everything_said(client, run)


def test_a_preview_is_one_plain_line(client: SidecarClient, tmp_path: Path) -> None:
    bars = b"".join(
        b"\r\x1b[2K\x1b[36m%3d%%\x1b[0m [%-50s]" % (n // 10, b"#" * (n // 20 + 1))
        for n in range(1001)
    )
    run = cat(client, tmp_path, bars + b"\n\x1b[1A\x1b[2K\x1b[Gdone \x07\x1b]0;title\x07" + b"\n")
    steps = run["steps"]
    assert isinstance(steps, list)
    assert steps[0]["answerPreview"] == "done"
    said = everything_said(client, run)
    assert "\\u001b" not in said
    assert "\\u0007" not in said
    assert "\x9b" not in said


def test_a_long_line_makes_a_short_preview(client: SidecarClient) -> None:
    run = client.run_to_end("head -c 100000 /dev/zero | tr '\\0' x")
    assert len(run["steps"][0]["answerPreview"]) <= 160


def test_control_characters_on_stderr(client: SidecarClient) -> None:
    run = client.run_to_end(r"printf '\033[1A\033[2Kup\n' >&2; exit 1")
    result = client.call("run/result", {"runId": run["runId"]})
    assert result["steps"][0]["stderrTail"] == "up\n"
    assert client.text(run["runId"], stream="stderr") == "up\n"


@each("label", ["\x1b[31mred", "a\nb", "a\0b", "\u202e", "\x9b31m", "\ud800"])
def test_a_label_cannot_drive_a_terminal_either(client: SidecarClient, label: str) -> None:
    # Whatever is done with it (refused, cleaned, carried through): answers stay strict JSON.
    message = client.answer(
        client.post_ascii(
            "run/launch", {"label": label, "step": {"agent": "command", "shell": "true"}}
        )
    )
    if "error" in message:
        assert message["error"]["data"]["field"] == "label"
        return
    run = client.wait_over(message["result"]["run"]["runId"])[0]
    assert client.get(run["runId"]) == run
