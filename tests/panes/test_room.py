"""A large screen is full: what a box does not need, another one that has more to say has."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from scenes import storied

from nettop.panes import loads, overview, overviewrows, page
from nettop.terms.text import text_of
from nettop.views.scene import Scene
from nettop.views.view import View

SIZES = [(120, 40), (160, 50), (200, 60)]


def told(scene: Scene) -> Scene:
    return replace(scene, notes=(), pending=(), progress=None)


def resting() -> Scene:
    """The same host without findings, flows and limits."""
    scene = told(storied())
    assert scene.facts is not None
    facts = replace(scene.facts, flows=(), limits=())
    return replace(scene, facts=facts, findings=(), ended=(), journal=())


def boxes(scene: Scene, size: tuple[int, int]) -> Iterator[tuple[str, list[str]]]:
    """Each box of the overview: its title, and the rows inside; of two abreast each."""
    opened: dict[int, tuple[str, list[str]]] = {}
    for row in map(text_of, page.compose(scene, View(), *size)):
        edges = [at for at, char in enumerate(row) if char in "╭│╰"]
        for left, right in zip(edges, [*edges[1:], len(row)], strict=False):
            inside = row[left + 1 : right].rstrip("╮│╯")
            if row[left] == "╭":
                opened[left] = (inside.strip("─ "), [])
            elif left in opened:
                opened[left][1].append(inside)
                if row[left] == "╰":
                    yield opened.pop(left)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("host", [storied, resting])
def test_no_box_is_half_empty(host: object, size: tuple[int, int]) -> None:
    scene = told(host())  # type: ignore[operator]
    found = dict(boxes(scene, size))
    assert len(found) >= 4, found.keys()
    for title, rows in found.items():
        if "rx " in title:  # a graph: a scale has room above what it shows
            continue
        blank = sum(not row.strip() for row in rows)
        assert blank <= len(rows) // 3, (title, rows)


@pytest.mark.parametrize("size", SIZES)
def test_without_a_finding_the_cores_have_the_whole_width(size: tuple[int, int]) -> None:
    found = dict(boxes(resting(), size))
    (cores,) = (rows for title, rows in found.items() if title.startswith("CORES"))
    assert len(cores[0]) == size[0] - 2
    assert not overviewrows.beside(resting(), size[0])
    assert overviewrows.beside(storied(), size[0])


def test_cores_at_rest_have_a_row_each_and_keep_their_places() -> None:
    scene = storied()
    moments = scene.past.fine[-30:]
    still = tuple(
        replace(one, busy=bytes(at % 2 for at in range(len(one.cpus)))) for one in moments
    )
    names = [text_of(row).split()[1] for row in loads.heat(still, 60, 3)]
    assert names == [str(cpu) for cpu in still[-1].cpus[:3]]


@pytest.mark.parametrize("left", range(0, 60, 7))
def test_lines_are_given_in_the_order_of_the_wants_until_none_is_left(left: int) -> None:
    rows = overview._given(left, (("a", 3), ("b", 5), ("a", 10), ("c", 4), ("b", 99)))
    assert rows.total() == left
    assert rows["a"] == min(left, 3) + max(0, min(7, left - 8))
    assert not rows["c"] or rows["a"] == 10
