"""Pluggable modules: temperature and optical power, from their memory (`ethtool -m`); root only.

ETHTOOL_MSG_MODULE_EEPROM_GET (net/ethtool/eeprom.c), Linux 5.13. The memory is that of SFF-8472
(SFP), SFF-8636 (QSFP) or CMIS (QSFP-DD, OSFP): powers in units of 0.1 µW, temperatures in 1/256 °C.
"""

import errno
import math
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import ethtool, route
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table
from ._turns import by_turns

TABLE: Final = Table(every=30.0, absent=True)


@dataclass(frozen=True, slots=True)
class Row:
    """The module of one interface; the optical power is that of the weakest lane."""

    interface: str = label("interface name")
    kind: str = gauge("SFP, QSFP or CMIS")
    vendor: str | None = maybe("vendor")
    part: str | None = maybe("vendor part number")
    temperature: float | None = maybe("module temperature", "C")
    rx_power: float | None = maybe("optical receive power", "dBm")
    tx_power: float | None = maybe("optical transmit power", "dBm")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every interface with a readable module; PermissionError without CAP_NET_ADMIN."""
    names = route.names(source).values()
    return by_turns(source, memory, names, partial(_row, source))


def _row(source: Source, interface: str) -> Row | None:
    try:
        found = module(partial(_memory, source, interface))
    except OSError as error:
        if error.errno in {errno.EPERM, errno.EACCES, errno.ENOENT}:
            raise
        return None  # no module, or its driver does not read it
    except ValueError:
        return None
    return Row(
        interface, found.kind, found.vendor, found.part, found.temperature, found.rx_power,
        found.tx_power,
    )  # fmt: skip


def _memory(
    source: Source, interface: str, address: int, page: int, offset: int, length: int
) -> bytes:
    """Bytes of the module's memory; offsets above 127 are in the given page."""
    reply = ethtool.one(
        source,
        "eeprom",
        interface,
        offset=offset,
        length=length,
        page=page,
        bank=0,
        i2c_address=address,
    )
    raw: bytes = reply.get("data", b"")
    return raw


Read = Callable[[int, int, int, int], bytes]  # i2c address, page, offset, length

_FIRST, _DIAGNOSTICS = 0x50, 0x51
_SFP: Final = frozenset({0x03})
_QSFP: Final = frozenset({0x0C, 0x0D, 0x11})
_CMIS: Final = frozenset({0x18, 0x19, 0x1E, 0x1F})


@dataclass(frozen=True, slots=True)
class Module:
    """One module: who made it, how warm it is, and the weakest light of its lanes, in dBm."""

    kind: str
    vendor: str | None
    part: str | None
    temperature: float | None
    rx_power: float | None
    tx_power: float | None


def module(read: Read) -> Module:
    """The module behind `read`."""
    identifier = _bytes(read, _FIRST, 0, 0, 1)[0]
    if identifier in _SFP:
        return _sfp(read)
    if identifier in _QSFP:
        return _qsfp(read)
    if identifier in _CMIS:
        return _cmis(read)
    raise ValueError(f"a module of the kind {identifier:#x}")


def _sfp(read: Read) -> Module:
    vendor, part = _name(_bytes(read, _FIRST, 0, 20, 16)), _name(_bytes(read, _FIRST, 0, 40, 16))
    monitoring = _bytes(read, _FIRST, 0, 92, 1)[0]
    if not monitoring & 0x40:  # no diagnostics: copper, or old
        return Module("SFP", vendor, part, None, None, None)
    raw = _bytes(read, _DIAGNOSTICS, 0, 96, 10)
    temperature = struct.unpack_from(">h", raw)[0] / 256
    if not monitoring & 0x20:  # externally calibrated: raw numbers mean nothing by themselves
        return Module("SFP", vendor, part, temperature, None, None)
    tx, rx = struct.unpack_from(">HH", raw, 6)
    return Module("SFP", vendor, part, temperature, dbm(rx), dbm(tx))


def _qsfp(read: Read) -> Module:
    vendor, part = _name(_bytes(read, _FIRST, 0, 148, 16)), _name(_bytes(read, _FIRST, 0, 168, 16))
    temperature = struct.unpack(">h", _bytes(read, _FIRST, 0, 22, 2))[0] / 256
    rx = _weakest(_bytes(read, _FIRST, 0, 34, 8))
    tx = _weakest(_bytes(read, _FIRST, 0, 50, 8))
    return Module("QSFP", vendor, part, temperature or None, rx, tx)


def _cmis(read: Read) -> Module:
    vendor, part = _name(_bytes(read, _FIRST, 0, 129, 16)), _name(_bytes(read, _FIRST, 0, 148, 16))
    low = _bytes(read, _FIRST, 0, 0, 16)
    temperature = struct.unpack_from(">h", low, 14)[0] / 256
    if low[2] & 0x80:  # flat memory: a copper cable without lane monitors
        return Module("CMIS", vendor, part, temperature or None, None, None)
    lanes = _bytes(read, _FIRST, 0x11, 154, 48)
    return Module(
        "CMIS", vendor, part, temperature or None, _weakest(lanes[32:48]), _weakest(lanes[0:16])
    )


def _bytes(read: Read, address: int, page: int, offset: int, length: int) -> bytes:
    raw = read(address, page, offset, length)
    if len(raw) < length:
        raise ValueError("the module's memory is cut off")
    return raw[:length]


def _name(raw: bytes) -> str | None:
    return "".join(chr(b) for b in raw if 32 <= b < 127).strip() or None


def _weakest(raw: bytes) -> float | None:
    """The least of the lanes that have light; None when none reports any."""
    powers = [power for power in struct.unpack(f">{len(raw) // 2}H", raw) if power]
    return dbm(min(powers)) if powers else None


def dbm(tenths: int) -> float | None:
    """Tenths of a microwatt in dBm; None without light."""
    return round(10 * math.log10(tenths / 10_000), 2) if tenths else None
