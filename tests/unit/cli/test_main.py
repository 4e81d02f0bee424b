"""The program chooses a face by its first word, and says where it cannot work at all."""

import os
import sys
from types import ModuleType, SimpleNamespace

import pytest

import sidecar.__main__ as program


def test_serve_is_the_server_and_the_command_line_is_not_even_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[list[str]] = []

    def serve(argv: list[str]) -> int:
        called.append(argv)
        return 7

    server = ModuleType("sidecar.server.app")
    server.main = serve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sidecar.server.app", server)
    monkeypatch.setattr("sidecar.server.app", server, raising=False)
    monkeypatch.setitem(sys.modules, "sidecar.cli.main", None)
    monkeypatch.setattr(sys, "argv", ["sidecar", "serve", "--x"])
    assert program.main() == 7
    assert called == [["--x"]]


def test_everything_else_is_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sidecar.server.app", None)
    monkeypatch.setattr(sys, "argv", ["sidecar", "nonsense", "serve"])
    assert program.main() == 2
    assert capfd.readouterr().err.startswith("sidecar: ")


def test_a_system_without_the_means_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "os", SimpleNamespace(name="nt", environ=os.environ))
    for argv in (["sidecar", "list"], ["sidecar", "serve"]):
        monkeypatch.setattr(sys, "argv", argv)
        assert program.main() == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("sidecar: not on this system")
