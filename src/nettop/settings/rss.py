"""How the NIC spreads received packets: `rss.table@eth0`, `rss.key@eth0`, `rss.hash-udp4@eth0`.

A table is `equal` (the driver's own: all rings in turn), `equal N` (the first N), or the ring of
each entry joined by commas. A key is colon hex. Hashed fields are ethtool's letters: `sd`
addresses, `sdfn` ports too. By ioctl (ETHTOOL_SRSSH, ETHTOOL_SRXFH), which every kernel has.
"""

import re
import struct

from ..host.netlink import driver
from ..host.source import Source
from . import Address, Command, Host, Limits

RISK = "queues"
SIDE = "rx"
NIC = True
KEEP = "unit"  # no systemd key exists
NAMES = ("table", "key", "hash-tcp4", "hash-udp4", "hash-tcp6", "hash-udp6")
_SRXFH = 0x2A
_LETTERS = "mvtsdfnr"
_LONGEST = 1 << 16


def read(source: Source, address: Address) -> str:
    """The table, the key, or the letters (`none` when nothing is hashed)."""
    try:
        if address.name.startswith("hash-"):
            return driver.hash_fields(source, address.nic, address.name[5:]) or "none"
        state = driver.rss(source, address.nic)
        if address.name == "key":
            if not state.key:
                raise FileNotFoundError(2, f"the driver of {address.nic} hides its RSS key")
            return state.key.hex(":")
        if not state.table:
            raise FileNotFoundError(2, f"the driver of {address.nic} has no RSS table")
        return _name(state.table, driver.receive_rings(source, address.nic))
    except OSError as error:
        if error.errno == 95:
            raise OSError(95, f"the driver of {address.nic} has no RSS to be set") from None
        raise


def _name(table: tuple[int, ...], rings: int) -> str:
    for count in (rings, max(table) + 1):
        if count and all(ring == i % count for i, ring in enumerate(table)):
            return "equal" if count == rings else f"equal {count}"
    return ",".join(map(str, table))


def write(host: Host, address: Address, value: str) -> None:
    """Write it; `equal` gives the table back to the driver."""
    nic, source = address.nic, host.source
    if address.name.startswith("hash-"):
        bits = sum(2 << _LETTERS.index(letter) for letter in value if value != "none")
        flow = driver.FLOW_TYPES[address.name[5:]]
        host.ioctl(nic, struct.pack("=IIQ184x", _SRXFH, flow, bits))
        return
    if address.name == "key":
        key = bytes.fromhex(value.replace(":", ""))
        host.ioctl(nic, driver.rss_request(None, key))
        return
    host.ioctl(nic, driver.rss_request(_table(source, nic, value)))


def validate(source: Source, address: Address, value: str) -> None:
    """As many entries, and as many bytes of key, as the driver has; only rings that it has."""
    if address.name == "table":
        _table(source, address.nic, value)
    elif address.name == "key":
        size, length = len(driver.rss(source, address.nic).key), (len(value) + 1) // 3
        if length != size:
            raise ValueError(f"the RSS key of {address.nic} has {size} bytes, not {length}")


def _table(source: Source, nic: str, value: str) -> tuple[int, ...]:
    if value == "equal":
        return ()  # ETHTOOL_SRSSH with no entries: the driver's default
    size = len(driver.rss(source, nic).table)
    rings = driver.receive_rings(source, nic)
    if value.startswith("equal "):
        count = int(value.split()[1])
        table = tuple(i % count for i in range(size))
    else:
        table = tuple(map(int, value.split(",")))
    if len(table) != size:
        raise ValueError(f"the RSS table of {nic} has {size} entries, not {len(table)}")
    if max(table) >= rings:
        raise ValueError(f"{nic} has receive rings 0 to {rings - 1}, not {max(table)}")
    return table


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`ethtool -X` and `ethtool -N`; no option of theirs writes a table entry by entry."""
    nic = address.nic
    if address.name == "key":
        return (Command(("ethtool", "-X", nic, "hkey", value)),)
    if address.name.startswith("hash-"):
        letters = "r" if value == "none" else value
        return (Command(("ethtool", "-N", nic, "rx-flow-hash", address.name[5:], letters)),)
    if value == "equal":
        return (Command(("ethtool", "-X", nic, "default")),)
    if value.startswith("equal "):
        return (Command(("ethtool", "-X", nic, *value.split())),)
    return (Command(("nettop", "set", str(address), value)),)


def shows(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """`ethtool -x`, or `ethtool -n` for the fields that are hashed."""
    if address.name.startswith("hash-"):
        return ("ethtool", "-n", address.nic, "rx-flow-hash", address.name[5:])
    return ("ethtool", "-x", address.nic)


def normal(address: Address, value: str) -> str:
    """The canonical table, key or letters; ValueError for anything else."""
    words = " ".join(value.lower().split())
    if address.name == "key":
        form, what = r"([0-9a-f]{2}:)+[0-9a-f]{2}", "colon hex"
    elif address.name == "table":
        form, what = (
            r"equal( [1-9][0-9]{0,4})?|[0-9]{1,5}(,[0-9]{1,5})*",
            "equal, equal N, or rings",
        )
    else:
        form, what = r"none|[mvtsdfnr]+", "of the letters m v t s d f n r"
        words = words if words == "none" else "".join(sorted(set(words), key=_LETTERS.find))
    if len(words) > _LONGEST * 6 or not re.fullmatch(form, words):
        raise ValueError(f"{address} is {what}, not {value[:60]!r}")
    return words


def limits(source: Source, address: Address) -> Limits:
    """The driver's own table is its default; `validate` knows the sizes."""
    read(source, address)
    return Limits(default="equal" if address.name == "table" else None)
