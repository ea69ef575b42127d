"""What is kept from one frame to the next changes no fact: two joiners see the same values.

One gets the rows of a table that stays as the same objects, as the sampler gives them, and keeps
what it made of them. The other gets new rows in each frame.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from folded import folded
from varied import difference, every
from whole_host import MOVING, STILL, Vary, declared, tables

from nettop import collect
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.frame.fields import type_of
from nettop.frame.pairs import entries, kept
from nettop.frame.rates import Frame

GROUPS = 6  # of tables
MOST = 6  # variations of a table
NUMBER = {"links": 6, "link_stats": 4, "sockets_tcp": 1}  # the row that varies: of what rests


def built(varied: Sequence[Vary], *, keeps: bool) -> Iterator[Facts]:
    """The facts of a host a second apart, each second with other variations."""
    joiner = Joiner(ssh_peer="10.0.0.2")
    past: Mapping[str, Any] = {}
    for second, vary in enumerate(varied):
        rows = tables(float(second), vary)
        if keeps:
            rows = {name: kept(now, past.get(name, ())) for name, now in rows.items()}
        else:
            rows = {name: [replace(row) for row in now] for name, now in rows.items()}
        past = {name: entries(now, past.get(name, ()), 1.0) for name, now in rows.items()}
        yield joiner.build(Frame(float(second), float(second), past))


def variations(table: str) -> Iterator[Vary]:
    """A row with each field unknown or another one; and without the row."""
    number = NUMBER.get(table, 0)
    yield {(table, number): None}
    now = declared(table, number)
    for field in collect.collector(table).Row.__dataclass_fields__.values():
        kind, optional = type_of(field)
        value = now[field.name]
        if field.metadata.get("kind") in ("label", "vector"):
            continue
        if optional and value is not None:
            yield {(table, number): {field.name: None}}
        elif kind in ("int", "float"):
            yield {(table, number): {field.name: 2 * (value or 3)}}
        elif kind == "bool":
            yield {(table, number): {field.name: not value}}


@pytest.mark.parametrize("group", range(GROUPS))
def test_what_is_kept_is_what_would_be_made_anew(group: int) -> None:
    """Tables of a group vary in four turns; two that share one turn do not share the next."""
    steps: list[dict[tuple[str, int], Any]] = [{} for _ in range(4 * MOST + 4)]
    for place, table in enumerate(sorted({**STILL, **MOVING})[group::GROUPS]):
        for turn, vary in enumerate(islice(variations(table), MOST)):
            steps[2 + 4 * turn + (place // 4 if turn % 2 else place) % 4].update(vary)
    both = zip(built(steps, keeps=True), built(steps, keeps=False), strict=True)
    for second, (one, other) in enumerate(both):
        assert not difference(every(other), every(one)), (second, steps[second])


@pytest.mark.parametrize(("table", "number", "field", "value"), [
    ("netclass", 1, "duplex", "half"), ("netclass", 1, "speed", 1e9), ("netclass", 1, "node", 1),
    ("pci", 1, "width", 1), ("addresses", 0, "interface", "eth1"), ("links", 2, "mtu", 1500),
    ("link_stats", 3, "rx_dropped", 7),
])  # fmt: skip
@folded("counters", [{("link_stats", 2): None}, {}])
def test_an_interface_is_made_anew_when_its_port_is_another_one(
    counters: Vary, table: str, number: int, field: str, value: Any
) -> None:
    """eth1 has no interrupts and, first, no counters, so that nothing else tells of the change."""
    rests: dict[tuple[str, int], Any] = {("interrupts", 4): None, **counters}
    change = {**rests, (table, number): {field: value}}
    steps: list[Vary] = [rests, rests, change, change, rests]
    both = zip(built(steps, keeps=True), built(steps, keeps=False), strict=True)
    for second, (one, other) in enumerate(both):
        assert not difference(every(other), every(one)), second
