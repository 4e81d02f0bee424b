#!/usr/bin/env python3
"""Writes what is made from ``sidecar.wire``: the JSON Schema, and marked sections of protocol.md.

    python scripts/gen_protocol.py            write what is out of date
    python scripts/gen_protocol.py --check    write nothing; exit 1 if anything is out of date

It must never write between markers what a person could want to edit, nor outside of them at all.
"""

import argparse
import difflib
import re
import sys
from pathlib import Path

from sidecar.wire import example, reference, schema

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = Path("sidecar/wire/schema.json")
PROTOCOL = Path("protocol.md")
FIX = "python scripts/gen_protocol.py"

_SECTION = re.compile(
    r"(?P<begin><!-- generated: (?P<name>[a-z-]+) -->\n)(?P<body>.*?)(?P<end><!-- /generated -->)",
    re.DOTALL,
)


class MarkerError(Exception):
    """protocol.md names a section that nobody makes, or lacks one that somebody does."""


def sections() -> dict[str, str]:
    """Every section that is made, by the name in its marker."""
    return {**reference.sections(), "example": f"```text\n{example.text()}\n```"}


def filled(document: str, made: dict[str, str]) -> str:
    """``document`` with every marked section replaced.  Raises ``MarkerError``."""
    marked = [match["name"] for match in _SECTION.finditer(document)]
    unknown = sorted(set(marked) - made.keys())
    missing = sorted(made.keys() - set(marked))
    twice = sorted({name for name in marked if marked.count(name) > 1})
    if unknown or missing or twice:
        raise MarkerError(f"unknown: {unknown}; missing: {missing}; twice: {twice}")
    return _SECTION.sub(
        lambda match: f"{match['begin']}\n{made[match['name']]}\n\n{match['end']}", document
    )


def generated(root: Path) -> dict[Path, str]:
    """Each file that is made, as it should be."""
    document = (root / PROTOCOL).read_text(encoding="utf-8")
    return {SCHEMA: schema.to_json(), PROTOCOL: filled(document, sections())}


def out_of_date(root: Path) -> dict[Path, str]:
    """The files that are not as they should be, with what they should be."""
    return {path: text for path, text in generated(root).items() if _text(root / path) != text}


def main(argv: list[str]) -> int:
    """Write, or check; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a difference"
    )
    check: bool = parser.parse_args(argv).check
    stale = out_of_date(ROOT)
    for path, text in stale.items():
        if check:
            _show_difference(path, text)
        else:
            (ROOT / path).write_text(text, encoding="utf-8")
            print(f"written: {path}")
    if check and stale:
        print(f"out of date: {', '.join(map(str, stale))}\nrun: {FIX}", file=sys.stderr)
        return 1
    return 0


def _show_difference(path: Path, text: str) -> None:
    lines = difflib.unified_diff(
        _text(ROOT / path).splitlines(),
        text.splitlines(),
        str(path),
        "as made now",
        lineterm="",
        n=1,
    )
    print("\n".join(list(lines)[:40]))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
