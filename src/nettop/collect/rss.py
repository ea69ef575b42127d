"""Receive-side scaling: key and table (ETHTOOL_GRSSH), and the hashed fields.

The ioctl works since Linux 3.16 (net/ethtool/ioctl.c, ethtool_get_rxfh()); RSS over netlink came
in 6.2. Some drivers (vmxnet3) hide the key, which is None then. Since 6.8 a NIC may transform
addresses and ports before the hash, so that both directions of a flow have the same hash.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import driver, route
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table
from ._turns import by_turns

TABLE: Final = Table(every=10.0)

_FUNCTIONS: Final = {1: "toeplitz", 2: "xor", 4: "crc32"}  # ETH_RSS_HASH_*_BIT
_TRANSFORMS: Final = {0: None, 1: "symmetric-xor", 2: "symmetric-or-xor"}  # RXH_XFRM_*


@dataclass(frozen=True, slots=True)
class Row:
    """RSS of one interface. Hashed fields in ethtool's letters: s d addresses, f n ports."""

    interface: str = label("interface name")
    key: str | None = maybe("hash key, colon hex")
    table: tuple[int, ...] = gauge("indirection table: the queue of each hash bucket", default=())
    function: str | None = maybe("hash function: toeplitz xor crc32")
    symmetric: bool | None = maybe("symmetric hash input")
    rings: int | None = maybe("receive rings in the table", "rings")
    hash_tcp4: str | None = maybe("fields hashed for TCP over IPv4")
    hash_udp4: str | None = maybe("fields hashed for UDP over IPv4")
    hash_tcp6: str | None = maybe("fields hashed for TCP over IPv6")
    hash_udp6: str | None = maybe("fields hashed for UDP over IPv6")
    transform: str | None = maybe(
        "input transformation: symmetric-xor symmetric-or-xor, or the number "
        "of another one; None: none"
    )


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every interface whose driver reports RSS; OSError without ethtool."""
    names = route.names(source).values()
    return by_turns(source, memory, names, partial(_row, source))


def _row(source: Source, interface: str) -> Row | None:
    try:
        found = driver.rss(source, interface)
    except OSError:
        return None  # its driver has no RSS, or it is gone
    fields = {f"hash_{flow}": _fields(source, interface, flow) for flow in driver.FLOW_TYPES}
    rings = _rings(source, interface)
    if not found.table and not any(found.key) and not any(fields.values()) and not rings:
        return None
    return Row(
        interface=interface,
        key=found.key.hex(":") if any(found.key) else None,
        table=found.table,
        function=_FUNCTIONS.get(found.function),
        symmetric=bool(found.transform & 3),
        rings=rings,
        transform=_TRANSFORMS.get(found.transform, f"transform {found.transform}"),
        **fields,
    )


def _fields(source: Source, interface: str, flow: str) -> str | None:
    try:
        return driver.hash_fields(source, interface, flow) or None
    except OSError:
        return None


def _rings(source: Source, interface: str) -> int | None:
    try:
        return driver.receive_rings(source, interface) or None
    except OSError:
        return None
