"""The rates that a frame tells: each is of the time in the title of its box, or says what it is."""

import re
from collections.abc import Collection, Iterator
from itertools import groupby

from nettop import panes
from nettop.facts import Facts
from nettop.facts.flow_words import name as flow_name
from nettop.facts.flow_words import rate, together
from nettop.panes import page
from nettop.terms.text import Line, cells, text_of
from nettop.terms.units import Units, seconds
from nettop.views.scene import Scene
from nettop.views.view import View

RATE = re.compile(r"(?<![\d.])\d[\d.]* [kMGT]?b/s")
# what else it is, within so many columns before or behind it, spaces of a table counted once
OTHER = re.compile(
    r"mean|peak|≤|≥|–|most|next:|pacing|delivery|carr|link|fastest mode|GT/s|together|windows| · $"
    r"|limits \S+ to|_RATE is|acknowledged"
)
TRIP = re.compile(r"lost at (\S+ \S+) round trip")
NEAR = 40
ABREAST = 1.02  # sockets are read some milliseconds after the interfaces
SKEWED = 1.05  # … on a host that is full, where a sample takes long
LITTLE = 125_000.0  # bytes/s
SCALE = re.compile(r"^[│ ]*[\d.]+ [kMGT]?b/s +[\u2800-\u28ff]?")  # of a graph


def known(facts: Facts, units: Units) -> set[str]:
    """The rates of interfaces, flows, the flows of a process, all flows."""
    values = [value for nic in facts.nics for value in (nic.per_s.rx_bytes, nic.per_s.tx_bytes)]
    values += [together(facts.flows), *map(rate, facts.flows)]
    values += [value for one in facts.flows for value in (one.rx_per_s, one.tx_per_s)]
    owner = lambda one: (one.pid or 0, one.process or "", one.nic or "")  # noqa: E731
    for _, some in groupby(sorted(facts.flows, key=owner), owner):
        values.append(together(some))
    return {units.rate(value) for value in values}


def above(facts: Facts, most: float = ABREAST) -> Iterator[str]:
    """The interfaces over which flows of this host carry more payload than their wire carries."""
    for nic in facts.nics:
        own = [one for one in facts.flows if one.nic == nic.name]
        ways = (("rx", nic.per_s.rx_bytes, [one.rx_per_s for one in own]),
                ("tx", nic.per_s.tx_bytes, [one.tx_per_s for one in own]))  # fmt: skip
        for way, wire, rates in ways:
            payload = sum(one or 0.0 for one in rates)
            if wire is not None and payload > most * max(wire, LITTLE):
                yield f"{nic.name} {way}: {8 * payload:.4g} of {8 * wire:.4g} b/s"


def trips(scene: Scene) -> Iterator[str]:
    """The flows whose verdict tells another round trip than their row and their page."""
    flows = {flow_name(one): one for one in scene.mean.flows} if scene.mean is not None else {}
    for one in scene.facts.limits if scene.facts is not None else ():
        told = TRIP.search(one.stage.because) if one.over == "flow" else None
        if told is not None and one.target in flows and one.namespace is None:
            shown = seconds(flows[one.target].rtt)
            if shown != told[1]:
                yield f"{one.target}: {told[1]}, {shown}"


def titles(row: Line) -> Iterator[tuple[range, str]]:
    """The titles of the boxes that begin in a row, with their columns."""
    at, whole = 0, text_of(row)
    for text, role in row:
        if role == "title":
            ends = [end for end in map(whole[at:].find, "╮┤") if end >= 0]
            yield range(max(0, at - len("╭─")), at + min(ends, default=len(whole))), text
        at += cells(text)


def others(scene: Scene, rows: list[Line]) -> Iterator[str]:
    """The rates that are not of the time in the title of their box, nor say of which they are.

    Those in a box without such a title are of the last second.
    """
    if scene.facts is None or scene.mean is None:
        return
    last, mean = (known(facts, scene.units) for facts in (scene.facts, scene.mean))
    boxes: list[tuple[range, str]] = []
    for line in rows:
        row = text_of(line)
        boxes = [*titles(line), *boxes]
        if SCALE.match(row):
            continue
        for found in RATE.finditer(row):
            box = next((one for over, one in boxes if found.start() in over), "")
            right = mean if scene.window in box else last
            before = re.sub(" +", " ", row[: found.start()])[-NEAR:]
            behind = row[found.end() :].startswith((" configured", ", then limited by"))
            if found[0] not in right and not behind and not OTHER.search(before):
                yield f"{found[0]} in {box.strip()}: {row}"


SIZES = ((80, 24), (120, 40), (200, 60))


def wrong(scene: Scene, without: Collection[str] = ()) -> list[str]:
    """Every rate on every pane, but those left out, that is not of the time of its box."""
    return [
        f"{pane} {size[0]}: {one}"
        for pane in panes.names()
        if pane not in without
        for size in SIZES
        for one in others(scene, page.compose(scene, View(pane=pane), *size))
    ]
