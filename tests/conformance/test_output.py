"""``run/output``: pages of a log by byte offset, as tame text or as the very bytes."""

import base64
from pathlib import Path
from typing import Any

from tests.support.each import each
from tests.support.expectations import status
from tests.support.serving import Gate, Servers, SidecarClient

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def page(client: SidecarClient, run_id: str, **params: object) -> dict[str, Any]:
    found: dict[str, Any] = client.call("run/output", {"runId": run_id} | params)
    return found


def raw_bytes(client: SidecarClient, run_id: str, **params: object) -> bytes:
    found = page(client, run_id, encoding="base64", **params)
    assert found["encoding"] == "base64"
    return base64.b64decode(found["text"], validate=True)


def ended(client: SidecarClient, text: bytes, tmp_path: Path) -> str:
    """A run whose output is exactly these bytes."""
    source = tmp_path / "bytes"
    source.write_bytes(text)
    run = client.run_to_end(command=["cat", str(source)])
    assert run["state"] == "complete"
    return str(run["runId"])


def test_both_streams_apart(client: SidecarClient) -> None:
    run_id = client.run_to_end("echo out; echo err >&2")["runId"]
    assert page(client, run_id) == {
        "text": "out\n", "offset": 0, "nextOffset": 4, "eof": True, "truncated": False,
    }  # fmt: skip
    assert client.text(run_id, stream="stderr") == "err\n"
    assert client.text(run_id, stream="answer") == "out\n"
    assert client.text(run_id, step=0) == "out\n"


@each(
    ("offset", "limit", "expected"),
    [
        (0, 5, ("abcde", 0, 5, True)),
        (5, 5, ("fghij", 5, 10, True)),
        (24, 5, ("yz", 24, 26, False)),
        (26, 5, ("", 26, 26, False)),
        (-3, 1000, ("xyz", 23, 26, False)),
        (-3, 2, ("xy", 23, 25, True)),
        (-26, 1, ("a", 0, 1, True)),
        (-1000, 3, ("abc", 0, 3, True)),
    ],
)
def test_a_part_by_offset(
    client: SidecarClient, tmp_path: Path, offset: int, limit: int, expected: tuple[Any, ...]
) -> None:
    run_id = ended(client, ALPHABET.encode(), tmp_path)
    found = page(client, run_id, offset=offset, limit=limit)
    told = tuple(found[name] for name in ("text", "offset", "nextOffset", "truncated"))
    assert told == expected
    assert found["eof"] == (not expected[3])


def test_beyond_the_end_there_is_nothing(client: SidecarClient, tmp_path: Path) -> None:
    run_id = ended(client, b"abc", tmp_path)
    found = page(client, run_id, offset=1000)
    assert (found["text"], found["eof"]) == ("", True)


def test_a_live_run_has_no_end_yet(servers: Servers, tmp_path: Path) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(f"echo one; {gate.wait}; echo two")["runId"]
    client.wait_text(run_id, "one\n")
    first = page(client, run_id)
    assert (first["eof"], first["truncated"], first["nextOffset"]) == (False, False, 4)
    gate.open()
    client.expect(status(run_id, "complete"))
    rest = page(client, run_id, offset=first["nextOffset"])
    assert (rest["text"], rest["eof"]) == ("two\n", True)


@each("limit", [1, 2, 3, 5, 7, 1000])
def test_no_character_is_cut_in_two(client: SidecarClient, tmp_path: Path, limit: int) -> None:
    text = "a\u00e9\u4e2d\U0001f600" * 5
    run_id = ended(client, text.encode(), tmp_path)
    found: list[dict[str, Any]] = []
    offset = 0
    while not found or not found[-1]["eof"]:
        found.append(page(client, run_id, offset=offset, limit=limit))
        assert found[-1]["offset"] == offset
        assert found[-1]["nextOffset"] > offset
        offset = found[-1]["nextOffset"]
    assert "".join(item["text"] for item in found) == text
    assert offset == len(text.encode())


def test_bytes_that_are_no_text(client: SidecarClient, tmp_path: Path) -> None:
    odd = b"good one\n" + b"gr\xfc\xdf\n" + b"a\0b\n" + b"\x80\n" + "hi\n".encode("utf-16")
    odd += b"\ngood last\n\xe2\x82"
    run_id = ended(client, odd, tmp_path)
    lines = client.text(run_id).split("\n")
    assert lines[0] == "good one"
    assert lines[1] == "gr\ufffd\ufffd"
    assert lines[2] == "ab"
    assert "good last" in lines
    assert raw_bytes(client, run_id) == odd
    assert [raw_bytes(client, run_id, offset=at, limit=1) for at in range(len(odd))] == [
        odd[at : at + 1] for at in range(len(odd))
    ]


def test_half_a_character_at_the_end_is_told_once_it_is_the_end(
    client: SidecarClient, tmp_path: Path
) -> None:
    run_id = ended(client, b"ok \xf0\x9f\x98", tmp_path)
    found = page(client, run_id)
    assert found["eof"] is True
    assert found["nextOffset"] == 6
    assert found["text"].startswith("ok ")
    assert set(found["text"][3:]) <= {"\ufffd"}


@each(
    ("written", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x1b[1A\x1b[2K\x1b[Gb", "ab"),
        ("10%\r20%\r30%\n", "10%\n20%\n30%\n"),
        ("dos\r\nline\r\n", "dos\nline\n"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("tab\tstays\n", "tab\tstays\n"),
        ("\x9b31mc1", "c1"),
    ],
)
def test_what_drives_a_terminal_is_not_shown(
    client: SidecarClient, tmp_path: Path, written: str, shown: str
) -> None:
    run_id = ended(client, written.encode(), tmp_path)
    assert client.text(run_id) == shown
    assert client.text(run_id, raw=True) == written
    assert raw_bytes(client, run_id).decode() == written


def test_escape_sequences_across_pages_do_not_get_through(
    client: SidecarClient, tmp_path: Path
) -> None:
    run_id = ended(client, b"\x1b[31mred\x1b[0m\x1b]0;title\x07" * 20, tmp_path)
    for limit in (1, 3, 4, 10):
        text, offset = "", 0
        while True:
            found = page(client, run_id, offset=offset, limit=limit)
            text += found["text"]
            offset = found["nextOffset"]
            if found["eof"]:
                break
        assert not any(character < " " and character not in "\t\n" for character in text)


def test_a_limit_larger_than_allowed_is_refused(client: SidecarClient, tmp_path: Path) -> None:
    run_id = ended(client, b"abc", tmp_path)
    error = client.refusal("run/output", {"runId": run_id, "limit": 2**40})
    assert error["data"]["field"] == "limit"


def test_a_step_that_is_not_there(client: SidecarClient, tmp_path: Path) -> None:
    run_id = ended(client, b"abc", tmp_path)
    error = client.refusal("run/output", {"runId": run_id, "step": 1})
    assert error["code"] in (-32602, -32803)
    assert error["data"]["field"] == "step"


def test_a_large_log_by_pages_is_complete(client: SidecarClient) -> None:
    run = client.run_to_end("seq 200000")
    assert client.text(run["runId"]) == "".join(f"{n}\n" for n in range(1, 200_001))
    assert run["steps"][0]["answerPreview"] == "200000"
