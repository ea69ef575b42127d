"""Transmit packet steering: which CPUs, or receive queues, use a transmit queue.

/sys/class/net/*/queues/tx-*/xps_cpus and xps_rxqs (net/core/net-sysfs.c); `none` is off. An
interface with one transmit queue has no such map.
"""

import re

from ..host.source import Source
from ..terms.cpulist import mask, parse_mask
from . import Address, Limits
from ._text import cpu_list, cpus, interface, known_cpus, queue, ranges, text

RISK = "none"
SIDE = "tx"
NIC = True
NAMES = ("cpus", "rxqs")
TARGETS = re.compile("/(rx|tx)-[0-9]{1,5}")
EXAMPLE = "eth0/tx-0"
TEXT = NAMES
VALUE = cpu_list
LIMITS = Limits(default="none")
KEEP = "unit"  # no systemd key exists


def file(address: Address) -> str:
    """The map of the queue."""
    return queue(address, "tx", "xps_" + address.name)


def raw(address: Address, value: str) -> str:  # noqa: ARG001
    """The list as a mask."""
    return mask(cpus(value))


def read(source: Source, address: Address) -> str:
    """The list of CPUs (or of receive queues)."""
    missing = f"{address.target} has no transmit steering (one queue needs none)"
    return ranges(parse_mask(text(source, file(address), missing)))


def validate(source: Source, address: Address, value: str) -> None:
    """Only CPUs that the host has, or receive queues that the interface has."""
    if address.name == "cpus":
        known_cpus(source, address, value)
        return
    listed = source.listing(f"{interface(address)}/queues")
    have = {int(name[3:]) for name in listed if name.startswith("rx-")}
    beyond = cpus(value) - have
    if beyond:
        text = f"{address.nic} has receive queues {ranges(have)}, not {ranges(beyond)}"
        raise ValueError(text)
