"""Descriptor rings: `ring.rx@eth0`, ETHTOOL_MSG_RINGS_SET (ethtool -G).

Many drivers restart the device for it and drop the link for seconds; some round to a power of two.
"""

from __future__ import annotations

from ..host.source import Source
from . import Address, Command, Host, Keep, Limits
from ._ethtool import field, put, values
from ._text import number

RISK = "link"
NIC = True
ROUNDS = True
NAMES = ("rx", "tx", "rx-jumbo", "rx-mini")
_KEYS = {
    "rx": "RxBufferSize", "tx": "TxBufferSize",
    "rx-jumbo": "RxJumboBufferSize", "rx-mini": "RxMiniBufferSize",
}  # fmt: skip


def read(source: Source, address: Address) -> str:
    """The number of descriptors."""
    name = address.name.replace("-", "_")
    return str(field(source, "rings", address.nic, name, f"{address.name} ring"))


def write(host: Host, address: Address, value: str) -> None:
    """Set it; the driver may round it."""
    put(host, "rings", address.nic, {address.name.replace("-", "_"): int(value)})


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`ethtool -G`."""
    return (Command(("ethtool", "-G", address.nic, address.name, value)),)


def shows(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """`ethtool -g`."""
    return ("ethtool", "-g", address.nic)


def normal(address: Address, value: str) -> str:  # noqa: ARG001
    """The canonical number; ValueError for anything else."""
    return number(value)


def keep(address: Address, value: str) -> Keep:
    """A key of a .link file (systemd 244)."""
    return Keep("link", _KEYS[address.name], value)


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """The other rings."""
    fields = values(source, "rings", address.nic)
    others = (n for n in NAMES if n != address.name and n.replace("-", "_") in fields)
    return tuple(f"ring.{name}@{address.nic}" for name in others)


def limits(source: Source, address: Address) -> Limits:
    """Up to the driver's maximum."""
    name = address.name.replace("-", "_")
    fields = values(source, "rings", address.nic)
    if name not in fields:
        return Limits(settable=False, because=f"the driver has no {address.name} ring")
    most = fields.get(name + "_max")
    return Limits(min=1, max=most, because="the driver's limit" if most else "")
