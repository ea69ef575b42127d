"""The mouse: a heading sorts, the wheel scrolls what is under it, a mark opens what it is about."""

import re
from dataclasses import replace

import pytest
from folded import folded
from scenes import lossy, storied

from nettop.panes import cursor, graph, page, pane
from nettop.panes.cursor import bound
from nettop.terms.text import Line, text_of
from nettop.tui import mouse
from nettop.tui.keys import press
from nettop.views.ask import Ask
from nettop.views.scene import Question, Scene
from nettop.views.view import View

SIZES = ((80, 24), (120, 40), (200, 60))


def painted(scene: Scene, view: View, size: tuple[int, int]) -> list[Line]:
    return page.compose(scene, view, *size)


def place(rows: list[Line], text: str, last: bool = False) -> tuple[int, int]:
    """Column and row of a text on the screen."""
    word = re.compile(re.escape(text) + "(?![A-Z])")
    found = [(word.search(text_of(row)), y) for y, row in enumerate(rows)]
    at = [(one.start(), y) for one, y in found if one]
    return at[-1 if last else 0]


def on(view: View, scene: Scene, size: tuple[int, int], text: str) -> View:
    rows = painted(scene, view, size)
    x, y = place(rows, text)
    return mouse.clicked((x + 1, y), rows, view, scene)[0]


def calm() -> Scene:
    """The scene of a story without the lines above the footer."""
    return replace(storied(), notes=(), pending=(), progress=None)


@folded("size", SIZES)
@folded(
    ("name", "heading"),
    [("flows", "PEER"), ("flows", "RTT"), ("flows", "LIMIT"), ("journal", "SETTING"),
     ("journal", "STATE"), ("tests", "TOOL"), ("nic", "NOW"), ("nic", "LIMIT"), ("nic", "SETTING"),
     ("cores", "IRQ/s"), ("cores", "IRQ")],
)  # fmt: skip
def test_a_click_on_a_heading_sorts_by_it_and_again_inverts(
    name: str, heading: str, size: tuple[int, int]
) -> None:
    scene, view = calm(), bound(View(pane=name), calm())
    once = on(view, scene, size, heading)
    assert pane(name).orders(once)[once.spot.sort] == heading
    assert not once.spot.invert
    text = "\n".join(text_of(row) for row in painted(scene, once, size))
    assert f"{heading}▼" in text or f"{heading}▲" in text
    twice = on(once, scene, size, heading)
    assert (twice.spot.sort, twice.spot.invert) == (once.spot.sort, True)
    rows = [one for one in pane(name).items(scene, once) if not one.startswith(("form.", "study."))]
    back = [one for one in pane(name).items(scene, twice) if one in rows]
    assert sorted(rows) == sorted(back)


def test_groups_of_flows_are_sorted_by_their_own_columns() -> None:
    scene = storied()
    view, _ = press("z", "z", View(pane="flows"), scene)
    by_name = on(view, scene, (120, 40), "PROCESS    ")
    text = [text_of(row) for row in painted(scene, by_name, (120, 40))]
    assert any("PROCESS▲" in row for row in text)
    names = [row.split("[")[0].strip() for row in text if "[" in row][:2]
    assert names == sorted(names)


@pytest.mark.parametrize("size", SIZES)
def test_a_click_below_another_heading_opens_no_queue(size: tuple[int, int]) -> None:
    scene = calm()
    view = bound(View(pane="cores"), scene)
    rows = painted(scene, view, size)
    _, heading = place(rows, " CORES ", last=True)
    for y in range(heading + 1, min(heading + 6, size[1] - 1)):
        after, ask = mouse.clicked((3, y), rows, view, scene)
        assert ask is None
        assert after.spot.on in (view.spot.on, after.spot.open)
    queue, _ = mouse.clicked((3, place(rows, "eth1/rx-1")[1]), rows, view, scene)
    assert queue.spot.on == "eth1/rx-1"


def test_a_click_on_a_value_does_not_sort() -> None:
    scene, view = storied(), bound(View(pane="flows"), storied())
    rows = painted(scene, view, (120, 40))
    x, y = place(rows, "192.0.2.20:40112")
    assert mouse.clicked((x, y), rows, view, scene)[0].spot.sort == 0


def wheel(
    view: View, scene: Scene, size: tuple[int, int], at: tuple[int, int], by: int = 1
) -> tuple[View, Ask | None]:
    return mouse.wheeled(at, painted(scene, view, size), view, scene, by)


def test_over_the_text_of_a_finding_the_wheel_scrolls_the_text() -> None:
    scene = storied()
    view = bound(View(pane="advisor"), scene)
    after, _ = wheel(view, scene, (120, 24), (100, 2))
    assert (after.spot.on, after.spot.top) == (view.spot.on, 1)
    assert wheel(after, scene, (120, 24), (100, 2), -1)[0] == view
    for _ in range(200):
        after, _ = wheel(after, scene, (120, 24), (100, 10))
    end = after.spot.top
    assert wheel(after, scene, (120, 24), (100, 10), -1)[0].spot.top == end - 1 > 0
    over_list, _ = wheel(view, scene, (120, 24), (10, 3))
    assert over_list.spot.on == pane("advisor").items(scene, view)[1]


