"""The driver table, `rules/drivers.toml`: the names of each driver's counters and queues."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from ..config import rules_folder
from ..files import bounds

COUNTS: Final = (
    "ring_drops", "alloc_fails", "phy_errors", "length_errors", "phy_discards", "pause_rx",
    "pause_tx", "tx_timeouts", "allowance_bw_in", "allowance_bw_out", "allowance_pps",
    "allowance_conntrack",
)  # fmt: skip
QUEUE_COUNTS: Final = ("packets", "bytes", "drops")
_KEYS: Final = {
    "title": str, "notes": str, "section": str, "queues": list, "count": dict, "levels": list,
    "arfs": bool, "para": bool, "fcs_counted": bool, "virtual": bool,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Driver:
    """One driver. `count` has, for each name of `COUNTS`, patterns in order of preference."""

    name: str
    title: str = ""
    notes: str = ""
    arfs: bool = False  # steers a flow to the core of its application
    para: bool = False  # a hypervisor's device
    fcs_counted: bool = False  # its byte counters include the frame check
    virtual: bool = False  # a software device
    section: re.Pattern[str] | None = None
    queues: tuple[re.Pattern[str], ...] = ()
    count: Mapping[str, tuple[re.Pattern[str], ...]] = field(default_factory=dict)
    levels: tuple[re.Pattern[str], ...] = ()  # statistics that are no counters


@dataclass(frozen=True, slots=True)
class Plan:
    """Which of a driver's statistics, by index, add up to each name; made once for its names.

    `levels` are the indexes of statistics that are not counters.
    """

    counts: Mapping[str, tuple[int, ...]]
    queues: Mapping[str, Mapping[str, tuple[int, ...]]]
    levels: frozenset[int] = frozenset()


def plan(driver: Driver, names: Sequence[str]) -> Plan:
    """The sums for these names. A name may occur several times (vmxnet3: once for each queue)."""
    counts = {}
    for what, patterns in driver.count.items():
        for pattern in patterns:
            places = tuple(i for i, name in enumerate(names) if pattern.fullmatch(name))
            if places:
                counts[what] = places
                break
    levels = (
        place
        for place, name in enumerate(names)
        if any(pattern.fullmatch(name) for pattern in driver.levels)
    )
    return Plan(counts, _queues(driver, names), frozenset(levels))


def _queues(driver: Driver, names: Sequence[str]) -> dict[str, dict[str, tuple[int, ...]]]:
    found: dict[str, dict[str, list[int]]] = {}
    sections = {"rx": -1, "tx": -1}
    current: str | None = None
    for place, name in enumerate(names):
        heading = driver.section.fullmatch(name) if driver.section else None
        if heading:
            way = heading["direction"].lower()
            sections[way] += 1
            current = f"{way}-{sections[way]}"
            continue
        for pattern in driver.queues:
            match = pattern.fullmatch(name)
            if match is None:
                continue
            groups = match.groupdict()
            queue = next(
                (f"{way}-{int(groups[way][:9])}" for way in sections if groups.get(way)), current
            )
            if queue is None:
                continue
            for what in QUEUE_COUNTS:
                if groups.get(what) is not None:
                    found.setdefault(queue, {}).setdefault(what, []).append(place)
    return {
        queue: {what: tuple(places) for what, places in sums.items()}
        for queue, sums in found.items()
    }


@cache
def _texts() -> Mapping[str, bounds.Table]:
    import tomllib

    with (rules_folder() / "drivers.toml").open("rb") as file:
        return tomllib.load(file)


def table() -> Mapping[str, Driver]:
    """Every driver of the table, by name; ValueError names a wrong entry."""
    return {name: driver(name) for name in _texts()}


@cache  # a host has few drivers: the patterns of the others are not compiled
def known(name: str) -> Driver | None:
    """The driver of this name; None if the table lacks it. ValueError for a wrong entry."""
    values = _texts().get(name)
    return None if values is None else _driver(name, values)


def driver(name: str) -> Driver:
    """The driver of this name; one without patterns if the table lacks it."""
    return known(name) or Driver(name)


def _driver(name: str, values: bounds.Table) -> Driver:
    for key, value in values.items():
        if key not in _KEYS:
            raise ValueError(f"drivers.toml: [{name}] has an unknown key {key!r}")
        if not isinstance(value, _KEYS[key]):
            raise ValueError(  # noqa: TRY004 - a file is wrong, not a call
                f"drivers.toml: [{name}] {key} is not a {_KEYS[key].__name__}"
            )
    unknown = set(values.get("count", {})) - set(COUNTS)
    if unknown:
        raise ValueError(f"drivers.toml: [{name}.count] has an unknown name {min(unknown)!r}")
    try:
        return Driver(
            name=name,
            section=re.compile(values["section"]) if "section" in values else None,
            queues=tuple(re.compile(pattern) for pattern in values.get("queues", ())),
            levels=tuple(re.compile(pattern) for pattern in values.get("levels", ())),
            count={
                what: tuple(re.compile(pattern) for pattern in patterns)
                for what, patterns in values.get("count", {}).items()
            },
            **{
                k: v for k, v in values.items() if k not in {"section", "queues", "levels", "count"}
            },
        )
    except re.error as error:
        raise ValueError(f"drivers.toml: [{name}] has a wrong pattern: {error}") from None
