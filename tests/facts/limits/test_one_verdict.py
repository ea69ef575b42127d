"""One verdict on every surface, and no figure that another refutes: on each recorded moment.

Those of the recorded plays are looked at while they are judged: tests/live/test_recordings.py.
"""

import json
from pathlib import Path

import pytest
from folded import folded
from recorded_hosts import HOSTS, last
from verdicts import broken, carried

from nettop.cli import main
from nettop.facts.joined import Joiner, needs
from nettop.facts.limits import words
from nettop.host.recording import Replay, load
from nettop.panes import limit as band
from nettop.sampling.sampler import Sampler
from nettop.terms.text import text_of
from nettop.views.build import Plans, scene_of
from nettop.views.past import History
from nettop.views.stages import foremost, moves
from nettop.views.view import View

TESTS = Path(__file__).parents[2]
DEMO = [TESTS.parent / "rules/demo.host.gz"]
SMALL = [path for path in HOSTS if "big" not in path.name]


@folded("path", [*HOSTS, *DEMO], ids=lambda path: path.name)
def test_no_moment_of_a_recording_contradicts_itself(path: Path) -> None:
    source = Replay(load(str(path)))
    sampler, joiner = Sampler(source), Joiner()
    wanted = set(needs())
    faults: dict[str, None] = {}
    facts = joiner.build(sampler.take(wanted))
    while source.wait(1.0):
        facts = joiner.build(sampler.take(wanted))
        faults |= dict.fromkeys((*broken(facts), *carried(facts)))
    assert list(faults) == []


def test_the_json_of_both_ends_has_the_joined_limits(capsys: pytest.CaptureFixture[str]) -> None:
    path = TESTS / "live/recordings/loss-own-tbf.host.gz"
    assert main(["why", "--replay", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    joined = {one["limit"]["target"]: one["limit"]["limit"] for one in told["peer"]["flows"]}
    own = {one["target"]: one["limit"] for one in told["limits"] if one["over"] == "flow"}
    assert joined
    assert joined.keys() <= own.keys()
    for target, stage in joined.items():
        assert (own[target]["stage"], own[target]["end"]) == (stage["stage"], stage["end"])


@folded("path", SMALL, ids=lambda path: path.name)
def test_the_commands_and_the_screen_say_the_same(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["why", "--replay", str(path)])
    why = " ".join(capsys.readouterr().out.split())
    main(["advise", "--replay", str(path)])
    advice = " ".join(capsys.readouterr().out.split())
    seen = last(path)
    facts = seen.facts
    assert list(broken(facts)) == []
    for one in facts.limits:
        assert one.over == "nic" or words.limited(one) in why
    busiest = words.busiest(facts.limits)
    assert busiest is None or words.limited(busiest) in advice
    found = foremost(scene_of(seen, History(), Plans(Replay(load(str(path))))), View())
    if found is not None and moves(found):
        assert found in facts.limits
        assert words.limited(found)[1:] in text_of(band.verdict(found, 400)[0])
