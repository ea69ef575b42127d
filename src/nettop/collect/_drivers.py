"""The driver table, `rules/drivers.toml`: the names of each driver's counters and queues."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Final, NamedTuple

from ..config import rules_folder
from ..files import bounds
from ..terms.dataclass import dataclass

COUNTS: Final = (
    "ring_drops", "alloc_fails", "phy_errors", "length_errors", "phy_discards", "pause_rx",
    "pause_tx", "pfc_rx", "pfc_tx", "tx_timeouts", "tx_stops", "allowance_bw_in",
    "allowance_bw_out", "allowance_pps", "allowance_conntrack", "allowance_linklocal",
    "xdp_drops", "xdp_fails", "bus_overflows", "bus_stalls", "port_rx_bytes", "port_tx_bytes",
    "fifo_drops", "ring_waits",
)  # fmt: skip
LEVELS: Final = ("connections_left",)  # values of a moment, mapped like counts
QUEUE_COUNTS: Final = ("packets", "bytes", "drops")
_KEYS: Final = {
    "title": str, "notes": str, "source": str, "section": str, "queues": list, "count": dict,
    "levels": list, "same": list, "aliases": list, "statistics": list, "link_ring": str,
    "arfs": bool, "para": bool, "fcs_counted": bool, "virtual": bool, "dynamic_usecs": list,
    "ring_drops_unless": str,
}  # fmt: skip
_BUILT: Final = {
    "section", "queues", "levels", "count", "same", "statistics", "aliases", "dynamic_usecs",
}  # fmt: skip
_LINK_FIELDS: Final = ("rx_missed_errors", "rx_fifo_errors", "rx_over_errors")


@dataclass(frozen=True, slots=True)
class Driver:
    """One driver. `count`: for names of `COUNTS` and `LEVELS`, patterns in order of preference."""

    name: str
    title: str = ""
    notes: str = ""
    source: str = ""  # the code that defines the names and their meaning
    link_ring: str = ""  # the link statistic that counts only packets lost at a full ring
    ring_drops_unless: str = ""  # the pause, rx or tx, with which a full ring fills the FIFO
    arfs: bool = False  # steers a flow to the core of its application
    para: bool = False  # a hypervisor's device
    fcs_counted: bool = False  # its byte counters include the frame check
    virtual: bool = False  # a software device
    dynamic_usecs: tuple[int, ...] = ()  # values of rx-usecs that mean dynamic moderation
    section: re.Pattern[str] | None = None
    queues: tuple[re.Pattern[str], ...] = ()
    count: Mapping[str, tuple[re.Pattern[str], ...]] = field(default_factory=dict)
    levels: tuple[re.Pattern[str], ...] = ()  # statistics that are no counters
    same: tuple[tuple[re.Pattern[str], ...], ...] = ()  # groups that count the same packets
    statistics: frozenset[str] = frozenset()  # identify a driver whose name is not in the table


@dataclass(frozen=True, slots=True)
class Plan:
    """The indexes of the driver's statistics whose sum is each count; made once per list of names.

    `counts` is by name of `COUNTS`; `queues` is by queue (`rx-0`), then by name of `QUEUE_COUNTS`.
    `levels` are the indexes of statistics that are not counters.
    """

    counts: Mapping[str, tuple[int, ...]]
    queues: Mapping[str, Mapping[str, tuple[int, ...]]]
    levels: frozenset[int] = frozenset()


def plan(driver: Driver, names: Sequence[str]) -> Plan:
    """The sums for these names. A name may occur several times (vmxnet3: once for each queue)."""
    if driver == Driver(driver.name):  # the table lacks it
        return Plan(counts_by_words(names), {})
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


@cache
def _sections() -> Mapping[str, str]:
    """The section of the table for every driver name and every alias."""
    return {
        name: section
        for section, values in _texts().items()
        for name in (section, *values.get("aliases", ()))
    }


@cache
def _marked() -> Mapping[str, frozenset[str]]:
    """The drivers that are identified by their statistics, with the names that must exist."""
    return {
        name: frozenset(values["statistics"])
        for name, values in _texts().items()
        if "statistics" in values
    }


def table() -> Mapping[str, Driver]:
    """Every driver of the table, by name; ValueError names a wrong entry."""
    return {name: driver(name) for name in _texts()}


@cache  # a host has few drivers: the patterns of the others are not compiled
def known(name: str) -> Driver | None:
    """The driver of this name or alias; None if unknown. ValueError for a wrong entry."""
    section = _sections().get(name)
    return None if section is None else _driver(name, _texts()[section])


def driver(name: str, names: Sequence[str] = ()) -> Driver:
    """The driver of this name, else the one that has the statistics `names`.

    A driver that the table lacks has no patterns.
    """
    found = known(name)
    if found is None and names:
        present = set(names)
        for section, wanted in _marked().items():
            if wanted <= present:
                return _driver(name, _texts()[section])
    return found or Driver(name)


def _driver(name: str, values: bounds.Table) -> Driver:
    for key, value in values.items():
        if key not in _KEYS:
            raise ValueError(f"drivers.toml: [{name}] has an unknown key {key!r}")
        if not isinstance(value, _KEYS[key]):
            raise ValueError(  # noqa: TRY004 - a file is wrong, not a call
                f"drivers.toml: [{name}] {key} is not a {_KEYS[key].__name__}"
            )
    links = {"", *_LINK_FIELDS}
    if values.get("link_ring", "") not in links:
        raise ValueError(
            f"drivers.toml: [{name}] link_ring is not one of {', '.join(_LINK_FIELDS)}"
        )
    if values.get("ring_drops_unless", "rx") not in ("rx", "tx"):
        raise ValueError(f"drivers.toml: [{name}] ring_drops_unless is not rx or tx")
    unknown = set(values.get("count", {})) - {*COUNTS, *LEVELS}
    if unknown:
        raise ValueError(f"drivers.toml: [{name}.count] has an unknown name {min(unknown)!r}")
    try:
        return Driver(
            name=name,
            section=re.compile(values["section"]) if "section" in values else None,
            queues=_patterns(values.get("queues", ())),
            levels=_patterns(values.get("levels", ())),
            same=tuple(_patterns(group) for group in values.get("same", ())),
            statistics=frozenset(values.get("statistics", ())),
            dynamic_usecs=tuple(values.get("dynamic_usecs", ())),
            count={what: _patterns(patterns) for what, patterns in values.get("count", {}).items()},
            **{key: value for key, value in values.items() if key not in _BUILT},
        )
    except re.error as error:
        raise ValueError(f"drivers.toml: [{name}] has a wrong pattern: {error}") from None


def _patterns(texts: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text) for text in texts)


_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+[a-z]*")


class Family(NamedTuple):
    """The statistics of one count: of each kind the first name that has its words."""

    sent: bool
    kinds: tuple[re.Pattern[str], ...]


class Families(NamedTuple):
    """The table `rules/statistic-families.toml`."""

    apart: re.Pattern[str]
    sent: re.Pattern[str]
    counts: Mapping[str, Family]


def words(name: str) -> str:
    """The words of a name: `RxFcsErr` is `rx fcs err`."""
    return " ".join(_PARTS.findall(name)).lower()


def counts_by_words(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The places of the statistics whose sum is each count, by words in their names.

    For a driver that the driver table lacks; a count without any is absent.
    """
    table = _table()
    spoken = [(place, words(name)) for place, name in enumerate(names)]
    spoken = [(place, text) for place, text in spoken if not table.apart.search(text)]
    ways = {
        sent: [(place, text) for place, text in spoken if bool(table.sent.search(text)) is sent]
        for sent in (False, True)
    }
    found = {}
    for what, family in table.counts.items():
        firsts: dict[int, int] = {}  # the first place of each kind
        for place, text in ways[family.sent]:
            kind = next((n for n, one in enumerate(family.kinds) if one.search(text)), None)
            if kind is not None:
                firsts.setdefault(kind, place)
        if firsts:
            found[what] = tuple(sorted(firsts.values()))
    return found


@cache
def _table() -> Families:
    import tomllib

    text = (rules_folder() / "statistic-families.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return Families(
        re.compile(table.pop("not")),
        re.compile(table.pop("sent")),
        {
            what: Family(one.get("sent", False), tuple(map(re.compile, one["kinds"])))
            for what, one in table.items()
        },
    )
