"""How long runs are: short ones follow first runs whose rate did not have to grow."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from folded import folded

from nettop import settings
from nettop.trials import prove
from nettop.trials.lever import facing, reverse, side
from nettop.trials.result import Interval, Measured, Options, Side, TrialResult
from nettop.trials.statistics import settles

FLAT = [1e9] * 10
GROWS = [1e8 * second for second in range(1, 11)]
SETTLES = {
    "the same rate": (FLAT, True),
    "a rate that varies": ([1e9, 1.2e9, 0.8e9, 1.1e9] * 2 + [0.9e9, 1e9], True),
    "a rate that varies much": ([1e9, 3e9, 2e9, 4e9, 1e9, 2e9, 1e9, 3e9, 1e9, 2e9], True),
    "a rate that grows": (GROWS, False),
    "a rate that grows at first": ([0.2e9, 0.5e9, 0.8e9, 0.95e9] + [1e9] * 6, False),
    "a rate that falls": (GROWS[::-1], False),
    "nothing": ([0.0] * 10, False),
    "no seconds": ([], False),
}


def seconds(rates: Sequence[float]) -> tuple[Interval, ...]:
    return tuple(Interval(1.0 + at, 1.0, rate) for at, rate in enumerate(rates))


@folded(("rates", "wanted"), SETTLES.values(), ids=SETTLES)
def test_a_run_settles_if_its_beginning_carries_what_the_whole_does(
    rates: list[float], wanted: bool
) -> None:
    assert settles(seconds(rates)) is wanted


def lengths(
    monkeypatch: pytest.MonkeyPatch, options: Options, states: Sequence[int], slow: int = -1
) -> list[float]:
    """The seconds of a run in each of these states; the rate of state `slow` has to grow."""
    taken: list[float] = []

    def run(_tool: str, given: Options, *_: object) -> TrialResult:
        taken.append(given.seconds)
        rates = GROWS if states[len(taken) - 1] == slow else FLAT
        measured = Measured(bits_per_second=1e9, intervals=seconds(rates))
        return TrialResult("bulk", given, measured, Side("a"), Side("b"), {}, (), 0.0)

    monkeypatch.setattr("nettop.trials.run.run", run)
    on = prove.bench("bulk", options)
    for state in states:
        on.take(state)
    return taken


TURNS = (0, 0, 0, 1, 0, 1, 0, 1)


def test_the_first_run_of_each_state_has_its_whole_length(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lengths(monkeypatch, Options(), TURNS) == [10.0, 4.0, 4.0, 10.0] + [4.0] * 4


def test_no_run_is_short_once_a_rate_has_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lengths(monkeypatch, Options(), TURNS, slow=0) == [10.0] * 8
    assert lengths(monkeypatch, Options(), TURNS, slow=1) == [10.0, 4.0, 4.0] + [10.0] * 5


def test_a_length_that_was_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = replace(Options(), seconds=30.0)
    assert lengths(monkeypatch, chosen, TURNS) == [30.0] * 8


# Which end sends in the test of a setting: data passes the setting that is tested.


SIDES = {
    "ring.rx@eth0": "rx",
    "ring.tx@eth0": "tx",
    "ring.rx@{nic}": "rx",
    "channels.combined@eth0": "",
    "coalesce.adaptive-rx@eth0": "rx",
    "coalesce.tx-usecs@eth0": "tx",
    "feature.rx-gro@eth0": "rx",
    "feature.tx-tcp-segmentation@eth0": "tx",
    "rps.cpus@eth0/rx-0": "rx",
    "xps.rxqs@eth0/tx-0": "tx",
    "rss.table@eth0": "rx",
    "irq.affinity@eth0/rx-0": "rx",
    "irq.affinity@eth0/combined-0": "",
    "pause.rx@eth0": "tx",
    "pause.tx@eth0": "rx",
    "qdisc.root@eth0": "tx",
    "link.mtu@eth0": "",
    "link.gro-max-size@eth0": "rx",
    "route.initcwnd@default": "tx",
    "sysctl.net.ipv4.tcp_rmem": "rx",
    "sysctl.net.ipv4.tcp_wmem": "tx",
    "sysctl.net.core.netdev_max_backlog": "rx",
    "sysctl.net.ipv4.tcp_congestion_control": "tx",
    "sysctl.net.ipv4.tcp_sack": "",
    "process.affinity@7": "",
}


@folded(("setting", "wanted"), SIDES.items(), ids=SIDES)
def test_the_side_of_a_setting(setting: str, wanted: str) -> None:
    assert side(setting) == wanted


@pytest.mark.parametrize("kind", settings.kinds())
def test_a_kind_declares_sides_of_its_own_names(kind: str) -> None:
    module = settings.kind(kind)
    own = getattr(module, "SIDE", "rx")
    sides = {own} if isinstance(own, str) else set(own.values())
    assert sides <= {"rx", "tx"}
    names = getattr(module, "NAMES", ())
    assert isinstance(own, str) or not names or set(own) <= set(names)


RMEM, WMEM, SACK = (f"sysctl.net.ipv4.tcp_{name}" for name in ("rmem", "wmem", "sack"))


def test_the_end_that_sends_is_the_other_one_for_what_a_host_receives() -> None:
    assert reverse([RMEM, SACK]) is True
    assert reverse([WMEM]) is False
    assert reverse([RMEM, WMEM]) is None
    assert reverse([SACK]) is None
    assert reverse([RMEM], away=True) is False
    assert reverse([WMEM], away=True) is True


def test_a_direction_that_was_given_stays() -> None:
    assert facing("bulk", Options(), [RMEM]).reverse is True
    assert facing("bulk", Options(reverse=False), [RMEM]).reverse is False
    assert facing("bulk", Options(reverse=True), [WMEM]).reverse is True
    assert facing("bulk", Options(bidirectional=True), [RMEM]).reverse is None
    assert facing("udp-latency", Options(), [RMEM]).reverse is None
