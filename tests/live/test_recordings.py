"""Recorded plays are judged as when they were played, and no moment of them contradicts itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from folded import folded
from live.play import RECORDINGS, Play, plays, stale, truths
from verdicts import broken, carried

from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.facts.pair.model import Model, Sides
from nettop.facts.pair.verdict import with_ends

RECORDED = [play for play in plays().values() if play.quick or play.name in truths()]


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, Facts | Sides]]:
    """What commands build of a moment of one host or of both, and what built it."""
    found = list[tuple[object, Facts | Sides]]()

    def keep(owner: type[Joiner | Model]) -> None:
        build: Any = owner.build

        def kept(self: object, *words: Any, **more: Any) -> Facts | Sides:
            found.append((self, build(self, *words, **more)))
            return found[-1][1]

        monkeypatch.setattr(owner, "build", kept)

    keep(Joiner)
    keep(Model)
    return found


def contradictions(moments: list[tuple[object, Facts | Sides]]) -> Iterator[str]:
    """What does not hold in the moments but the first, which has no rates."""
    first = {id(one): made for one, made in reversed(moments)}
    later = [made for one, made in moments if first[id(one)] is not made]
    assert later
    for made in later:
        if isinstance(made, Facts):
            yield from broken(made)
            yield from carried(made)
            continue
        facts = with_ends(made.here, made.joined)
        yield from broken(facts)
        said = {one.target: one.stage for one in facts.limits if one.over == "flow"}
        for one in made.joined:
            here, both = said.get(one.limit.target), one.limit.stage
            if here is not None and (here.stage, here.end) != (both.stage, both.end):
                yield f"{one.limit.target}: {here.stage} here, {both.stage} by both ends"


@folded("play", RECORDED, ids=lambda play: play.name)
def test_a_recorded_play_is_judged_rightly(
    play: Play, moments: list[tuple[object, Facts | Sides]]
) -> None:
    again = f"make live PLAY={play.name}"
    absent = [name for name in play.files if not (RECORDINGS / name).exists()]
    assert not absent, f"not recorded: {absent}; {again}"
    lacking = stale(play)
    assert not lacking, f"stale: {lacking}; {again}"
    moments.clear()
    outcome = play.judge(RECORDINGS, truths()[play.name])
    assert outcome.right, (outcome.verdict, outcome.said)
    assert list(contradictions(moments)) == []


def test_each_recording_belongs_to_a_play() -> None:
    known = {name for play in plays().values() for name in play.files}
    assert {path.name for path in Path(RECORDINGS).glob("*.gz")} <= known
