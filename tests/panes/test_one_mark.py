"""The stage that limits has the same mark and the same colour wherever it is told."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from folded import folded
from recorded_hosts import HOSTS, last, name
from scenes import SCENES

from nettop.facts.flow_words import name as flow_name
from nettop.facts.limits import words
from nettop.facts.pair import Joined
from nettop.panes import ends, flowlist, flowpage, flows, limit
from nettop.terms.text import Line
from nettop.terms.units import Units
from nettop.views.scene import Peer, Scene
from nettop.views.stages import flow_of, foremost, moves
from nettop.views.view import View

MARKS = ("✗", "!", "●", "?")


def marked(rows: Iterable[Line]) -> set[tuple[str, str]]:
    """The marks in these rows, each with its role."""
    return {
        (word, role) for row in rows for text, role in row for word in text.split() if word in MARKS
    }


def surfaces(scene: Scene) -> dict[str, set[tuple[str, str]]]:
    """The marks by where they are, of what the screen names and of the flow that stands for it."""
    found, facts = foremost(scene, View()), scene.facts
    if found is None or facts is None or not moves(found):
        return {}
    stages = marked(limit.stages(scene, found, 198))
    if words.unread(found):  # "Cannot tell" marks no stage
        assert not stages
        return {}
    told = {"headline": marked(limit.verdict(found, 120)[:1]), "stages": stages}
    of = flow_of(facts, found)
    own = next((one for one in facts.flows if flow_name(one) == of.target), None)
    if own is None or of.stage.stage != found.stage.stage:
        return told
    one = Joined(of, "a", "b", of.ladder, None)
    return (
        told
        | {
            "flow row": marked([flowlist.lines(scene, (own,), 118, 2)[1]]),
            "flow list": marked([(flows.flow_cells(own, scene)[5],)]),  # type: ignore[list-item]
            "flow page": marked(flowpage.verdict(own, of, 198, Units())),
            "stages of the flow": marked(flowpage.checklist(of, 118, Units())),
            "ends": marked(ends.band(Scene(peer=Peer(("a", "b"), joined=(one,))), 198)[:2]),
        }
    )


def agree(scene: Scene) -> None:
    told = surfaces(scene)
    assert all(len(one) == 1 for one in told.values()), told
    assert len(set(map(frozenset, told.values()))) <= 1, told


@folded("path", HOSTS, ids=name)
def test_the_mark_of_the_limit_is_one_on_every_surface(path: Path) -> None:
    seen = last(path)
    agree(Scene(facts=seen.facts, frame=seen.frame))


@pytest.mark.parametrize("host", SCENES)
def test_so_it_is_of_made_hosts(host: str) -> None:
    agree(SCENES[host]())