def test_in_a_narrow_screen_the_text_is_below_the_list() -> None:
    scene = storied()
    view = bound(View(pane="advisor"), scene)
    assert wheel(view, scene, (80, 24), (40, 15))[0].spot.top == 1
    assert wheel(view, scene, (80, 24), (40, 2))[0].spot.top == 0


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
def test_over_the_graph_the_wheel_moves_in_time(size: tuple[int, int]) -> None:
    scene = calm()
    view = bound(View(), scene)
    rows = painted(scene, view, size)
    assert wheel(view, scene, size, place(rows, "rx ▲"))[1] == Ask("earlier")
    assert wheel(view, scene, size, place(rows, "tx ▼"), -1)[1] == Ask("later")


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
def test_over_a_list_of_the_overview_the_wheel_stays_in_it(size: tuple[int, int]) -> None:
    scene = calm()
    view = bound(View(), scene)
    rows = painted(scene, view, size)
    x, y = place(rows, " FLOWS ")
    for _ in range(5):
        view, ask = wheel(view, scene, size, (x, y))
        assert ask is None
        assert view.spot.on.startswith("flow:")
    view, _ = wheel(view, scene, size, place(rows, "Pause frames are off"))
    assert view.spot.on == "rx-ring-overrun@eth0"
    view, _ = wheel(view, scene, size, place(rows, "Pause frames are off"))
    assert view.spot.on == "app-on-other-node@3391"


def test_the_wheel_scrolls_the_sheet_of_a_question() -> None:
    body = tuple(((f" row {n}", ""),) for n in range(60))
    scene = replace(lossy(), question=Question("Many", (("", body),), "change"))
    assert wheel(View(), scene, (80, 24), (5, 5))[0].scroll == 1


# -- marks of the graph ------------------------------------------------------------------------


def test_the_cursor_reaches_the_marks_and_enter_opens_what_they_are_about() -> None:
    scene = calm()
    view = bound(View(), scene)
    marks = [one for one in pane("overview").items(scene, view) if one.startswith("mark:")]
    assert [one.split(":")[1] for one in marks] == ["change", "change", "finding", "finding"]
    view, _ = press("up", None, view, scene)
    assert view.spot.on == marks[-1]
    after, _ = press("enter", None, view, scene)
    assert (after.pane, after.spot.open) == ("advisor", marks[-1].split(":", 2)[2])
    back, _ = press("escape", None, after, scene)
    assert (back.pane, back.spot.on) == ("overview", marks[-1])
    for _ in range(2):
        view, _ = press("left", None, view, scene)
    after, _ = press("enter", None, view, scene)
    assert after.pane == "journal"
    assert cursor.target(bound(after, scene), scene) == marks[1].split(":", 2)[2]


@pytest.mark.parametrize("size", SIZES)
def test_the_mark_under_the_cursor_has_its_name(size: tuple[int, int]) -> None:
    scene = calm()
    for mark in graph.marks(scene):
        rows = painted(scene, View().at(on=f"mark:{mark}"), size)
        names = [text for row in rows for text, role in row if role == "select"]
        finding = scene.finding(mark.removeprefix("finding:"))
        name = "affinity" if mark == "change:13" else finding.title[:14] if finding else "ring.rx"
        assert any(name in text for text in names), mark


@pytest.mark.parametrize("size", SIZES)
def test_a_click_on_a_mark_opens_what_it_is_about(size: tuple[int, int]) -> None:
    scene = calm()
    view = bound(View(), scene)
    rows = painted(scene, view, size)
    y = next(y for y, row in enumerate(rows) if text_of(row).rstrip(" │").endswith("now"))
    axis = text_of(rows[y])
    if size[0] >= 120:  # the axis is long enough
        after, _ = mouse.clicked((axis.index("◆"), y), rows, view, scene)
        assert after.pane == "journal"
    after, _ = mouse.clicked((axis.index("!"), y), rows, view, scene)
    assert (after.pane, after.spot.open) == ("advisor", "app-on-other-node@3391")
    after, ask = mouse.clicked((axis.index("now") - 1, y), rows, view, scene)
    assert (after.pane, ask) == ("overview", None)


def test_a_heading_in_the_first_row_is_a_heading() -> None:
    rows: list[Line] = [((" FLOWS", "head"), (" RATE▼", "head")), ((" other", ""),)]
    assert mouse._heading_at(rows, (8, 0)) == "RATE"
    assert mouse._heading_at(rows, (2, 1)) == ""
    assert mouse._heading_at(rows, (2, 2)) == ""
    assert mouse._heading_at(rows, (2, -1)) == ""


@pytest.mark.parametrize("size", SIZES)
def test_a_click_on_a_verdict_without_a_finding_opens_what_limits(size: tuple[int, int]) -> None:
    scene = replace(calm(), findings=(), ended=())
    text = "Limited by the receive ring"
    opened = on(bound(View(), scene), scene, size, text)
    assert opened.pane == "nic"
    finding = on(bound(View(), calm()), calm(), size, text) if text in _told(calm(), size) else None
    assert finding is None or finding.pane == "advisor"


def _told(scene: Scene, size: tuple[int, int]) -> str:
    return "\n".join(text_of(row) for row in painted(scene, View(), size))
