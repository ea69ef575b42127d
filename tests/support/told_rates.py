"""The rates that a frame tells: each must be one of the last second, or say what else it is."""

import re
from collections.abc import Iterator
from itertools import groupby

from nettop import panes
from nettop.facts.flow_words import rate, together
from nettop.panes import page
from nettop.terms.text import Line, text_of
from nettop.views.scene import Scene
from nettop.views.view import View

RATE = re.compile(r"(?<![\d.])\d[\d.]* [kMGT]?b/s")
# what else it is, within so many columns before or behind it, spaces of a table counted once
OTHER = re.compile(
    r"mean|peak|≤|≥|–|most|next:|pacing|delivery|carr|link|fastest mode|GT/s|together|windows| · $"
    r"|limits \S+ to|_RATE is|acknowledged"
)
NEAR = 40
ABREAST = 1.02  # sockets are read some milliseconds after the interfaces
LITTLE = 125_000.0  # bytes/s
SCALE = re.compile(r"^[│ ]*[\d.]+ [kMGT]?b/s +[\u2800-\u28ff]?")  # of a graph


def known(scene: Scene) -> set[str]:
    """The rates of the last second: of interfaces, flows, the flows of a process, all flows."""
    facts = scene.facts
    if facts is None:
        return set()
    values = [value for nic in facts.nics for value in (nic.per_s.rx_bytes, nic.per_s.tx_bytes)]
    values += [rate(one) for one in facts.flows]
    values += [value for one in facts.flows for value in (one.rx_per_s, one.tx_per_s)]
    owner = lambda one: (one.pid or 0, one.process or "", one.nic or "")  # noqa: E731
    for _, some in groupby(sorted(facts.flows, key=owner), owner):
        values.append(together(some))
    return {scene.units.rate(value) for value in values}


def above(scene: Scene) -> Iterator[str]:
    """The interfaces over which flows of this host carry more payload than their wire carries."""
    facts = scene.facts
    for nic in facts.nics if facts is not None else ():
        own = [one for one in facts.flows if one.nic == nic.name] if facts is not None else []
        ways = (("rx", nic.per_s.rx_bytes, [one.rx_per_s for one in own]),
                ("tx", nic.per_s.tx_bytes, [one.tx_per_s for one in own]))  # fmt: skip
        for way, wire, rates in ways:
            payload = sum(one or 0.0 for one in rates)
            if wire is not None and payload > ABREAST * max(wire, LITTLE):
                yield f"{nic.name} {way}: {8 * payload:.4g} of {8 * wire:.4g} b/s"


def others(scene: Scene, rows: list[Line]) -> Iterator[str]:
    """The rates that are none of them and do not say over which time, or of what, they are."""
    right = known(scene)
    for row in map(text_of, rows):
        if SCALE.match(row):
            continue
        for found in RATE.finditer(row):
            before = re.sub(" +", " ", row[: found.start()])[-NEAR:]
            behind = row[found.end() :].startswith(" configured")
            if found[0] not in right and not behind and not OTHER.search(before):
                yield f"{found[0]}: {row}"


SIZES = ((80, 24), (120, 40), (200, 60))


def wrong(scene: Scene, without: tuple[str, ...] = ()) -> list[str]:
    """Every rate on every pane, but those left out, that is not of the last second."""
    return [
        f"{pane} {size[0]}: {one}"
        for pane in panes.names()
        if pane not in without
        for size in SIZES
        for one in others(scene, page.compose(scene, View(pane=pane), *size))
    ]
