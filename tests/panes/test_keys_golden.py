"""What each key changes on the screen of each pane, as golden text.

`pytest tests/panes/test_keys_golden.py --update` writes the files anew. Each key has the request
that it makes, and the rows that differ from those before it.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from golden_text import same
from pane_text import above_footer
from scenes import lossy, storied

from nettop import panes
from nettop.terms.text import text_of
from nettop.tui import keys
from nettop.views.ask import Ask
from nettop.views.scene import Scene
from nettop.views.view import View

GOLDEN = Path(__file__).parents[1] / "golden/panes-keys"
WIDTH, HEIGHT = 110, 30
MOST = 3  # rows of one change
# the help and the panes themselves are compared elsewhere
LEFT_OUT = ("help", "open", "next", "previous", "full")
# several keys at once: from the state before them
TYPED = (
    *(">" * n for n in range(2, 13)), *(">" * n + "I" for n in (1, 3, 5)), "jj", "jjj", "G", "Gk",
    "jjjjjj", "jn", "jnn", "jN", "ll", "llll", "lllh", "/eth\r", "/nothing\r", "/3\r", "jjjz", "zj",
    "j\r", "jj\r", "jjj\r", "G\r", "ja", "je", "jy",
    "Gu", "Gy", "Ge", "Gm", "[[", "]]", "iI", "zRI",
)  # fmt: skip


def rows(scene: Scene, view: View) -> list[str]:
    return [text_of(row).rstrip() for row in above_footer(scene, view, WIDTH, HEIGHT)]


def pressed(scene: Scene, view: View, typed: str) -> tuple[View, list[str]]:
    """The view after these keys, and the requests that they made."""
    asked = []
    for name, char in [("enter", "\r") if key == "\r" else (key, key) for key in typed]:
        view, ask = keys.press(name, char, view, scene)
        asked += [told(ask)] if ask is not None else []
    return view, asked


def changes(scene: Scene, name: str) -> dict[str, str]:
    """Keys, and what they do; those that do the same are named together."""
    start = View(pane=name)
    known = set(rows(scene, start))
    out: dict[str, list[str]] = {}  # what is done → keys
    single = [one for key in keys.KEYS if key.action not in LEFT_OUT for one in key.keys]
    for typed in (*single, *TYPED):
        if typed in single and len(typed) > 1:
            view, ask = keys.press(typed, None, start, scene)
            asked = [told(ask)] if ask is not None else []
        else:
            view, asked = pressed(scene, start, typed)
        after = rows(scene, view) if view.pane == name else [f"opens {view.pane}"]
        new = [f"{n:2} {row}" for n, row in enumerate(after) if row not in known]
        more = [f"   … {len(new) - MOST} more"] if len(new) > MOST else []
        if asked or new:
            done = "\n".join([", ".join(asked), *new[:MOST], *more])
            out.setdefault(done, []).append(typed.replace("\r", "⏎"))
    return {" ".join(typed): done for done, typed in out.items()}


def told(ask: Ask) -> str:
    return " ".join(filter(None, ("asks", ask.verb, ask.target, ask.value)))


@pytest.mark.parametrize("name", panes.names())
def test_golden(name: str, update: bool) -> None:
    """Of the second scene only what is otherwise."""
    first, second = changes(storied(), name), changes(lossy(), name)
    other = {typed: done for typed, done in second.items() if first.get(typed) != done}
    text = "".join(
        f"== {scene}\n"
        + "".join(f"── {typed}: {done}\n".replace(": \n", ":\n") for typed, done in found.items())
        for scene, found in (("storied", first), ("lossy", other))
    )
    same(GOLDEN / f"{name}.txt", text, update)


def test_a_pane_without_a_host_takes_every_key() -> None:
    for name in panes.names():
        for scene in (Scene(), replace(lossy(), facts=None, frame=None)):
            for typed in TYPED:
                view, _ = pressed(scene, View(pane=name), typed)
                assert len(rows(scene, view)) >= HEIGHT - 1
