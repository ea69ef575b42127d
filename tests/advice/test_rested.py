"""Of many facts of a kind, and of a quiet host, those that rest are judged less often. Counts."""

from dataclasses import replace
from pathlib import Path

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge, measured
from nettop.advice.judge.loop import EVERY, MANY, QUIET, Rested
from nettop.advice.rules.load import read
from nettop.facts import Facts
from nettop.facts.kinds.nic import Counters, Nic

RULE = """
title = "t"
severity = "warning"
over = "nic"
why = "w"
when = "nic.per_s.rx_dropped > 10 and host.cpus > 4"
[[source]]
doc = "a book"
"""


def nics(count: int) -> tuple[Nic, ...]:
    """Interfaces of which v7 loses."""
    return tuple(
        Nic(name=f"v{n}", kind="nic", per_s=Counters(rx_dropped=20.0 if n == 7 else 0.0))
        for n in range(count)
    )


def at(seconds: float, every: tuple[Nic, ...], cpus: int = 8) -> Facts:
    return replace(facts({"host": {"cpus": cpus}}, "server", seconds), nics=every)


@pytest.mark.parametrize("count", [MANY, MANY + 1])
def test_a_few_facts_are_all_judged_and_of_many_only_those_that_changed(count: int) -> None:
    rested, every = Rested(), nics(count)
    assert rested.fresh(at(0.0, every), ()) == {}
    changed = (replace(every[0], mtu=9000), *every[1:])
    fresh = rested.fresh(at(1.0, changed), {("rule", "v7")})
    assert fresh == ({} if count == MANY else {"nic": [changed[0], every[7]]})
    assert rested.fresh(at(EVERY, changed), ()) == {}  # all


def test_of_a_quiet_host_only_what_changed_is_judged_until_data_moves() -> None:
    rested, every = Rested(), nics(3)
    first = at(0.0, every)
    assert rested.fresh(first, (), quiet=True) == {}
    fresh = rested.fresh(replace(at(1.0, every), host=first.host), (), quiet=True)
    assert fresh == {"host": [], "nic": []}
    later = replace(first.host, cpus=9)
    changed = (every[0], replace(every[1], mtu=9000), every[2])
    fresh = rested.fresh(replace(at(2.0, changed), host=later), (), quiet=True)
    assert fresh == {"host": [later], "nic": [changed[1]]}
    assert rested.fresh(at(QUIET, changed), (), quiet=True) == {}  # all
    assert rested.fresh(at(QUIET + 1.0, changed), ()) == {}


def judged(tmp_path: Path, when: str) -> Judge:
    """A judge of one rule, over interfaces."""
    path = tmp_path / "surface" / "loses.toml"
    path.parent.mkdir()
    path.write_text(RULE.replace("nic.per_s.rx_dropped > 10 and host.cpus > 4", when))
    return Judge(read(path))


def test_values_of_what_rests_are_kept_and_those_of_what_is_gone_are_not(tmp_path: Path) -> None:
    judge = judged(tmp_path, "increase(nic.total.carrier_changes, 60) > 2")
    judge.quiet = True

    def found(seconds: float, *changes: int) -> bool:
        now = tuple(known[name, count] for name, count in zip("ab", changes, strict=False))
        return bool(judge.judge(at(seconds, now)).findings)

    known = {
        (name, count): Nic(name=name, kind="nic", total=Counters(carrier_changes=count))
        for name in "ab" for count in range(6)
    }  # fmt: skip
    assert not found(0.0, 1, 1)
    assert not found(1.0, 1, 2)
    assert not found(2.0, 1, 2)  # both rest
    assert found(3.0, 1, 4)
    assert not found(10.0, 1)
    assert not found(20.0, 1, 5)


def test_after_a_change_of_the_host_all_is_judged_at_once(tmp_path: Path) -> None:
    judge = judged(tmp_path, "nic.per_s.rx_dropped > 10 and host.cpus > 4")
    judge.quiet = True
    every = nics(9)

    def targets(seconds: float, cpus: int) -> set[str]:
        return {one.target for one in judge.judge(at(seconds, every, cpus)).findings}

    assert targets(0.0, 2) == set()
    assert targets(1.0, 8) == set()  # what rests is not judged
    judge.anew()
    assert targets(2.0, 8) == {"v7"}


def test_a_finding_stays_begins_and_ends_with_its_fact(tmp_path: Path) -> None:
    judge = judged(tmp_path, "nic.per_s.rx_dropped > 10 and host.cpus > 4")
    every = nics(300)

    def targets(seconds: float, now: tuple[Nic, ...], cpus: int = 8) -> set[str]:
        return {one.target for one in judge.judge(at(seconds, now, cpus)).findings}

    assert targets(0.0, every) == {"v7"}
    assert targets(1.0, every) == {"v7"}
    worse = (*every[:9], replace(every[9], per_s=Counters(rx_dropped=30.0)), *every[10:])
    assert targets(2.0, worse) == {"v7", "v9"}
    assert targets(3.0, every) == {"v7"}
    assert targets(4.0, every, cpus=2) == set()  # what has a finding is judged each time
    assert targets(5.0, every) == set()  # what rests is not
    assert targets(EVERY, every) == {"v7"}


def test_the_worst_value_of_what_rests_is_kept_when_others_change(tmp_path: Path) -> None:
    path = tmp_path / "surface" / "lost.toml"
    path.parent.mkdir()
    path.write_text(RULE.replace("nic.per_s.rx_dropped > 10", "worst(nic.per_s.rx_dropped, 5) > 10")
                    .replace("host.cpus > 4", "nic.mtu == 9000"))  # fmt: skip
    judge = Judge(read(path))
    every = nics(MANY + 6)  # v7 loses
    assert judge.judge(at(0.0, every)).findings == ()
    for second in (1.0, 2.0):
        other = (replace(every[0], mtu=int(second)), *every[1:])
        judge.judge(at(second, other))
    calm = replace(every[7], mtu=9000, per_s=Counters(rx_dropped=0.0))
    found = judge.judge(at(3.0, (*every[:7], calm, *every[8:]))).findings
    assert [one.target for one in found] == ["v7"]


# Which evidence of a finding is a loss or a limit that was hit.


@pytest.mark.parametrize(
    ("field", "value", "loss"),
    [
        ("nic.per_s.ring_drops", 3.0, True),
        ("nic.per_s.ring_drops", 0.0, False),
        ("nic.per_s.ring_drops", None, False),
        ("nic.total.ring_drops", 3, False),  # since boot, not now
        ("nic.per_s.rx_packets", 3.0, False),
        ("nic.driver", "drops", False),
        ("core.idle", 4.9, True),
        ("core.idle", 5.0, False),
    ],
)
def test_a_loss_is_a_count_above_zero_or_a_core_without_idle_time(
    field: str, value: float | str | None, loss: bool
) -> None:
    assert measured(field, value) is loss
