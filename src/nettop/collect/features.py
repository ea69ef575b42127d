"""Offloads: ETHTOOL_MSG_FEATURES_GET (net/ethtool/features.c), `ethtool -k`.

A kernel before 5.7 is asked by ioctl. A feature is fixed if the device cannot change it (not in
`hw`) or the kernel does not allow it (`nochange`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final

from ..frame.fields import gauge, label, light
from ..host.netlink import legacy
from ..host.netlink.codec import Attributes, Bits
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall
from ._turns import every

TABLE: Final = Table(every=10.0)


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One offload of one interface, by the kernel's name."""

    interface: str = label("interface name")
    name: str = label("kernel feature name, e.g. tx-tcp-segmentation")
    on: bool = gauge("on")
    wanted: bool = gauge("requested")
    fixed: bool = gauge("cannot be changed")


@dataclass
class _Last:
    names: Sequence[str] = ()
    known: dict[str, tuple[Attributes, list[Row]]] = field(default_factory=dict)  # by interface


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every feature of every interface. The names are the kernel's and read once. OSError.

    There are sixty rows for an interface; they are the same objects while nothing changes.
    """
    last = recall(memory, _Last)
    last.names = last.names or legacy.strings(source, "features")
    before, known = last.known, {}
    rows: list[Row] = []
    for interface, values in every(source, "features").items():
        old = before.get(interface)
        if old is None or old[0] != values:
            old = values, features(interface, values, last.names)
        known[interface] = old
        rows += old[1]
    last.known = known
    return rows


def features(interface: str, values: Mapping[str, Bits], names: Sequence[str]) -> list[Row]:
    """Every feature that the kernel names; one that the device lacks is off and fixed.

    `values` are the bit sets `hw`, `wanted`, `active` and `nochange`; bit i is `names[i]`.
    """
    none = Bits(0, 0, 0)
    hardware, wanted, active, never = (
        values.get(which, none).value for which in ("hw", "wanted", "active", "nochange")
    )
    return [
        tuple.__new__(Row, (interface, *state))  # type: ignore[type-var]
        for state in _states(hardware, wanted, active, never, tuple(names))
    ]


@lru_cache(maxsize=64)
def _states(
    hardware: int, wanted: int, active: int, never: int, names: tuple[str, ...]
) -> tuple[tuple[str, bool, bool, bool], ...]:
    """Name, on, wanted and fixed of each feature: a thousand veth interfaces have the same."""
    return tuple(
        (
            name, bool(active >> bit & 1), bool(wanted >> bit & 1),
            bool(never >> bit & 1) or not hardware >> bit & 1,
        )
        for bit, name in enumerate(names)
        if name
    )  # fmt: skip
