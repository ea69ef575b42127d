"""Expected output that is kept as text."""

from __future__ import annotations

import difflib
from pathlib import Path


def same(path: Path, text: str, update: bool) -> None:
    """Compare with the expected text of a file, or write it."""
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    was = path.read_text() if path.exists() else ""
    differ = "\n".join(difflib.unified_diff(was.split("\n"), text.split("\n"), lineterm="", n=1))
    name = f"{path.parent.name}/{path.name}"
    assert not differ, f"{name} changed (pytest --update):\n{differ[:3000]}"
