"""Expected output that is kept as text."""

import difflib
import os
import re
from pathlib import Path

import pytest

HEAD = "== "
LONGEST = 3000  # characters of a difference that are shown


def same(path: Path, text: str, update: bool, part: str = "") -> None:
    """Compare with the expected text of a file, or of a part of it, or write it.

    A difference fails with one sentence, which names the command that writes the file, and with
    the lines that differ.
    """
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = "".join(
            f"{HEAD}{name}\n{content}"
            for name, content in sorted({**parts(path), part: text}.items())
        )
        path.write_text(whole if part else text, encoding="utf-8")
    if part:
        was = parts(path).get(part)
    else:
        was = path.read_text(encoding="utf-8") if path.exists() else None
    if was == text:
        return
    test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
    name = " ".join(filter(None, (f"{path.parent.name}/{path.name}", part)))
    if was is None:
        pytest.fail(f"{name} does not exist: `pytest {test} --update` writes it", pytrace=False)
    lines = difflib.unified_diff(_lines(path, was), _lines(path, text), lineterm="", n=1)
    differ = "\n".join(lines)[:LONGEST]
    pytest.fail(
        f"{name} differs: read the lines below; if they are right, `pytest {test} --update` writes "
        f"them\n{differ}",
        pytrace=False,
    )


def parts(path: Path) -> dict[str, str]:
    """The parts of a file by name: each begins with a line `== name`."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.split(rf"^{HEAD}(.*)\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def _lines(path: Path, text: str) -> list[str]:
    """The lines that are compared; of a picture the elements, since one line has hundreds."""
    return (text.replace("><", ">\n<") if path.suffix == ".svg" else text).split("\n")
