"""What each further row of the screen, and each further column, adds to a pane, as golden text.

`pytest tests/panes/test_heights_golden.py --update` writes the files anew. A height lists the rows
that the next smaller height did not have; a width the words that no smaller width had.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from golden_text import same
from scenes import big, lossy, storied

from nettop import panes
from nettop.panes import page
from nettop.terms.text import text_of
from nettop.views.scene import Scene
from nettop.views.view import View

GOLDEN = Path(__file__).parents[1] / "golden/panes-heights"
WIDTH = 100
HEIGHTS = range(4, 56)
WIDTHS = range(30, 211, 2)
SCENES: dict[str, Callable[[], Scene]] = {
    "storied": storied, "lossy": lossy, "big": lambda: big(64),
}  # fmt: skip


def rows(scene: Scene, name: str, width: int, height: int) -> list[str]:
    return [text_of(row).rstrip() for row in page.compose(scene, View(pane=name), width, height)]


def heights(scene: Scene, name: str) -> list[str]:
    """Graphs and lines of keys change with every height: only their first letters are compared."""
    out: list[str] = []
    before: set[str] = set()
    for height in HEIGHTS:
        now = [row[:48].rstrip() for row in rows(scene, name, WIDTH, height)]
        gone = len(before - set(now))
        new = [row for row in now if row not in before and not braille(row)]
        if new or gone:
            out += [f"── {height}: {gone} less", *new]
        before = set(now)
    return out


def braille(row: str) -> bool:
    return any("\u2800" <= letter <= "\u28ff" for letter in row)


def widths(scene: Scene, name: str) -> list[str]:
    out = []
    known: set[str] = set()
    for width in WIDTHS:
        words = {word for row in rows(scene, name, width, 30) for word in row.split()}
        new = sorted(word for word in words - known if word.isalpha() and word.isascii())
        known |= words
        if new:
            out.append(f"{width}: {' '.join(new)}")
    return out


@pytest.mark.parametrize("name", panes.names())
def test_golden(name: str, update: bool) -> None:
    out = []
    for host, scene in SCENES.items():
        made = scene()
        out += [f"== {host}", *(heights(made, name) if host != "big" else ())]
        out += [f"== {host} by width", *widths(made, name)]
    text = "\n".join(out) + "\n"
    path = GOLDEN / f"{name}.txt"
    same(path, text, update)
