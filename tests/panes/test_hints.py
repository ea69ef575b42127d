"""The footer has the keys of this pane and this row, and always the help."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scenes import lossy, storied
from scenes.found import RING

from nettop import panes
from nettop.panes import cursor, hints, page
from nettop.terms.text import text_of
from nettop.tui import keys, mouse, palette
from nettop.views.origin import SceneOrigin
from nettop.views.scene import RunningTest, Scene, View


def footer(scene: Scene, view: View, width: int) -> str:
    return text_of(page.footer(scene, cursor.bound(view, scene), width))


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("pane", panes.names())
def test_help_and_the_first_key_are_never_cut(pane: str, width: int) -> None:
    scene = storied() if pane == "journal" else lossy()
    view = cursor.bound(View(pane=pane), scene)
    text = footer(scene, view, width)
    shown = hints.hints(scene, view)
    assert shown, f"the pane {view.pane} declares no hints: at least one key for the footer"
    first = shown[0]
    assert len(text) == width
    assert f"{first.key} {first.text}  " in text
    assert "? help" in text
    assert panes.pane(pane).TITLE.split()[0] in text


@pytest.mark.parametrize("width", [70, 80, 100, 120])
@pytest.mark.parametrize("more", [1, 3])
def test_more_panes_leave_room_for_keys(width: int, more: int) -> None:
    titles = [(name, panes.pane(name).TITLE) for name in panes.names()]
    titles += [(f"new{number}", "Conntrack") for number in range(more)]
    for here, title in titles:
        shown = page.shortened(titles, here, width)
        assert [name for name, _ in shown] == [name for name, _ in titles]
        assert (here, f" {title.split()[0]}") in shown
        taken = sum(2 + len(text) for _, text in shown)
        assert width - taken >= page.KEYS_ROOM or all(
            not text for name, text in shown if name != here
        )


@pytest.mark.parametrize("pane", panes.names())
def test_every_key_of_the_footer_is_in_the_table(pane: str) -> None:
    scene = storied()
    known = {key.action: key.keys for key in keys.KEYS}
    names = {"Enter": "enter", "←": "left", "→": "right", "Esc": "escape", "End": "end",
             "Ctrl-X": "ctrl+x"}  # fmt: skip
    for hint in hints.hints(scene, cursor.bound(View(pane=pane), scene)):
        assert names.get(hint.key, hint.key) in known[hint.action]


def test_the_keys_follow_the_row() -> None:
    scene = lossy()
    on = View(pane="advisor").at(on=RING.id)
    assert "a apply  p prove" in footer(scene, on, 120)
    assert "a apply" not in footer(replace(scene, origin=SceneOrigin("recording", "x")), on, 120)
    assert "a apply" not in footer(scene, View(pane="flows"), 120)
    assert "End present" in footer(scene, replace(on, moment=1.0), 120)
    tried = tuple(replace(one, experiment=True) for one in RING.wanted)
    trying = replace(scene, findings=(replace(RING, wanted=tried),))
    text = footer(trying, on, 120)
    assert "p prove" in text
    assert "a apply" not in text
    text = text_of(next(r for r in page.compose(trying, View(), 80, 24) if "prove" in text_of(r)))
    assert "a apply" not in text
    there = replace(scene, findings=(replace(RING, host="far"),))
    assert "a apply  p prove" in footer(there, on, 120)
    running = replace(scene, progress=RunningTest("bulk", 1.0, 9.0))
    assert "Ctrl-X stop" in footer(running, on, 120)


@pytest.mark.parametrize("width", [80, 120])
def test_a_click_on_a_key_of_the_footer_does_it(width: int) -> None:
    scene = lossy()
    view = cursor.bound(View(pane="advisor").at(on=RING.id), scene)
    rows = page.compose(scene, view, width, 24)
    x = text_of(rows[-1]).index("a apply") + 2
    _, ask = mouse.clicked((x, 23), rows, view, scene)
    assert ask is not None
    assert (ask.verb, ask.target) == ("apply", RING.id)
    shown, _ = mouse.clicked((text_of(rows[-1]).index("? help"), 23), rows, view, scene)
    assert shown.help


def test_the_palette_begins_with_what_can_be_done_here() -> None:
    scene = lossy()
    view = cursor.bound(View(pane="advisor").at(on=RING.id), scene)
    entries = list(palette.commands(view, scene))
    assert [name for _, _, (_, name) in entries[:2]] == ["apply", "prove"]
    assert len(entries) == len(set(entries))


def test_in_a_field_no_letter_is_offered_as_a_key() -> None:
    view = View(pane="tests", editing="form.to", draft="10.0")
    assert [one.key for one in page.shown_hints(lossy(), view, 200)] == ["Enter", "Esc", "Ctrl-U"]
    assert "Esc cancel" in text_of(page.footer(lossy(), view, 80))
