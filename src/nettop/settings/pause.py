"""Ethernet flow control: `pause.rx@eth0`, ETHTOOL_MSG_PAUSE_SET (ethtool -A).

With autoneg on, rx and tx are what was negotiated with the other end: a value set then is only
offered. So autoneg is turned off before rx and tx, and turned on after them.
"""

from __future__ import annotations

from ..host.source import Source
from . import Address, Command, Host, Keep, Limits
from ._ethtool import field, put
from ._text import switch

RISK = "link"
NIC = True
NAMES = ("autoneg", "rx", "tx")
_KEYS = {"autoneg": "AutoNegotiationFlowControl", "rx": "RxFlowControl", "tx": "TxFlowControl"}


def read(source: Source, address: Address) -> str:
    """On or off."""
    flag = field(source, "pause", address.nic, address.name, f"pause {address.name}")
    return "on" if flag else "off"


def write(host: Host, address: Address, value: str) -> None:
    """Set it; the link renegotiates."""
    put(host, "pause", address.nic, {address.name: int(value == "on")})


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`ethtool -A`."""
    return (Command(("ethtool", "-A", address.nic, address.name, value)),)


def shows(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """`ethtool -a`."""
    return ("ethtool", "-a", address.nic)


def normal(address: Address, value: str) -> str:  # noqa: ARG001
    """On or off."""
    return switch(value)


def keep(address: Address, value: str) -> Keep:
    """A key of a .link file (systemd 246)."""
    return Keep("link", _KEYS[address.name], "yes" if value == "on" else "no")


def side_effects(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """The two other values: autoneg, rx and tx change together."""
    return tuple(f"pause.{name}@{address.nic}" for name in NAMES if name != address.name)


def rank(address: Address, value: str) -> int:
    """Autoneg off first, autoneg on last."""
    if address.name != "autoneg":
        return 1
    return 0 if value == "off" else 2


def limits(source: Source, address: Address) -> Limits:
    """On or off, where the driver reports it."""
    read(source, address)
    return Limits(choices=("on", "off"))
