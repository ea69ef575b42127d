"""Recorded plays are judged as when they were played: the same answers, the same verdict."""

from __future__ import annotations

from pathlib import Path

from folded import folded
from live.play import RECORDINGS, Play, plays, stale, truths

RECORDED = [play for play in plays().values() if play.quick or play.name in truths()]


@folded("play", RECORDED, ids=lambda play: play.name)
def test_a_recorded_play_is_judged_rightly(play: Play) -> None:
    again = f"make live PLAY={play.name}"
    absent = [name for name in play.files if not (RECORDINGS / name).exists()]
    assert not absent, f"not recorded: {absent}; {again}"
    lacking = stale(play)
    assert not lacking, f"stale: {lacking}; {again}"
    outcome = play.judge(RECORDINGS, truths()[play.name])
    assert outcome.right, (outcome.verdict, outcome.said)


def test_each_recording_belongs_to_a_play() -> None:
    known = {name for play in plays().values() for name in play.files}
    assert {path.name for path in Path(RECORDINGS).glob("*.gz")} <= known
