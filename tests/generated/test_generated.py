"""Generated hosts, played from their bytes: sound ones stay quiet, planted faults are found."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from folded import folded
from generated import score
from generated.archive import archive
from generated.invariants import BEGINS, REMAINS, TWO_VALUES, broken
from generated.model import Host
from generated.plant_host import FAULTS
from generated.sound import KINDS
from hypothesis import given
from hypothesis import strategies as st

from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Wanted
from nettop.config import rules_folder
from nettop.host.recording import Replay
from nettop.terms.formulas import pcie_usable

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 21))]
# faults that are not found on each host yet, and what for
PARTLY = {
    "tx-timeout": "drivers that do not count it: sysfs does, by queue",
    "coalescing-off": "the rate of a queue is not known on each host",
}


@pytest.mark.parametrize("seed", SEEDS)
@folded("kind", KINDS)
def test_a_sound_host_stays_quiet(kind: str, seed: int) -> None:
    outcome = score.judge(score.sound(kind, seed))
    assert (outcome.false, outcome.broken) == ((), ())


def found(outcome: score.Outcome) -> bool:
    """Whether every fault that must be found is found; what is false is an error in any case."""
    assert (outcome.false, outcome.broken) == ((), ()), outcome.faults
    return not [name for name in outcome.missed if score.expected()[name].covered
                and name not in PARTLY]  # fmt: skip


def two_by_two() -> Iterator[tuple[str, ...]]:
    """All faults, two on one host where a kind can have both and their findings differ."""
    left = dict(score.expected())
    while left:
        one = left.pop(next(iter(left)))
        rules = one.right | one.besides
        other = next((name for name, two in left.items()
                      if two.profile == one.profile and not rules & (two.right | two.besides)
                      and {*FAULTS[one.name][0]} & {*FAULTS[name][0]}), None)  # fmt: skip
        if other:
            del left[other]
        yield (one.name, other) if other else (one.name,)


@pytest.mark.slow
@folded("faults", two_by_two(), ids="+".join)
def test_planted_faults_are_found_and_nothing_else(faults: tuple[str, ...]) -> None:
    if not found(score.judge(score.sick(faults[0], 0, *faults[1:]), faults)):
        for fault in faults:  # one may keep the other from being seen
            assert found(score.judge(score.sick(fault, 0), (fault,))), fault


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 21))
@folded("fault", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(fault: str, seed: int) -> None:
    assert found(score.judge(score.sick(fault, seed), (fault,)))


@folded("kind", KINDS)
def test_counters_that_begin_again_end_nothing(kind: str) -> None:
    """As where a driver resets its card: what was counted before is gone."""
    count = Host.count

    def again(host: Host, name: str, rate: float, moment: int, *, bits: int = 64) -> int:
        now = count(host, name, rate, moment, bits=bits)
        return now if moment < 1 else max(0, now - count(host, name, rate, 1, bits=bits))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Host, "count", again)
        assert score.judge(score.sound(kind, 7)).broken == ()


def test_the_table_names_each_fault_and_each_kind_once() -> None:
    assert score.expected().keys() == FAULTS.keys()
    assert {kind for kinds, _ in FAULTS.values() for kind in kinds} <= KINDS.keys()


def test_the_words_of_the_table_mean_rules_that_exist() -> None:
    known = {rule.id for rule in load([rules_folder()])}
    for one in score.expected().values():
        assert one.right | one.besides <= known, one.name


def test_a_seed_is_one_host() -> None:
    assert archive(score.sick("crc-errors", 3)) == archive(score.sick("crc-errors", 3))
    assert archive(score.sick("crc-errors", 3)) != archive(score.sick("crc-errors", 4))


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 10**6))
def test_each_host_is_a_recording_of_moments(kind: str, seed: int) -> None:
    source = Replay(archive(score.sound(kind, seed)))
    times = [source.now()]
    while source.wait(1):
        times.append(source.now())
    assert times == [0.0, 5.25, 10.5]


def test_a_surface_that_shows_the_fault_is_never_taken_away() -> None:
    for fault in FAULTS:
        for seed in range(5):
            made = score.sick(fault, seed)
            assert not made.needs & made.absent, fault


@folded("kind", KINDS)
def test_the_slot_of_a_sound_card_carries_its_link(kind: str) -> None:
    """A 100 Gb/s card in a slot for 25 Gb/s is a fault of its own, also while it is not full."""
    for seed in range(20):
        for port in score.sound(kind, seed).ports:
            if port.pcie is not None and port.speed:
                speed, lanes = float(port.pcie[0].split()[0]), port.pcie[1]
                assert pcie_usable(speed, lanes) > 1.15e6 * port.speed, (seed, port)


def test_two_findings_that_set_one_setting_differently_are_noticed() -> None:
    facts, found = score.observed(score.sick("tso-off", 0))
    first = next(one for one in found if one.wanted)
    wanted = (replace(first.wanted[0], value="another"),)
    second = replace(first, id="b@x", rule="b", wanted=wanted)
    assert list(broken(facts, found)) == []
    assert (TWO_VALUES, first.wanted[0].setting) in broken(facts, [*found, second])


def test_a_fix_without_effect_and_one_that_begins_another_finding_are_noticed() -> None:
    facts, found = score.observed(score.sick("sack-off", 0))
    first = next(one for one in found if one.rule == "loss-recovery-crippled")
    inert = replace(first, wanted=(replace(first.wanted[0], value="0"),))
    assert (REMAINS, first.id) in broken(facts, [inert])
    harm = Wanted("sysctl.net.ipv4.tcp_timestamps", "0")
    worse = replace(first, wanted=(*first.wanted, harm))
    assert any(name == BEGINS for name, _ in broken(facts, [worse]))
