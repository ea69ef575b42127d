"""Which rows a pane has at each height of the screen, and which words at each width, golden text.

`pytest tests/panes/test_heights_golden.py --update` writes the files anew. A row has the heights at
which it is shown; a width has the words that no smaller width had.
"""

from itertools import groupby
from pathlib import Path

import pytest
from golden_text import same
from pane_text import above_footer
from scenes import lossy, storied

from nettop import panes
from nettop.terms.text import text_of
from nettop.views.scene import Scene
from nettop.views.view import View

GOLDEN = Path(__file__).parents[1] / "golden/panes-heights"
WIDTH = 100
HEIGHTS = range(4, 56)
WIDTHS = range(30, 211, 2)


def rows(scene: Scene, name: str, width: int, height: int) -> list[str]:
    return [text_of(row).rstrip() for row in above_footer(scene, View(pane=name), width, height)]


def heights(scene: Scene, name: str) -> dict[str, str]:
    """Each row with the heights that have it; of graphs none, of the others the first letters."""
    seen: dict[str, list[int]] = {}
    for height in HEIGHTS:
        for row in rows(scene, name, WIDTH, height):
            short = row.strip("│├╭─ ")[:48].rstrip()
            if short and not braille(row) and height not in seen.setdefault(short, []):
                seen[short].append(height)
    return {("╰─ frame" if "╰" in row else row): ranges(found) for row, found in seen.items()}


def ranges(numbers: list[int]) -> str:
    """Numbers next to each other as one range; the last of HEIGHTS is open."""
    out = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        first, *rest = (number for _, number in group)
        last = rest[-1] if rest else first
        open_ = last == HEIGHTS[-1]
        out.append(f"{first}–" if open_ else f"{first}–{last}" if rest else f"{first}")
    return ",".join(out)


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
    first, second = (heights(scene, name) for scene in (storied(), lossy()))
    other = {row: at for row, at in second.items() if row not in first}
    told = [[f"{at:10} {row}" for row, at in found.items()] for found in (first, other)]
    out = ["== storied", *told[0], "== lossy", *told[1]]
    out += ["== storied by width", *widths(storied(), name)]
    same(GOLDEN / f"{name}.txt", "\n".join(out) + "\n", update)
