"""Receive packet steering: the CPUs that share a receive queue's packets.

/sys/class/net/*/queues/rx-*/rps_cpus (net/core/net-sysfs.c, store_rps_map()); `none` is off.
"""

from __future__ import annotations

from ..cpulist import mask, parse_mask
from ..source import Source
from . import Address, Deed, Host, Keep, Limits
from ._sysfs import known_cpus, queue, text
from ._text import cpu_list, cpus, ranges

RISK = "none"
NIC = True
NAMES = ("cpus",)


def read(source: Source, address: Address) -> str:
    """The CPU list."""
    file = queue(address, "rx", "rps_cpus")
    return ranges(parse_mask(text(source, file, f"no receive queue {address.target}")))


def write(host: Host, address: Address, value: str) -> None:
    """Write the mask."""
    known_cpus(host.source, address, value)
    host.write(queue(address, "rx", "rps_cpus"), mask(cpus(value)))


def deeds(source: Source, address: Address, value: str) -> tuple[Deed, ...]:  # noqa: ARG001
    """An echo into the queue's file."""
    return (Deed(path=queue(address, "rx", "rps_cpus"), text=mask(cpus(value))),)


def normal(address: Address, value: str) -> str:  # noqa: ARG001
    """A CPU list."""
    return cpu_list(value)


def keep(address: Address, value: str) -> Keep:  # noqa: ARG001
    """No systemd key exists: a oneshot unit."""
    return Keep("unit")


def limits(source: Source, address: Address) -> Limits:
    """Any CPU of the host."""
    read(source, address)
    return Limits(default="none")
