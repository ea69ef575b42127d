"""Expected output that is kept as text."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

LONGEST = 3000  # characters of a difference that are shown


def same(path: Path, text: str, update: bool) -> None:
    """Compare with the expected text of a file, or write it.

    A difference fails with one sentence, which names the command that writes the file, and with
    the lines that differ.
    """
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    was = path.read_text(encoding="utf-8") if path.exists() else None
    if was == text:
        return
    test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
    name = f"{path.parent.name}/{path.name}"
    if was is None:
        pytest.fail(f"{name} does not exist: `pytest {test} --update` writes it", pytrace=False)
    lines = difflib.unified_diff(_lines(path, was), _lines(path, text), lineterm="", n=1)
    differ = "\n".join(lines)[:LONGEST]
    pytest.fail(
        f"{name} differs: read the lines below; if they are right, `pytest {test} --update` writes "
        f"them\n{differ}",
        pytrace=False,
    )


def _lines(path: Path, text: str) -> list[str]:
    """The lines that are compared; of a picture the elements, since one line has hundreds."""
    return (text.replace("><", ">\n<") if path.suffix == ".svg" else text).split("\n")
