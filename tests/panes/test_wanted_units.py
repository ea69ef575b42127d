"""Rates are in the wanted unit on every pane; only links and published figures are in bit/s."""

from __future__ import annotations

import re
from dataclasses import replace

from folded import folded
from scenes import SCENES

from nettop import panes
from nettop.panes import page
from nettop.terms.text import text_of
from nettop.terms.units import Units
from nettop.views.view import View

RATE = re.compile(r"[\d.]+ [kMGT]?b/s")
LINK = re.compile(r"(· |link +|carries )[\d.]+ [MG]b/s")  # its nominal speed


@folded("name", ("overview", "cores", "nic", "flows", "advisor"))
@folded("host", SCENES)
def test_with_bytes_no_rate_is_in_bits(host: str, name: str) -> None:
    scene = replace(SCENES[host](), units=Units(bits=False))
    for size in ((80, 24), (120, 40), (200, 60)):
        view = page.painted(scene, View(pane=name), *size)
        opened = [view.at(open=row) for row in panes.pane(name).items(scene, view)[:3]]
        for one in (view, *opened):
            for row in page.compose(scene, one, *size):
                assert not RATE.search(LINK.sub("", text_of(row))), text_of(row)
