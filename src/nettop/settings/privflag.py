"""A driver's own switches: `privflag.rx_striding_rq@eth0`, ETHTOOL_MSG_PRIVFLAGS_SET.

Each driver defines its own (ethtool --show-priv-flags); many restart its queues.
"""

from ..host.netlink import ethtool
from ..host.source import Source
from . import Address, Host, Limits
from ._ethtool import put, values
from ._text import switch

RISK = "link"
NIC = True
VALUE = switch
LIMITS = Limits(choices=("on", "off"))
COMMAND = "ethtool --set-priv-flags {nic} {name} {value}"
SHOWS = "ethtool --show-priv-flags {nic}"
KEEP = "unit"  # no systemd key exists


def states(source: Source, nic: str) -> dict[str, bool]:
    """Every flag of the driver."""
    flags = values(source, "privflags", nic).get("flags")
    names = ethtool.strings(source, "privflags", nic)
    return {name: bool(flags and flags.value >> i & 1) for i, name in enumerate(names) if name}


def read(source: Source, address: Address) -> str:
    """On or off."""
    every = states(source, address.nic)
    if address.name not in every:
        raise LookupError(f"{address.nic} has no private flag {address.name!r}: {', '.join(every)}")
    return "on" if every[address.name] else "off"


def write(host: Host, address: Address, value: str) -> None:
    """Set one flag; the driver keeps the others."""
    put(host, "privflags", address.nic, {address.name: value == "on"})


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """The driver's other flags."""
    every = states(source, address.nic)
    return tuple(f"privflag.{name}@{address.nic}" for name in every if name != address.name)
