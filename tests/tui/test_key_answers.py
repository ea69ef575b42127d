"""Each key answers: what has no effect says so, and changes nothing for later."""

from dataclasses import replace

import pytest
from folded import folded
from pane_text import words
from scenes import SCENES, big, lossy, storied

from nettop import panes
from nettop.panes import hints, page
from nettop.terms.text import line
from nettop.tui import answers, keys
from nettop.tui.notes import HARMLESS, no_finding, no_setting
from nettop.views.ask import Ask
from nettop.views.scene import Question, Scene, SceneOrigin
from nettop.views.view import View

WITHOUT = ("sort", "interface", "driver_names")  # may lead to the same picture, if there is no room


def pressed(name: str, view: View, scene: Scene) -> tuple[View, Ask | None, str]:
    return answers.press((name, name if len(name) == 1 else None), view, scene)


CHOSEN = "sorted by", "interface: ", "profile: "  # told where the picture stays as it is
# at the first and the last row the cursor is its own answer
MOVES = frozenset("up down first last page_up page_down end".split())


@folded("name", panes.names())
@folded("host", SCENES)
def test_every_key_changes_the_screen_or_says_why_not(host: str, name: str) -> None:
    scene = SCENES[host]()
    view = page.painted(scene, View(pane=name), 120, 40)
    before = page.compose(scene, view, 120, 40)
    known = {key for one in keys.KEYS if one.action not in MOVES for key in one.keys}
    for key in sorted(known):
        after, ask, said = pressed(key, view, scene)
        changed = page.compose(scene, after, 120, 40) != before
        assert changed or ask is not None or said, (name, key)
        assert not said or after == view or said.startswith(CHOSEN)
        assert len(said.partition(": ")[2].split()) <= 4


@pytest.mark.parametrize(
    ("key", "pane", "said"),
    [
        ("enter", "journal", "Enter: nothing opens here"),
        ("z", "nic", "z: nothing folds here"),
        ("z", "overview", "z: nothing folds here"),
        (">", "overview", ">: nothing to sort"),
        ("escape", "cores", "Esc: nothing to close"),
        ("4", "flows", "4: already open"),
        ("M", "advisor", "M: nothing is muted"),
        (">", "journal", "sorted by WHEN"),
        ("i", "journal", "interface: eth0"),
        ("l", "cores", "l: no more columns"),
        ("[", "overview", "[: only in History (7)"),
        ("w", "overview", "w: only in Options (9)"),
        ("Q", "overview", "Q: no such key"),
        ("P", "overview", "profile: bulk-lan"),
        ("e", "overview", "e: no setting here"),
        ("/", "overview", "/: nothing to filter"),
        ("/", "history", "/: nothing to filter"),
    ],
)
def test_what_a_key_says(key: str, pane: str, said: str) -> None:
    view = page.painted(lossy(), View(pane=pane), 120, 40)
    assert pressed(key, view, lossy())[2] == said


@folded("name", panes.names())
def test_a_filter_opens_only_where_it_chooses_among_rows(name: str) -> None:
    scene = replace(storied(), journal=lossy().journal or storied().journal)
    view = page.painted(scene, View(pane=name), 120, 40)
    opened = pressed("/", view, scene)[0].typing
    assert opened == panes.pane(name).FILTERED
    none = replace(view.at(filter="no row has this"))
    fewer = panes.pane(name).items(scene, none) != panes.pane(name).items(scene, view)
    assert fewer == opened


def test_what_is_not_under_the_cursor_is_told_with_where_it_can_be_selected() -> None:
    scene = lossy()
    finding = "no finding is under the cursor: "
    for name in ("overview", "advisor"):
        assert no_finding(View(pane=name), scene) == f"{finding}select one with ↑ ↓"
    for name in ("cores", "nic", "flows"):
        assert no_finding(View(pane=name), scene) == f"{finding}5 lists them"
    assert no_finding(View(), replace(scene, findings=(), ended=())) == "no finding holds"
    setting = "no setting is under the cursor: "
    assert no_setting(View(pane="nic"), scene) == f"{setting}select one with ↑ ↓"
    assert no_setting(View(pane="flows"), scene) == f"{setting}3 lists them"


def test_a_character_that_cannot_be_printed_is_called_by_its_key() -> None:
    view = page.painted(lossy(), View(), 120, 40)
    assert answers.press(("ctrl+l", "\x0c"), view, lossy())[2] == "ctrl+l: no such key"


def test_a_key_with_an_effect_says_nothing() -> None:
    view = page.painted(big(), View(pane="cores"), 120, 40)
    for key in ("z", ">", "j", "3", "G", "f"):
        after, _, said = pressed(key, view, big())
        assert said == ""
        assert after != view


def test_in_a_field_and_a_question_characters_are_no_keys() -> None:
    scene = storied()
    typing = replace(View(pane="flows"), typing=True)
    assert pressed("Q", typing, scene)[2] == ""
    editing = replace(View(pane="nic"), editing="link.mtu@eth0")
    assert pressed("Q", editing, scene)[2] == ""


def test_y_in_a_question_is_neither_yes_nor_a_copy_except_of_an_export() -> None:
    body = ("", (line("ethtool -G eth0 rx 4096"),))
    scene = replace(storied(), question=Question("Apply", (body,), "change"))
    view = replace(View(), unread=0)
    assert pressed("y", view, scene) == (view, None, answers.QUESTION)
    assert pressed("enter", view, scene)[1] == Ask("agree")
    assert "copy" not in words(page.compose(scene, view, 80, 24))
    export = replace(scene, question=Question("Export", (body,), "export"))
    assert pressed("y", view, export)[1] == Ask("copy", value="ethtool -G eth0 rx 4096")


@folded("name", panes.names())
@folded("host", SCENES)
def test_the_footer_offers_only_keys_that_do_something(host: str, name: str) -> None:
    for origin, size in ((None, (80, 24)), (SceneOrigin("recording", "web1"), (200, 60))):
        scene = replace(SCENES[host](), origin=origin)
        view = page.painted(scene, View(pane=name), *size)
        for row in panes.pane(name).items(scene, view)[:12] or ("",):
            here = page.painted(scene, view.at(on=row) if row else view, *size)
            before = page.compose(scene, here, *size)
            for hint in hints.hints(scene, here):
                after, ask = keys.act(hint.action, here, scene)
                allowed = origin is None or ask is None or ask.verb in HARMLESS | {"stop"}
                assert allowed, (hint, ask)
                if ask is None and hint.action not in WITHOUT:
                    assert page.compose(scene, after, *size) != before, hint
