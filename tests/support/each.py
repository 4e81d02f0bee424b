"""One test, one server, many values: for promises whose every case would cost a server's start.

``each`` reads like ``pytest.mark.parametrize``, but all values meet the same fixtures, one after
the other. Every value is tried; the first failure is raised, with a note that names all.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

Test = Callable[..., None]


def each(names: str | tuple[str, ...], values: Sequence[Any]) -> Callable[[Test], Test]:
    """Call the test with each of ``values``: one for a single name, else a tuple of them."""
    wanted = (names,) if isinstance(names, str) else names

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def call_all(*args: Any, **kwargs: Any) -> None:
            failed: list[tuple[object, Exception]] = []
            for value in values:
                row = (value,) if isinstance(names, str) else value
                try:
                    test(*args, **kwargs, **dict(zip(wanted, row, strict=True)))
                except Exception as exc:  # noqa: BLE001 - raised again below, whatever it is
                    failed.append((value, exc))
            if failed:
                told = ", ".join(repr(value)[:80] for value, _ in failed)
                failed[0][1].add_note(f"failed for {len(failed)} of {len(values)}: {told}")
                raise failed[0][1]

        # What pytest takes for fixtures is read from the signature.
        left = [item for name, item in signature.parameters.items() if name not in wanted]
        call_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return call_all

    return decorate
