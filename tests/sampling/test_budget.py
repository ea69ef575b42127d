"""The budget: which tables are read less often, by what their readings cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from nettop.sampling.budget import LONGEST, SLOWEST, Budget

PACE = {"sockets_tcp": 1.0, "processes": 2.0, "cpu": 1.0}


def learned(percent: float = 1.0, **costs: float) -> Budget:
    budget = Budget(percent)
    for _ in range(2):
        budget.read(costs)
    return budget


def test_a_small_host_reads_everything_at_its_pace() -> None:
    budget = learned(sockets_tcp=0.001, processes=0.0019, cpu=0.0002)
    assert not budget.expensive
    assert budget.stretched(PACE) == {}


def test_a_dear_table_waits_until_it_fits() -> None:
    budget = learned(sockets_tcp=0.03, processes=0.0019, cpu=0.0002)
    assert budget.expensive
    assert budget.stretched(PACE) == {"sockets_tcp": 8.0}  # 0.4 % of a core is for it


def test_a_larger_budget_stretches_less() -> None:
    assert learned(10.0, sockets_tcp=0.03).stretched(PACE) == {}


def test_dear_tables_share_what_is_left_and_a_small_one_is_served_in_full() -> None:
    waits = learned(sockets_tcp=0.03, processes=0.03).stretched(PACE)
    assert waits == {"sockets_tcp": 12.0, "processes": 12.0}
    waits = learned(sockets_tcp=0.03, processes=0.006).stretched({**PACE, "processes": 10.0})
    assert waits == {"sockets_tcp": 7.0}


def test_no_table_waits_longer_than_twenty_seconds_but_for_its_own_interval() -> None:
    assert learned(sockets_tcp=9.0).stretched(PACE) == {"sockets_tcp": LONGEST}
    assert learned(sysctls=9.0).stretched({"sysctls": 60.0}) == {}


def test_one_dear_reading_changes_nothing() -> None:
    budget = Budget()
    budget.read({"sockets_tcp": 9.0})  # the first one fills caches
    assert budget.stretched(PACE) == {}
    budget.read({"sockets_tcp": 0.001})
    budget.read({"sockets_tcp": 9.0})
    assert budget.stretched(PACE) == {}


def test_facts_that_take_much_leave_the_tables_less_but_never_nothing() -> None:
    free = learned(4.0, sockets_tcp=0.1)
    taken = learned(4.0, sockets_tcp=0.1)
    for _ in range(50):
        taken.spent(0.5, 1.0)
    assert free.stretched(PACE) == {"sockets_tcp": 5.0}
    assert taken.stretched(PACE) == {"sockets_tcp": 7.0}


@pytest.mark.parametrize("text", ["budget = 0", "budget = 101", 'budget = "much"', "budget = true"])
def test_an_impossible_budget_is_ignored_with_a_reason(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop import config

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop" / "config.toml").write_text(f"{text}\n")
    settings = config.load()
    assert settings.get("budget", None) is None
    assert "budget" in settings.faults[0]


def paced(*seconds: float, percent: float = 1.0, interval: float = 1.0) -> float:
    budget = Budget(percent)
    total = 0.0
    budget.looked(total)
    for one in seconds:
        total += one
        budget.looked(total)
    return budget.pace(interval)


def test_looks_that_take_much_are_farther_apart() -> None:
    assert paced(0.006, 0.006, 0.006) == 1.0
    assert paced(0.055, 0.055, 0.055) == 3.0  # 2 % of a core is for whole looks
    assert paced(0.055, 0.055, 0.055, percent=10.0) == 1.0
    assert paced(0.9, 0.9, 0.9) == SLOWEST
    assert paced(0.9, 0.9, 0.9, interval=10.0) == 10.0


def test_one_dear_look_changes_nothing() -> None:
    assert paced(0.9, 0.9) == 1.0  # the first ones fill caches
    assert paced(0.006, 0.9, 0.9) == 1.0
