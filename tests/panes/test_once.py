"""What several parts of one frame ask for is computed once for each scene."""

import cProfile
import pstats
from collections import Counter
from dataclasses import replace

import pytest
from scenes import storied

from nettop.panes import flowlist, graph, history, interfaces, listed, page
from nettop.views import stages, timeline
from nettop.views.scene import Scene, once
from nettop.views.view import View


def runs(scene: Scene, view: View, size: tuple[int, int]) -> Counter[tuple[str, str]]:
    """How often each function of a file runs while one frame is drawn."""
    profile = cProfile.Profile()
    profile.enable()
    page.compose(scene, view, *size)
    page.painted(scene, view, *size)
    profile.disable()
    found: Counter[tuple[str, str]] = Counter()
    for (path, _, name), row in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        found[path, name] += row[1]
    return found


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_a_frame_of_the_overview_sorts_each_list_once(size: tuple[int, int]) -> None:
    found = runs(replace(storied()), View(), size)
    for module, name in (
        (flowlist, "busiest"), (flowlist, "busiest"), (interfaces, "known"),
        (stages, "_foremost"), (stages, "bars"), (graph, "latest"),
    ):  # fmt: skip
        assert found[module.__file__ or "", name] <= 1
    assert found[listed.__file__, "listed"] <= 2  # with and without the muted ones
    assert found[flowlist.__file__, "busiest"] == 1


def test_a_frame_of_history_collects_its_events_once() -> None:
    scene = storied()
    view = View(pane="history", moment=scene.past.moments()[-3].wall)
    found = runs(replace(scene), view, (120, 40))
    assert found[history.__file__, "event_at"] == 1
    assert found[timeline.__file__, "events"] == 1


def test_a_result_belongs_to_its_scene_and_its_arguments() -> None:
    seen = []

    @once
    def wall(scene: Scene, by: int, *, name: str = "") -> str:
        seen.append(by)
        return f"{name}{scene.wall + by}"

    one, other = Scene(wall=1.0), Scene(wall=2.0)
    assert [wall(one, 1), wall(one, 1), wall(one, 2), wall(other, 1)] == [
        "2.0",
        "2.0",
        "3.0",
        "3.0",
    ]
    assert wall(one, 1, name="x") == "x2.0"
    assert seen == [1, 2, 1, 1]
    assert wall(replace(one, wall=5.0), 1) == "6.0"
    assert one == Scene(wall=1.0)
