"""Generated hosts, played from their bytes: sound ones stay quiet, planted faults are found."""

from __future__ import annotations

import pytest
from generated import score
from generated.archive import archive
from generated.plant_host import FAULTS
from generated.sound import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

from nettop.advice.rules.load import load
from nettop.config import rules_folder
from nettop.host.recording import Replay

# faults that are not found on each host yet, and what for
PARTLY = {
    "fec-uncorrectable": "the FEC's counters are read, no rule looks at them",
    "softirq-budget": "only with loss, or on a host for bulk transfer or capture",
    "governor-powersave": "the rule is for hosts for bulk transfer or latency",
    "tx-timeout": "drivers that do not count it: sysfs does, by queue",
    "coalescing-off": "the rate of a queue is not known on each host",
    "rps-on-many-queues": "fewer queues than cores on the node",
    "gro-off": "offloads are not read below Linux 5.7",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_sound_host_stays_quiet(kind: str, seed: int) -> None:
    assert score.judge(score.sound(kind, seed)).false == ()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(2))
def test_a_planted_fault_is_found_and_nothing_else(fault: str, seed: int) -> None:
    outcome = score.judge(score.sick(fault, seed), (fault,))
    assert outcome.false == ()
    if score.expected()[fault].covered and fault not in PARTLY:
        assert outcome.missed == (), sorted(outcome.rules)


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


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 10**6))
def test_each_host_is_a_recording_of_moments(kind: str, seed: int) -> None:
    source = Replay(archive(score.sound(kind, seed)))
    times = [source.now()]
    while source.wait(1):
        times.append(source.now())
    assert times == [0.0, 3.5, 7.0, 10.5]


def test_a_surface_that_shows_the_fault_is_never_taken_away() -> None:
    for fault in FAULTS:
        for seed in range(5):
            made = score.sick(fault, seed)
            assert not made.needs & made.absent, fault


def test_the_tally_counts_right_missed_and_false() -> None:
    tally = score.Tally()
    tally.add(
        [
            score.Outcome("a", ("crc-errors",), "router", (), (), frozenset({"frames-damaged"})),
            score.Outcome("b", ("crc-errors",), "router", ("crc-errors",), ("bus-bound@x",)),
            score.Outcome("c", (), "ena", (), ()),
        ]
    )
    assert (tally.precision, tally.recall()) == (0.5, 0.5)
    assert tally.right["frames-damaged"] == tally.false["bus-bound"] == 1
    assert tally.hosts["sound ena"] == 1
