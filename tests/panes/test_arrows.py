"""Arrows move the cursor of the overview as its rows are drawn."""

from dataclasses import replace

import pytest
from folded import folded
from scenes import RING, SACK, big, lossy, storied

from nettop.advice.rules.rule import Finding
from nettop.panes import listed, page
from nettop.tui.keys import press
from nettop.tui.mouse import selected
from nettop.views.past import History
from nettop.views.scene import Scene
from nettop.views.view import View

SIZES = ((80, 24), (80, 40), (120, 40), (200, 60))


def kind(row: str) -> str:
    head, colon, _ = row.partition(":")
    return head if colon and head in ("stage", "mark", "nic", "core", "flow") else "finding"


def after(view: View, scene: Scene, key: str) -> View:
    return page.painted(scene, press(key, None, view, scene)[0], *view.size)


def walk(scene: Scene, size: tuple[int, int], key: str, first: str) -> list[str]:
    """The rows under the cursor while a key is pressed until it moves no more."""
    view = page.painted(scene, View().at(on=first), *size)
    out = [view.spot.on]
    while len(out) < 99:
        view = after(view, scene, key)
        if view.spot.on == out[-1]:
            break
        out.append(view.spot.on)
    return out


def firsts(rows: list[str]) -> list[str]:
    return list(dict.fromkeys(map(kind, rows)))


@pytest.mark.parametrize("size", SIZES)
def test_down_passes_each_part_once_from_the_top_and_up_comes_back(size: tuple[int, int]) -> None:
    scene = storied()
    top = walk(scene, size, "up", page.painted(scene, View(), *size).spot.on)[-1]
    assert kind(top) == "stage"
    rows = walk(scene, size, "down", top)
    beside = size[0] >= 104
    wanted = {
        (80, 24): ["stage", "mark", "core", "finding", "flow"],
        (80, 40): ["stage", "mark", "finding", "core", "flow"],
    }.get(size, ["stage", "mark", "finding", "nic", "flow"])
    assert [one for one in firsts(rows) if one != "nic" or beside] == [
        one for one in wanted if one in firsts(rows)
    ]
    assert sum(kind(one) == "stage" for one in rows) == 1
    assert sum(kind(one) == "mark" for one in rows) <= 1
    back = walk(scene, size, "up", rows[-1])
    assert firsts(back) == firsts(rows)[::-1]


def test_left_and_right_move_along_a_row_and_round_at_its_ends() -> None:
    scene = storied()
    top = walk(scene, (120, 40), "up", "")[-1]
    view = page.painted(scene, View().at(on=top), 120, 40)
    seen = [top]
    while (view := after(view, scene, "right")).spot.on != top:
        seen.append(view.spot.on)
    assert {kind(one) for one in seen} == {"stage"}
    assert len(seen) > 3
    assert after(view, scene, "left").spot.on == seen[-1]


def test_on_a_finding_they_lead_to_another_moment() -> None:
    scene = storied()
    view = page.painted(scene, View(), 120, 40)
    assert kind(view.spot.on) == "finding"
    same, ask = press("left", None, view, scene)
    assert same.spot.on == view.spot.on
    assert ask is not None
    assert ask.verb == "earlier"


@pytest.mark.parametrize("make", [storied, big])
def test_cores_move_in_their_own_column(make: object) -> None:
    scene = make()  # type: ignore[operator]
    for size in SIZES:
        cores = walk(scene, size, "down", "core:0") if "core:0" in order(scene, size) else []
        numbers = [one for one in cores if kind(one) == "core"]
        assert numbers == cores[: len(numbers)]


def order(scene: Scene, size: tuple[int, int]) -> tuple[str, ...]:
    from nettop.panes import overviewrows

    return overviewrows.items(scene, page.painted(scene, View(), *size))


def seen_for(seconds: int, *found: Finding) -> Scene:
    """A host whose receive ring limits since it is looked at."""
    begun = storied()
    past = History(tuple(one for one in begun.past.fine if one.wall >= begun.wall - seconds))
    return replace(begun, findings=found, ended=(), past=past)


MILDER = replace(RING, id="milder@eth0", severity="warning")


@folded(
    "seconds, found, first",
    [
        (3, (SACK,), ""),  # the finding of what limits does not hold yet
        (3, (MILDER, SACK), ""),  # a more severe one may come
        (5, (MILDER, SACK), MILDER.id),
        (3, (RING, SACK), RING.id),
        (12, (SACK,), SACK.id),  # it has none
    ],
)
def test_the_cursor_waits_for_the_finding_of_what_limits(
    seconds: int, found: tuple[Finding, ...], first: str
) -> None:
    scene = seen_for(seconds, *found)
    for size in SIZES:
        view = page.painted(scene, View(), *size)
        assert view.spot.on == first
        chosen = [row for row in page.compose(scene, View(), *size)[:-1] if selected(row)]
        assert bool(chosen) is bool(first)
        assert page.compose(scene, View(), *size) == page.compose(scene, view, *size)
        assert press("down", None, view, scene)[0].spot.on


def test_the_cursor_goes_to_that_finding_when_it_comes_unless_someone_moved_it() -> None:
    other = replace(SACK, id="other@eth0")
    before, after = seen_for(12, SACK, other), seen_for(14, RING, SACK, other)
    view = page.painted(before, View(), 120, 40)
    assert view.spot.on == SACK.id
    moved, _ = press("down", None, view, before)
    for one, on in ((view, RING.id), (moved, other.id)):
        there = page.painted(after, one, 120, 40)
        assert there.spot.on == on
        assert page.compose(after, one, 120, 40) == page.compose(after, there, 120, 40)
    back = page.painted(before, page.painted(after, view, 120, 40), 120, 40)  # it has ended
    assert back.spot.on == SACK.id


def test_what_limits_stands_before_advice_of_its_severity() -> None:
    scene = lossy()
    assert scene.facts is not None
    assert "ring" in {one.stage.stage for one in scene.facts.limits}
    advice = replace(RING, id="advice@eth0", relieves=("cwnd",))
    own = replace(RING, relieves=("ring",))
    rows = listed.listed(replace(scene, findings=(advice, own), ended=(), mutes=()))
    assert [one.id for one in rows] == [RING.id, advice.id]
