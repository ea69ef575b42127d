"""When the screen counts drops and failed calls, and what it shows between two counts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nettop import collect
from nettop.host.recording import Replay, load
from nettop.host.source import Live
from nettop.panes.headline import header
from nettop.panes.interfaces import reasons
from nettop.sampling.refresh import ShortLook
from nettop.terms.text import text_of
from nettop.views.build import Plans, scene_of
from nettop.views.observer import Observation, Observer
from nettop.views.past import History
from nettop.views.view import View


def running(look: ShortLook, until: int, problems: dict[int, Sequence[str]]) -> list[int]:
    """The seconds in which it runs; the problems hold from those seconds on."""
    ran, held = list[int](), set[str]()
    for second in range(until):
        if look.runs(second):
            ran.append(second)
        held |= set(problems.get(second, ()))
        look.judged(second, held)
    return ran


def test_it_runs_for_two_seconds_of_each_minute() -> None:
    assert running(ShortLook(0.0), 130, {0: ["old"]}) == [3, 4, 63, 64, 123, 124]


def test_a_problem_that_begins_is_looked_at_for_longer() -> None:
    assert running(ShortLook(0.0), 60, {30: ["new"]}) == [3, 4, *range(31, 36)]


def test_without_a_look_of_each_minute_it_runs_where_a_problem_begins() -> None:
    look = ShortLook(0.0, short=0.0)
    assert running(look, 300, {0: ["old"], 30: ["new"], 40: ["third"]}) == [*range(31, 36)]
    assert running(ShortLook(0.0, short=0.0), 200, {100: ["new"]}) == [*range(101, 106)]


def test_what_it_finds_itself_begins_no_other_look() -> None:
    assert running(ShortLook(0.0), 60, {5: ["drop"], 8: ["call"]}) == [3, 4]


def test_problems_that_come_and_go_are_looked_at_once_in_a_minute() -> None:
    look, ran = ShortLook(0.0), 0
    for second in range(300):
        ran += look.runs(second)
        look.judged(second, ["comes"] if second % 20 < 10 else [])
    assert ran <= 300 // 60 * (2 + 5)


def test_a_change_of_the_host_is_looked_at_and_a_refusal_ends_it() -> None:
    look = ShortLook(0.0)
    look.changed(20.0)
    assert [look.runs(20.0), look.runs(24.9), look.runs(25.0)] == [True, True, False]
    look.refused()
    look.changed(30.0)
    assert not any(look.runs(at) for at in (30.0, 80.0, 1e9))


class Host(Live):
    """A host whose kernel counts 90 drops in each look, or refuses to; a clock of its own."""

    def __init__(self, *, allowed: bool = True) -> None:
        super().__init__("/nonexistent")
        self.live, self.allowed, self.at = True, allowed, 100.0
        self.begun: dict[str, float] = {}
        self.asked = 0

    def now(self) -> float:
        return self.at

    def counted(self, what: str) -> str:
        self.asked += 1
        if not self.allowed:
            raise PermissionError(1, "counting in the kernel needs root")
        seconds = self.at - self.begun.setdefault(what, self.at)
        rows = "SOCKET_RCVBUFF 90 udp_queue_rcv_one_skb here 1 udp 53\n" if what == "drops" else ""
        rows += "".join(f"@{part} 30 SOCKET_RCVBUFF backup\n" for part in (0, 90, 180) if rows)
        return f"{seconds:.3f}\n{rows if seconds else ''}"

    def end_counting(self, what: str) -> None:
        self.begun.pop(what, None)


def looks(host: Host, seconds: int) -> list[Observation]:
    """An observation of each second."""
    observer = Observer(host)
    observer.look_shortly()
    seen = []
    for _ in range(seconds):
        seen.append(observer.glance(()))
        host.at += 1.0
    host._netlink().close()  # tracebacks of what was not read hold the host until later
    return seen


def found(one: Observation) -> list[str]:
    return [finding.id for finding in one.judgement.findings if finding.rule.startswith("packets-")]


def test_what_was_counted_stays_until_the_next_look_and_nothing_is_attached_meanwhile() -> None:
    host = Host()
    seen = looks(host, 6)
    ran = [one.counting is not None for one in seen]
    assert ran == [False, False, False, True, True, False]
    assert not host.begun
    assert [bool(found(one)) for one in seen] == [False] * 5 + [True]
    (drop,) = seen[-1].facts.more["drop"]
    assert (drop.packets, drop.per_s) == (90, 45.0)

    host = Host()
    later = looks(host, 75)
    assert [bool(found(one)) for one in later[5:]] == [True] * 70
    assert [at for at, one in enumerate(later) if one.counting is not None] == [3, 4, 63, 64]
    assert not host.begun


def test_each_look_accounts_for_what_was_lost_in_it() -> None:
    seen = looks(Host(), 8)
    assert [one.facts.losses is not None for one in seen] == [False] * 5 + [True] * 3
    losses = seen[-1].facts.losses
    assert losses is not None
    assert (losses.seconds, losses.alone) == (2.0, (("SOCKET_RCVBUFF", 90),))
    shown = [text_of(row) for row in reasons(seen[-1].facts, 100)]
    assert shown[1].strip() == (
        "lost in 2 s: 90 packets by the kernel's reasons alone (SOCKET_RCVBUFF)"
    )
    assert shown[2].strip() == (
        "in bursts: 10 ms of 30 drops (SOCKET_RCVBUFF) every 750 ms, while backup ran"
    )


def test_a_kernel_that_refuses_is_not_asked_again_and_is_said() -> None:
    host = Host(allowed=False)
    looks(host, 10)
    once = host.asked
    assert once
    host = Host(allowed=False)
    seen = looks(host, 150)
    assert host.asked == once
    assert "needs root" in seen[-1].frame.missing["drop_reasons"]


def test_the_configuration_forbids_it_and_a_count_without_end_replaces_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = Host()
    observer = Observer(host)
    observer.deep = True
    observer.look_shortly()
    assert observer.deep
    assert observer.short_look is None
    monkeypatch.setattr(observer, "_settings", {"deep": False})
    observer.deep = False
    observer.look_shortly()
    assert observer.short_look is None


def test_the_header_says_that_it_runs_and_its_cost() -> None:
    host = Host()
    for one in looks(host, 5):
        scene = scene_of(one, History(), Plans(host))
        said = "counting drops" in text_of(header(scene, View(), 160))
        assert said == (one.counting is not None)
    told = text_of(header(replace(scene, counting=0.095), View(), 160))
    assert "counting drops and failed calls, sampling cores: 95 ms of CPU" in told


class Clock:
    """The CPU time of this thread: each question of the kernel takes 20 ms of it."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def __call__(self) -> float:
        return self.host.asked * 0.020


