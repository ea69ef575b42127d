"""A driver's own switches: `privflag.rx_striding_rq@eth0`, ETHTOOL_MSG_PRIVFLAGS_SET.

Each driver defines its own (ethtool --show-priv-flags); many restart its queues.
"""

from __future__ import annotations

from ..host.netlink import ethtool
from ..host.source import Source
from . import Address, Command, Host, Keep, Limits
from ._ethtool import put, values
from ._text import switch

RISK = "link"
NIC = True


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


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`ethtool --set-priv-flags`."""
    return (Command(("ethtool", "--set-priv-flags", address.nic, address.name, value)),)


def shows(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """`ethtool --show-priv-flags`."""
    return ("ethtool", "--show-priv-flags", address.nic)


def normal(address: Address, value: str) -> str:  # noqa: ARG001
    """On or off."""
    return switch(value)


def keep(address: Address, value: str) -> Keep:  # noqa: ARG001
    """No systemd key exists: a oneshot unit."""
    return Keep("unit")


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """The driver's other flags."""
    every = states(source, address.nic)
    return tuple(f"privflag.{name}@{address.nic}" for name in every if name != address.name)


def limits(source: Source, address: Address) -> Limits:
    """On or off."""
    read(source, address)
    return Limits(choices=("on", "off"))
