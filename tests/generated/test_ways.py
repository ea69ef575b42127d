"""The ways of random hosts, recorded by `ways.py --record`: a packet passed where they say so."""

import json
from pathlib import Path

from folded import folded
from generated.ways import RECORDED, TABLES, drawn

from nettop.commands import _way
from nettop.facts.way import Flow
from nettop.host.recording import Replay, load

EVERY = sorted(RECORDED.glob("*.host.gz"))


@folded("path", EVERY, ids=lambda path: path.name.partition(".")[0])
def test_the_way_agrees_with_the_packet_that_was_tried(path: Path) -> None:
    source = Replay(load(str(path)))
    *asked, met = json.loads(source.comment)
    _, way = _way.ask_way(source, Flow(*asked), TABLES)
    assert (way.decider is None) == (met == "open"), (met, way.headline)


def test_both_answers_and_each_family_are_among_them() -> None:
    seeds = [int(path.name.partition(".")[0]) for path in EVERY]
    assert len(seeds) >= 60
    asked = [json.loads(Replay(load(str(path))).comment) for path in EVERY]
    assert {one[-1] == "open" for one in asked} == {True, False}
    assert {drawn(seed).family for seed in seeds} == {4, 6}
