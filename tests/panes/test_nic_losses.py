"""The NIC pane says whose losses are not known by kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
import scenes

from nettop.panes import niccounters as pane
from nettop.terms.text import text_of
from nettop.views.view import View

LINE = "drops not by kind: link statistics only"


@pytest.mark.parametrize(
    ("link_only", "raw", "shown"), [(True, False, 1), (True, True, 0), (False, False, 0)]
)
def test_losses_that_are_not_known_by_kind_are_named(
    link_only: bool, raw: bool, shown: int
) -> None:
    scene = scenes.lossy()
    assert scene.facts is not None
    nics = tuple(replace(nic, link_only=link_only) for nic in scene.facts.nics)
    scene = replace(scene, facts=replace(scene.facts, nics=nics))
    lines = pane.counters(scene, View(nic=nics[0].name, driver_names=raw), 45)
    assert [text_of(line).strip() for line in lines].count(LINE) == shown
