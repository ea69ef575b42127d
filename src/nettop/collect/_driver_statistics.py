"""The drivers' own statistics (`ethtool -S`), read once for all collectors of one frame.

`nicstats`, `nicqueues` and `nicstats_raw` show the same numbers in three ways. A driver may take a
millisecond to return them, so a reading of the last moment is used again.
"""

import errno
from collections.abc import Sequence
from dataclasses import field
from typing import TypeVar

from ..frame.rates import Partly
from ..host.netlink import driver, route
from ..host.source import Source
from ..terms.dataclass import DataclassInstance, dataclass
from . import _drivers as drivers
from ._table import Memory, recall

_Row = TypeVar("_Row", bound="DataclassInstance")

_MOMENT = 0.05  # seconds: collectors of one frame run one after the other
_NEW_INTERFACES = 5.0  # seconds between searches for new interfaces
# with more interfaces than this, software ones are skipped: container hosts have hundreds
_FEW = 32


@dataclass(frozen=True, slots=True)
class DriverStatistics:
    """One interface's statistics in the driver's order: `values[i]` belongs to `names[i]`.

    Names may repeat (vmxnet3 repeats them for each queue).
    """

    interface: str
    driver: drivers.Driver
    plan: drivers.Plan
    names: tuple[str, ...]
    values: tuple[int, ...]


@dataclass
class _Known:
    """What is kept from frame to frame; times are seconds of the source's clock."""

    listed: float = float("-inf")
    at: float = float("-inf")
    names: dict[str, tuple[drivers.Driver, drivers.Plan, tuple[str, ...]]] = field(
        default_factory=dict
    )
    software: set[tuple[int, str]] = field(default_factory=set)  # without statistics, of many
    readings: list[DriverStatistics] = field(default_factory=list)
    unnamed: dict[str, str] = field(default_factory=dict)  # interface → why it has no names
    unread: dict[str, str] = field(default_factory=dict)  # interface → why it has no values


def readings(source: Source, memory: Memory) -> Sequence[DriverStatistics]:
    """The statistics of every interface that has any; OSError without netlink."""
    known = recall(memory, _Known)
    now = source.now()
    if not 0 <= now - known.at < _MOMENT:
        _read(source, known, now)
    return known.readings


def with_unread(rows: Sequence[_Row], memory: Memory) -> Sequence[_Row]:
    """`rows`, as `Partly` if the statistics of some interfaces could not be read."""
    known = recall(memory, _Known)
    why = {**known.unnamed, **known.unread}
    return Partly(rows, "; ".join(f"{name}: {one}" for name, one in why.items())) if why else rows


def _read(source: Source, known: _Known, now: float) -> None:
    if not 0 <= now - known.listed < _NEW_INTERFACES:
        known.names = _list(source, known)
        known.listed = now
    found, known.unread = [], {}
    for interface in tuple(known.names):
        try:
            reading = _one(source, known, interface)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.ENODEV:  # renamed or gone
                known.listed = float("-inf")
            if isinstance(error, ValueError):
                known.unread[interface] = str(error)
            continue
        if reading is not None:
            found.append(reading)
    known.readings = found
    known.at = now


def _one(source: Source, known: _Known, interface: str) -> DriverStatistics | None:
    about, sums, names = known.names[interface]
    values = driver.statistics(source, interface, len(names)) if names else None
    if names and values is None:  # the number of queues changed, and with it the names
        names = driver.string_names(source, interface)
        sums = drivers.plan(about, names)
        known.names[interface] = about, sums, names
        values = driver.statistics(source, interface, len(names)) if names else None
    return None if values is None else DriverStatistics(interface, about, sums, names, values)


def _list(
    source: Source, known: _Known
) -> dict[str, tuple[drivers.Driver, drivers.Plan, tuple[str, ...]]]:
    """Driver, sums and names of each interface; known ones are not read again.

    An interface that is made anew has another index.
    """
    indexed = route.names(source)
    every = indexed.values()
    found = {}
    if len(every) <= _FEW:
        known.software.clear()
    known.software &= set(indexed.items())
    known.unnamed = {name: why for name, why in known.unnamed.items() if name in every}
    for index, interface in indexed.items():
        if interface in known.names:
            found[interface] = known.names[interface]
            continue
        if (index, interface) in known.software:
            continue
        try:
            info = driver.info(source, interface)
            about = drivers.driver(info.driver)
            software = about.virtual or not (info.bus or about.title)
            if software and len(every) > _FEW:
                known.software.add((index, interface))
                continue
            names = driver.string_names(source, interface)
            about = drivers.driver(info.driver, names)
        except (OSError, ValueError) as error:
            found[interface] = drivers.Driver(""), drivers.Plan({}, {}), ()
            if isinstance(error, ValueError):
                known.unnamed[interface] = str(error)
            continue
        found[interface] = about, drivers.plan(about, names), names
    return found
