"""Statistics as the drivers print them: each name's meaning, and no packet counted twice."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, cast

import pytest
from folded import folded

from nettop.collect import _drivers as drivers
from nettop.collect import nicqueues, nicstats
from nettop.collect._driver_statistics import DriverStatistics


class Case(TypedDict, total=False):
    driver: str
    about: str
    text: str
    counts: dict[str, int]
    queues: dict[str, str]
    levels: list[str]
    link_ring: str


CASES = [
    cast("Case", case)
    for path in sorted(Path(__file__).with_name("driver_statistics").glob("*.toml"))
    for case in tomllib.loads(path.read_text())["case"]
]
LOSSES = ("ring_drops", "alloc_fails", "phy_errors", "length_errors", "phy_discards",
          "fifo_drops")  # fmt: skip
IDS = [f"{case['driver']}: {case['about']}" for case in CASES]


def reading(case: Case) -> DriverStatistics:
    pairs = [match.groups() for match in re.finditer(r"^(.*): (\d+)$", case["text"], re.MULTILINE)]
    names = tuple(name for name, _ in pairs)
    about = drivers.driver(case["driver"], names)
    plan = drivers.plan(about, names)
    return DriverStatistics("eth0", about, plan, names, tuple(int(value) for _, value in pairs))


@folded("case", CASES, ids=IDS)
def test_each_statistic_has_its_meaning(case: Case) -> None:
    row = nicstats.row(reading(case))
    counted = {name: getattr(row, name) for name in drivers.COUNTS}
    assert {name: value for name, value in counted.items() if value is not None} == case["counts"]


@folded("case", CASES, ids=IDS)
def test_each_queue_has_its_packets(case: Case) -> None:
    rows = [
        nicqueues.row("eth0", queue, counts, {})
        for queue, counts in nicqueues.own_counts(reading(case)).items()
    ]
    found = {
        row.queue: " ".join(
            "-" if value is None else str(value) for value in (row.packets, row.bytes, row.drops)
        )
        for row in rows
    }
    assert found == case.get("queues", {})


def counted_twice(about: drivers.Driver, names: Sequence[str]) -> list[str]:
    """Statistics with two meanings, and groups of the same packets with two patterns in use."""
    counts = drivers.plan(about, names).counts
    places = [place for what in LOSSES for place in counts.get(what, ())]
    used = {names[place] for place in places}
    twice = [names[place] for place in set(places) if places.count(place) > 1]
    for group in about.same:
        patterns = [one.pattern for one in group if any(one.fullmatch(name) for name in used)]
        twice += [" and ".join(patterns)] if len(patterns) > 1 else []
    return twice


@folded("case", CASES, ids=IDS)
def test_no_packet_is_counted_twice(case: Case) -> None:
    own = reading(case)
    assert counted_twice(own.driver, own.names) == []


@pytest.mark.parametrize(
    ("count", "names", "twice"),
    [
        ({"ring_drops": ["total|q0"]}, ["total", "q0"], ["total and q0"]),
        ({"ring_drops": ["q0"], "phy_discards": ["total"]}, ["total", "q0"], ["total and q0"]),
        ({"ring_drops": ["q0"], "alloc_fails": ["q0"]}, ["q0"], ["q0"]),
        ({"ring_drops": ["total", "q0"]}, ["total", "q0"], []),
    ],
)
def test_what_is_counted_twice_is_found(
    count: dict[str, list[str]], names: list[str], twice: list[str]
) -> None:
    about = drivers._driver("x", {"count": count, "same": [["total", "q0"]]})
    assert counted_twice(about, names) == twice


def test_every_group_of_the_same_packets_is_tried() -> None:
    """A case has statistics of two patterns of the group."""
    seen: dict[str, list[tuple[str, ...]]] = {}
    for own in map(reading, CASES):
        seen.setdefault(own.driver.source, []).append(own.names)
    untried = [
        (about.name, [one.pattern for one in group])
        for about in drivers.table().values()
        for group in about.same
        if not any(
            sum(any(one.fullmatch(name) for name in names) for one in group) > 1
            for names in seen.get(about.source, ())
        )
    ]
    assert untried == []


def test_every_driver_has_a_case_or_a_sample_and_names_its_source() -> None:
    have = {reading(case).driver.source for case in CASES}
    # their names are in test_nicstats.py, from real outputs
    elsewhere = {"ixgbevf", "igc", "e1000", "tg3", "r8169", "8139cp"}
    for name, about in drivers.table().items():
        assert re.match(r"[\w./-]+\.[ch], ", about.source), name
        assert name in elsewhere or about.source in have, f"{name} has no case"


@pytest.mark.parametrize("case", [case for case in CASES if "levels" in case])
def test_levels_have_no_rate(case: Case) -> None:
    own = reading(case)
    assert [own.names[place] for place in sorted(own.plan.levels)] == case["levels"]


@pytest.mark.parametrize("case", [case for case in CASES if "link_ring" in case])
def test_the_link_statistic_of_a_full_ring(case: Case) -> None:
    assert reading(case).driver.link_ring == case["link_ring"]


def test_a_link_statistic_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"\[x\] link_ring is not one of rx_missed_errors"):
        drivers._driver("x", {"link_ring": "rx_dropped"})
