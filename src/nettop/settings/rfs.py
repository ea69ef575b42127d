"""Receive flow steering: the size of a receive queue's flow table.

/sys/class/net/*/queues/rx-*/rps_flow_cnt; 0 is off; the kernel rounds up to a power of two. The
global table is sysctl.net.core.rps_sock_flow_entries.
"""

from __future__ import annotations

from ..source import Source
from . import Address, Deed, Host, Keep, Limits
from ._sysfs import queue, text
from ._text import number

RISK = "none"
NIC = True
NAMES = ("flow-count",)


def read(source: Source, address: Address) -> str:
    """The number of flows."""
    file = queue(address, "rx", "rps_flow_cnt")
    return text(source, file, f"no receive queue {address.target}")


def write(host: Host, address: Address, value: str) -> None:
    """Write the number."""
    host.write(queue(address, "rx", "rps_flow_cnt"), value)


def deeds(source: Source, address: Address, value: str) -> tuple[Deed, ...]:  # noqa: ARG001
    """An echo into the queue's file."""
    return (Deed(path=queue(address, "rx", "rps_flow_cnt"), text=value),)


def normal(address: Address, value: str) -> str:  # noqa: ARG001
    """A number."""
    return number(value)


def keep(address: Address, value: str) -> Keep:  # noqa: ARG001
    """No systemd key exists: a oneshot unit."""
    return Keep("unit")


def limits(source: Source, address: Address) -> Limits:
    """From off to 2^30 flows."""
    read(source, address)
    return Limits(default="0", min=0, max=1 << 30)
