"""The footer has the keys of this pane and this row, and always the help."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from folded import folded
from golden_text import same
from pane_text import words
from scenes import lossy, storied
from scenes.found import RING

from nettop import panes
from nettop.panes import cursor, hints, page
from nettop.panes.declared import Pane
from nettop.terms.text import text_of
from nettop.tui import keys, mouse, palette
from nettop.views.ask import Hint
from nettop.views.scene import RunningTest, Scene, SceneOrigin
from nettop.views.view import View


def footer(scene: Scene, view: View, width: int) -> str:
    return text_of(page.footer(scene, cursor.bound(view, scene), width))


@folded("width", [60, 80, 100, 120, 200])
@folded("pane", panes.names())
def test_help_and_the_first_key_are_never_cut(pane: str, width: int) -> None:
    scene = storied() if pane in ("journal", "history") else lossy()
    view = cursor.bound(View(pane=pane), scene)
    text = footer(scene, view, width)
    shown = hints.hints(scene, view)
    assert shown, f"the pane {view.pane} declares no hints: at least one key for the footer"
    first = shown[0]
    assert len(text) == width
    assert f"{first.key} {first.text}  " in text
    assert "? help" in text
    if width >= 80:
        assert panes.pane(pane).TITLE.split()[0] in text


def test_golden(update: bool) -> None:
    """The one golden file with footers: each new pane changes all of them."""
    told = [
        footer(scene, View(pane=name), width).rstrip()
        for scene in (storied(), lossy())
        for name in panes.names()
        for width in (80, 120, 200)
    ]
    golden = Path(__file__).parents[1] / "golden/panes/footers.txt"
    same(golden, "\n".join(told) + "\n", update)


@pytest.mark.parametrize(
    ("row", "told"), [(RING.id, ["why"]), ("stage:core", ["show"]), ("ended@eth0", [])]
)
def test_enter_is_told_only_for_a_row_that_is_there(row: str, told: list[str]) -> None:
    shown = hints.hints(lossy(), View().at(on=row))
    assert [one.text for one in shown if one.key == "Enter"] == told


MORE = {  # panes that somebody may add: key, title, first key for the footer
    "congestion": ("+", "Congestion control", Hint("Enter", "choose an algorithm", "enter")),
    "conntrack": ("-", "Connections", Hint("Ctrl-X", "remove the entry", "stop")),
}


def added(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> dict[str, Pane]:
    """All panes with these of MORE, as the footer finds them."""
    every = {name: panes.pane(name) for name in panes.names()}
    for name in names:
        key, title, hint = MORE[name]
        second = Hint("z", "fold all of them", "fold")
        every[name] = replace(
            every["nic"], KEY=key, TITLE=title, hints=lambda *_, own=(hint, second): own
        )
    monkeypatch.setattr(page, "names", lambda: tuple(every))
    for module in (page, hints):
        monkeypatch.setattr(module, "pane", every.__getitem__)
    return every


@pytest.mark.parametrize("width", [60, 70, 80, 100, 120, 140, 200])
@pytest.mark.parametrize("more", [(), ("congestion",), tuple(MORE)], ids=["9", "10", "11"])
def test_ten_or_eleven_panes_leave_room_for_keys(
    width: int, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = lossy()
    every = added(more, monkeypatch)
    for here in every:
        view = View(pane=here)
        titles, shown = page.footer_parts(scene, view, width)
        foot = [page.footer(scene, view, width)]
        text = text_of(foot[0])
        known = hints.hints(scene, view)
        assert len(text) == width
        assert [name for name, _ in titles] == list(every)
        assert all(f" {every[name].KEY}{title}" in text for name, title in titles)
        assert set(known[:1]) <= set(shown), text
        assert hints.HELP in shown
        assert text.rstrip().endswith(f"{shown[-1].key} {shown[-1].text}")
        if width >= 80:
            assert dict(titles)[here].split()[0] == every[here].TITLE.split()[0]
        for name, _ in titles:
            assert page.pane_at(scene, view, foot, text.index(f" {every[name].KEY}") + 1) == name


TITLES = [(name.lower(), name) for name in ("NIC", "Cores", "Advisor", "History", "Journal")]


@folded(
    ("room", "shown"),
    [(10, " NIC Cores Advisor History Journal"), (11, " NICCoresAdvisorHistoryJournal"),
     (14, " NICCoresAdvisorHistoryJournal"), (15, " NICCoresAdvisoHistorJourna"),
     (18, " NICCoresAdvisHistoJourn"), (24, " NICCoreAdviHistJour"), (28, " NICCorAdvHisJou"),
     (29, " NICCoAdHiJo"), (32, " NICCoAdHiJo"), (33, " NIC"), (40, " NIC"),
     (41, " NI"), (43, " "), (44, ""), (80, "")],
)  # fmt: skip
def test_titles_are_shortened_alike_and_go_before_keys_do(room: int, shown: str) -> None:
    titles = page.shortened(TITLES, "nic", 54, room)
    assert "".join(title for _, title in titles) == shown
    assert [name for name, _ in titles] == [name for name, _ in TITLES]


@folded("pane", panes.names())
def test_every_key_of_the_footer_is_in_the_table(pane: str) -> None:
    scene = storied()
    known = {key.action: key.keys for key in keys.KEYS}
    names = {"Enter": "enter", "←": "left", "→": "right", "Esc": "escape", "End": "end",
             "Ctrl-X": "ctrl+x"}  # fmt: skip
    for hint in hints.hints(scene, cursor.bound(View(pane=pane), scene)):
        assert names.get(hint.key, hint.key) in known[hint.action]


def test_one_more_pane_hides_neither_apply_nor_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    added(("conntrack",), monkeypatch)
    assert "a apply  p prove  " in footer(lossy(), View(pane="advisor").at(on=RING.id), 120)


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


@pytest.mark.parametrize(
    ("width", "name", "verb"), [(80, "a apply", "apply"), (120, "a apply", "apply"),
                                (120, "m mute", "mute")]
)  # fmt: skip
def test_a_click_on_a_key_does_it_beside_its_object_and_in_the_footer(
    width: int, name: str, verb: str
) -> None:
    scene = lossy()
    view = cursor.bound(View(pane="advisor").at(on=RING.id), scene)
    rows = page.compose(scene, view, width, 24)
    y = next(at for at, row in enumerate(rows) if f" {name}" in text_of(row))
    _, ask = mouse.clicked((text_of(rows[y]).index(name) + 2, y), rows, view, scene)
    assert ask is not None
    assert (ask.verb, ask.target) == (verb, RING.id)
    shown, _ = mouse.clicked((text_of(rows[-1]).index("? help"), 23), rows, view, scene)
    assert shown.help


@folded("width", [80, 120, 200])
@folded("pane", panes.names())
@folded("scene", [lossy, storied])
def test_a_key_is_told_beside_its_object_or_in_the_footer(
    scene: Callable[[], Scene], pane: str, width: int
) -> None:
    view = page.painted(scene(), View(pane=pane), width, 40)
    *rows, foot = map(text_of, page.compose(scene(), view, width, 40))
    for one in hints.hints(scene(), view):
        told = f" {one.key} {one.text}"
        beside = sum(told in row for row in rows)
        assert not (beside and told in foot), told


def test_the_palette_begins_with_what_can_be_done_here() -> None:
    scene = lossy()
    view = cursor.bound(View(pane="advisor").at(on=RING.id), scene)
    entries = list(palette.commands(view, scene))
    assert [name for _, _, (_, name) in entries[:2]] == ["apply", "prove"]
    assert len(entries) == len(set(entries))


def test_in_a_field_no_letter_is_offered_as_a_key() -> None:
    view = View(pane="tests", editing="form.to", draft="10.0")
    assert [one.key for one in page.footer_parts(lossy(), view, 200)[1]] == [
        "Enter",
        "Esc",
        "Ctrl-U",
    ]
    assert "Esc cancel" in text_of(page.footer(lossy(), view, 80))


def test_a_recording_does_not_offer_to_mute() -> None:
    view = cursor.bound(View(pane="advisor"), lossy())
    recorded = replace(lossy(), origin=SceneOrigin("recording", "web1"))
    assert "m mute" in footer(lossy(), view, 200)
    assert "m mute" not in footer(recorded, view, 200)


@pytest.mark.parametrize("more", [(), ("congestion",), tuple(MORE)], ids=["9", "10", "11"])
def test_in_80_columns_every_pane_has_letters_of_its_name(
    more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = storied()
    added(more, monkeypatch)
    for pane in panes.names():
        titles = dict(page.footer_parts(scene, cursor.bound(View(pane=pane), scene), 80)[0])
        short = [name for name, title in titles.items() if len(title.strip()) < page.FEWEST]
        assert short == [], titles


def test_where_the_cursor_is_on_no_finding_no_row_has_the_keys_of_one() -> None:
    scene = lossy()
    on = page.painted(scene, View(), 120, 40)
    flow = next(one for one in panes.pane("overview").items(scene, on) if one.startswith("flow:"))
    assert " a apply  p prove" in words(page.compose(scene, on, 120, 40))
    off = page.painted(scene, on.at(on=flow), 120, 40)
    assert " a p" not in words(page.compose(scene, off, 120, 40))


def test_full_cpus_that_no_finding_is_about_are_shown_by_a_key() -> None:
    scene = lossy()
    assert scene.facts is not None
    host = replace(scene.facts.host, idle=1.0)
    full = replace(scene, findings=(), ended=(), facts=replace(scene.facts, host=host, limits=()))
    for size in ((80, 24), (200, 60)):
        view = page.painted(full, View(), *size)
        assert "2 cores" in text_of(page.footer(full, view, size[0]))
        after, ask = keys.act("cores", view, full)
        assert (after.pane, ask) == ("cores", None)
