"""Pluggable modules: temperature and optical power, from their memory (`ethtool -m`); root only.

ETHTOOL_MSG_MODULE_EEPROM_GET (net/ethtool/eeprom.c), Linux 5.13.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from functools import partial
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import ethtool, optics, route
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
        found = optics.module(partial(_memory, source, interface))
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
