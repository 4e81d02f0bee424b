"""pygls, for what LSP itself defines: initialize, shutdown, progress, and requests to the client.

Its protocol machinery stands behind our gate and our stream: a message comes here once the gate has
let it in, what is sent goes to ``transport``. Our own methods do not pass through it, because it
would make untyped tuples of their params; nor do notifications, since it keeps a future for each.

What pygls offers beyond that is taken away: it would keep every document that an editor opens.
"""

from collections.abc import Generator
from typing import Any, Final, Protocol

import cattrs
import orjson
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

import sidecar
from sidecar.server.diary import log
from sidecar.server.gate import MessageId

NAME: Final = "sidecar"

KEPT: Final = frozenset({lsp.INITIALIZE, lsp.SHUTDOWN})
"""The rest is ours, ignored, or (``exit``) decided by the gate."""


class Transport(Protocol):
    """Where pygls' messages go."""

    def send(self, body: bytes) -> None:
        """Send a message that is complete."""
        ...

    def may_answer(self, request_id: MessageId) -> bool:
        """Whether this request is still owed its one answer, which is given now."""
        ...


class SidecarProtocol(LanguageServerProtocol):
    """pygls' protocol on our transport."""

    transport: Transport
    offer: lsp.ServerCapabilities
    """What ``initialize`` is answered with, apart from what pygls adds for every server."""

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        super().__init__(server, converter)
        for name in set(self.fm.builtin_features) - KEPT:
            del self.fm.builtin_features[name]

    def initialize(self, request_id: MessageId, params: dict[str, Any]) -> None:
        """Answer ``initialize``; whatever an editor says that LSP does not know is passed over."""
        said = params.get("capabilities")
        capabilities = lsp.ClientCapabilities()
        try:
            capabilities = self._converter.structure(said, lsp.ClientCapabilities)
        except Exception as exc:  # noqa: BLE001 - cattrs raises whatever its hooks stumble over
            log.warning("capabilities that are not those of LSP are passed over: %s", exc)
        self._admit(
            lsp.InitializeRequest(
                id=request_id, params=lsp.InitializeParams(capabilities=capabilities)
            )
        )

    def shut_down(self, request_id: MessageId) -> None:
        """Answer ``shutdown``; what we asked the client is not waited for any more."""
        self._admit(lsp.ShutdownRequest(id=request_id))

    def route(self, message: dict[str, Any]) -> None:
        """Take the answer to something that we asked the client."""
        try:
            structured = self.structure_message(message)
        except JsonRpcException as exc:
            log.warning("an answer that is none of LSP is passed over: %s", exc)
            return
        self._admit(structured)

    def _admit(self, message: Any) -> None:
        # lsprotocol's messages are what pygls handles, but not what its annotations say.
        self.handle_message(message)

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(
        self, params: lsp.InitializeParams
    ) -> Generator[Any, Any, lsp.InitializeResult]:
        """Answer with what this server offers, and nothing that it does not."""
        result = yield from super().lsp_initialize(params)
        result.capabilities = lsp.ServerCapabilities(
            position_encoding=result.capabilities.position_encoding,
            text_document_sync=lsp.TextDocumentSyncKind.None_,
            execute_command_provider=self.offer.execute_command_provider,
            experimental=self.offer.experimental,
        )
        return result

    def _send_data(self, data: Any) -> None:
        self.transport.send(orjson.dumps(data, default=self._serialize_message))

    def _send_response(
        self, msg_id: MessageId, result: Any = None, error: lsp.ResponseError | None = None
    ) -> None:
        if self.transport.may_answer(msg_id):
            super()._send_response(msg_id, result, error)


def new_protocol() -> SidecarProtocol:
    """pygls' server for one connection; its ``transport`` is to be set before it is used."""
    server = LanguageServer(
        name=NAME,
        version=sidecar.__version__,
        text_document_sync_kind=lsp.TextDocumentSyncKind.None_,
        protocol_cls=SidecarProtocol,
        converter_factory=default_converter,
    )
    protocol = server.protocol
    assert isinstance(protocol, SidecarProtocol)  # noqa: S101 - it was just asked for
    return protocol
