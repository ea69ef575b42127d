"""On a quiet host, verdicts on interfaces at rest are repeated until the sockets are read again."""

from dataclasses import replace

import pytest

from nettop.facts import Facts
from nettop.facts.limits import Limit, judge
from nettop.facts.limits import ladder as ladders
from nettop.facts.limits.ladder import Ladder
from nettop.facts.limits.looks import Look
from nettop.frame.rates import Frame
from nettop.host.recording import Replay, load
from nettop.views.observer import Observer

HOSTS = "tests/hosts/{}.host"


def last(host: str) -> tuple[Frame, Facts]:
    """The last frame of a recording and its facts."""
    source = Replay(load(HOSTS.format(host)))
    observer = Observer(source)
    frame = observer.sample({})
    while source.wait(1.0):
        frame, facts = (taken := observer.sample({})), observer.facts(taken)
    return frame, facts


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The target of each look that is judged."""
    seen: list[str] = []

    def counted(look: Look) -> Limit:
        seen.append(look.target)
        return judge.judge(look)

    monkeypatch.setattr(ladders, "judge", counted)
    return seen


def test_verdicts_on_an_interface_at_rest_are_repeated(judged: list[str]) -> None:
    frame, facts = last("guest-idle")
    ladder, judgements = Ladder(repeats=True), []
    judged.clear()
    for second in range(4):
        limits = ladder.build(replace(frame, at=frame.at + second), facts)
        judgements.append(len(judged))
    assert judgements[0] > 0
    assert judgements == [judgements[0]] * 4
    assert {one.rate for one in limits if one.over == "nic"} == {0.0}


def test_new_sockets_end_the_repetition(judged: list[str]) -> None:
    frame, facts = last("guest-idle")
    ladder = Ladder(repeats=True)
    judged.clear()
    ladder.build(frame, facts)
    once = len(judged)
    fresh = {**frame.tables, "sockets_tcp": [*frame.tables["sockets_tcp"]]}
    ladder.build(replace(frame, at=frame.at + 1, tables=fresh), facts)
    assert len(judged) == 2 * once


def test_an_interface_that_moves_data_is_judged_each_time(judged: list[str]) -> None:
    frame, facts = last("vm-send-buffer")
    ladder = Ladder(repeats=True)
    judged.clear()
    ladder.build(frame, facts)
    moving = {one.name for one in facts.nics if not ladder.window.rests(one)} & set(judged)
    assert moving
    for second in range(1, 4):
        ladder.build(replace(frame, at=frame.at + second), facts)
    assert {judged.count(name) for name in moving} == {8}  # two directions, four frames
