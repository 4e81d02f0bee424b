"""The base protocol: what a server must read, and that it writes nothing but frames.

Whatever is odd here was sent by some editor once, or will be: each test goes on afterwards and asks
the server something, because a stream that is out of step is worse than an error.
"""

from tests.support.each import each
from tests.support.framing import encode, frame
from tests.support.rpc import Client, peak_kib
from tests.support.serving import Servers, SidecarClient

TOO_LARGE = 64 * 1024 * 1024 + 1
CHUNK = b" " * (1 << 20)


def request_body(request_id: str, method: str = "run/list", **params: object) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def assert_answered(client: Client, *request_ids: str) -> None:
    for request_id in request_ids:
        assert "result" in client.answer(request_id)


@each("name", ["content-length", "CONTENT-LENGTH", "cOnTeNt-LeNgTh"])
def test_header_names_in_any_case(client: SidecarClient, name: str) -> None:
    request_id = client.new_id()
    body = request_body(request_id)
    client.send(b"%b: %d\r\n\r\n%b" % (name.encode(), len(body), body))
    assert_answered(client, request_id)


@each(
    "header",
    [
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
        "Content-Length: {}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        "Content-Length: {}\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        "X-Trace: one: two\r\nContent-Length: {}\r\nX-Empty:\r\n\r\n",
        "Content-Length:{}\r\n\r\n",
        "Content-Length:   {}  \r\n\r\n",
    ],
)
def test_other_headers_and_blanks(client: SidecarClient, header: str) -> None:
    request_id = client.new_id()
    body = request_body(request_id)
    client.send(header.format(len(body)).encode() + body)
    assert_answered(client, request_id)


def test_header_lines_that_end_in_lf_alone(client: SidecarClient) -> None:
    body = request_body("lf")
    client.expect_answers_to("lf")
    client.send(b"Content-Length: %d\n\n%b" % (len(body), body))
    assert_answered(client, "lf")
    client.sync()


def test_lengths_are_bytes_not_characters(client: SidecarClient) -> None:
    # Two bytes, three, four, and two characters that are one letter.
    method = "no/such/\u00e9\u4e2d\U0001f600e\u0301"
    error = client.refusal(method, {"t": "\u00e9" * 1000})
    assert error["code"] == -32601
    client.sync()


def test_texts_beyond_ascii_come_back_as_they_were(client: SidecarClient) -> None:
    label = "caf\u00e9 \U0001f680 \u4e2d\u6587"
    run = client.run_to_end("true", label=label)
    assert (run["label"], run["state"]) == (label, "complete")


def test_escaped_characters_are_the_same_characters(client: SidecarClient) -> None:
    body = rb'{"jsonrpc":"2.0","id":"\u00e9","method":"run\/list","params":{}}'
    client.expect_answers_to("\u00e9")
    client.send(frame(body))
    assert_answered(client, "\u00e9")


def test_byte_by_byte(client: SidecarClient) -> None:
    client.expect_answers_to("slow", "after")
    for byte in frame(request_body("slow")) + frame(request_body("after")):
        client.send(bytes((byte,)))
    assert_answered(client, "slow", "after")


@each("cut", [1, 15, 16, 18, 19, 20, 21, 40])
def test_a_message_in_two_halves(client: SidecarClient, cut: int) -> None:
    # In the name, in the number, between CR and LF, before the body, in the body.
    request_id = client.new_id()
    message = frame(request_body(request_id))
    client.send(message[:cut])
    client.send(message[cut:])
    assert_answered(client, request_id)


def test_many_messages_in_one_write(client: SidecarClient) -> None:
    names = [f"q{number}" for number in range(200)]
    client.expect_answers_to(*names)
    client.send(b"".join(frame(request_body(name)) for name in names))
    assert_answered(client, *names)


def test_a_large_message(client: SidecarClient) -> None:
    # More than any pipe or read buffer holds, in the field that is carried through untouched.
    prompt = "\u00e9" * (2 << 20)
    run = client.launch("wc -c", step={"prompt": prompt})
    client.wait_over(run["runId"])
    assert client.text(run["runId"]).split() == [str(len(prompt.encode()))]


@each(
    "body",
    [
        b"invalid message",
        b"",
        b'{"jsonrpc":"2.0","id":1,"method":',
        b'{"jsonrpc":"2.0","id":1,"method":"run/list","params":{"limit":NaN}}',
        b'\xff\xfe{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}',
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_json(client: SidecarClient, body: bytes) -> None:
    client.send(frame(body))
    message = client.orphan()
    assert message["id"] is None
    assert message["error"]["code"] == -32700
    client.sync()


@each("garbage", [b"garbage\r\n", b"garbage\r\n\r\n", b"\r\n\r\n", b"Content-Length: many\r\n\r\n"])
def test_the_stream_goes_on_after_garbage_in_a_header(
    client: SidecarClient, garbage: bytes
) -> None:
    # Nobody can know what was meant, but a line ends somewhere, and a header begins after it.
    request_id = client.new_id()
    client.send(garbage + frame(request_body(request_id)))
    assert_answered(client, request_id)
    for orphan in client.orphans:
        orphan.is_read = True
        assert orphan.message["error"]["code"] in (-32700, -32600)


def test_a_message_that_is_too_large_is_skipped_not_buffered(client: SidecarClient) -> None:
    before = peak_kib(client)
    client.send(b"Content-Length: %d\r\n\r\n" % TOO_LARGE)
    sent = 0
    while sent < TOO_LARGE:
        chunk = CHUNK[: TOO_LARGE - sent]
        client.send(chunk)
        sent += len(chunk)
    message = client.orphan()
    assert message["id"] is None
    assert message["error"]["code"] in (-32600, -32700)
    client.sync()
    assert peak_kib(client) - before < TOO_LARGE // 1024 // 4


def test_the_largest_message_is_still_read(client: SidecarClient) -> None:
    body = request_body("largest")
    client.expect_answers_to("largest")
    client.send(b"Content-Length: %d\r\n\r\n" % (TOO_LARGE - 1))
    client.send(body + b" " * (TOO_LARGE - 1 - len(body)))
    assert_answered(client, "largest")


def test_nothing_but_frames_with_warnings_switched_on(servers: Servers) -> None:
    # Libraries warn, and some print; the client refuses every byte that is not a frame.
    client = servers.start(env={"PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1"})
    client.initialize()
    run = client.run_to_end("echo out; echo err >&2")
    assert client.text(run["runId"]) == "out\n"
    client.refusal("no/such")
    client.refusal("run/get", {"runId": "0000"})
    client.call("run/list", {"scope": "all"})