def test_its_cost_is_that_of_its_begin_and_of_reading_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = Host()
    monkeypatch.setattr("time.thread_time", Clock(host))
    costs = [one.counting for one in looks(host, 65)]
    begin = len(collect.deep()) * 0.020
    assert costs[3:6] == [pytest.approx(begin), pytest.approx(begin), None]
    # then each table is read once, and what came in bursts once more
    assert costs[63] == pytest.approx(2 * begin + 2 * 0.020)


class Monitored(Host):
    """A host that refuses programs, and whose drop monitor counts drops."""

    def counted(self, what: str) -> str:
        if what != "drops":
            raise PermissionError(1, "counting in the kernel needs root")
        return super().counted(what) + "! the drop monitor counts instead\n"


def test_a_kernel_that_counts_drops_alone_is_looked_at_each_minute() -> None:
    seen = looks(Monitored(), 75)
    assert [at for at, one in enumerate(seen) if one.counting is not None] == [3, 4, 63, 64]
    assert found(seen[-1])
    assert seen[-1].frame.missing["drop_reasons"] == "the drop monitor counts instead"


# A recording that is shorter than a rule holds is judged as the host was, observed so long.


HOST = Path(__file__).parents[1] / "hosts" / "vm-send-buffer.host"


def test_the_hold_of_rules_is_limited_to_the_length_of_a_recording() -> None:
    source = Replay(load(str(HOST)))
    source.moments = source.moments[:4]
    assert 0 < source.length < 60
    assert Observer(source, window=60.0).judge.window == source.length
    assert Observer(source, window=1.0).judge.window == 1.0
    assert Observer(source).judge.window is None
