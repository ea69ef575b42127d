"""Speed, duplex and modes of the link: ETHTOOL_MSG_LINKMODES_GET and LINKSTATE_GET.

A kernel before 5.6 is asked by ioctl, which does not report why a link is down.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import ethtool, legacy
from ..host.netlink.codec import Attributes, Bits
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed, recall
from ._turns import every

TABLE: Final = Table(every=5.0)

_UNKNOWN_SPEED: Final = 0xFFFFFFFF
_DUPLEX: Final = {0: "half", 1: "full"}
_PORTS: Final = {0: "TP", 1: "AUI", 2: "MII", 3: "FIBRE", 4: "BNC", 5: "DA", 0xEF: "none"}
_WHY_DOWN: Final = {
    0: "autoneg", 1: "link training failure", 2: "link logical mismatch", 3: "bad signal integrity",
    4: "no cable", 5: "cable issue", 6: "EEPROM issue", 7: "calibration failure",
    8: "power budget exceeded", 9: "overheat", 10: "module",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """The link of one interface; None: not known (link down, or not reported by the driver)."""

    interface: str = label("interface name")
    speed: float | None = maybe("link speed", "bit/s")
    duplex: str | None = maybe("full or half")
    autoneg: bool | None = maybe("autonegotiation")
    lanes: int | None = maybe("lanes in use", "lanes")
    port: str | None = maybe("connector: TP FIBRE DA …")
    link: bool | None = maybe("link detected")
    why_down: str | None = maybe("reason for link down, from the driver")
    supported: tuple[str, ...] = gauge("supported modes", default=())
    advertised: tuple[str, ...] = gauge("advertised modes", default=())
    partner: tuple[str, ...] = gauge("modes advertised by the link partner", default=())
    best: float | None = maybe("fastest supported mode", "bit/s")
    offered: float | None = maybe("fastest advertised mode", "bit/s")
    common: float | None = maybe("fastest supported mode that the link partner advertises", "bit/s")
    down_count: int | None = counter("link losses seen by the device", "events", default=None)


@dataclass
class _Known:
    """By interface: the three messages of the last reading, and the row of them."""

    rows: dict[str, tuple[tuple[Attributes, Attributes, Attributes], Row]] = field(
        default_factory=dict
    )


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every interface whose driver reports its link; the names of modes are read once. OSError."""
    names = parsed(memory, "names", "linkmodes", partial(legacy.strings, source))
    modes = every(source, "linkmodes")
    states = _optional(source, "linkstate")
    ports = _optional(source, "linkinfo")
    known = recall(memory, _Known)
    before, known.rows = known.rows, {}
    for name, values in modes.items():
        inputs = values, states.get(name, {}), ports.get(name, values)
        old = before.get(name)
        known.rows[name] = (
            old if old is not None and old[0] == inputs else (inputs, row(name, *inputs, names))
        )
    return [one for _, one in known.rows.values()]


def _optional(source: Source, what: str) -> Mapping[str, Attributes]:
    try:
        return ethtool.every(source, what)
    except OSError:
        return {}


def row(
    name: str, modes: Attributes, state: Attributes, port: Attributes, names: Sequence[str]
) -> Row:
    """One link from its LINKMODES, LINKSTATE and LINKINFO messages.

    `names` are those of the link modes by bit. In `ours` the mask is supported, the value
    advertised.
    """
    none = Bits(0, 0, 0)
    ours, peer = modes.get("ours", none), modes.get("peer", none)
    supported = _names(ours.mask, names)
    advertised, partner = _names(ours.value, names), _names(peer.value, names)
    speed = modes.get("speed", _UNKNOWN_SPEED)
    return Row(
        interface=name,
        speed=None if speed in {0, _UNKNOWN_SPEED} else speed * 1e6,
        duplex=_DUPLEX.get(modes.get("duplex", 255)),
        autoneg=bool(modes["autoneg"]) if "autoneg" in modes else None,
        lanes=modes.get("lanes") or None,
        port=_PORTS.get(port.get("port", 255)),
        link=bool(state["link"]) if "link" in state else None,
        why_down=_WHY_DOWN.get(state.get("ext_state", -1)),
        supported=supported,
        advertised=advertised,
        partner=partner,
        best=_fastest(supported),
        offered=_fastest(advertised),
        common=_fastest(set(supported) & set(partner)),
        down_count=state.get("ext_down_cnt"),
    )


def _names(bits: int, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        names[bit] if bit < len(names) else f"mode {bit}"
        for bit in range(bits.bit_length())
        if bits >> bit & 1
    )


def _fastest(modes: Iterable[str]) -> float | None:
    return max((_speed(mode) for mode in modes), default=0.0) or None


def _speed(mode: str) -> float:
    """Bits per second of a mode's name (`25000baseCR/Full`); 0 for `Autoneg`, `TP`, `Pause`."""
    digits = mode.partition("base")[0] if "base" in mode else ""
    return float(digits) * 1e6 if digits.isdecimal() else 0.0
