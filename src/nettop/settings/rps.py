"""Receive packet and flow steering in software, per receive queue.

`cpus` are the CPUs that share the queue's packets (rps_cpus; `none` is off), `flow-cnt` the size of
its flow table (rps_flow_cnt; 0 is off, rounded up to a power of two), both below
/sys/class/net/*/queues/rx-* (net/core/net-sysfs.c). The table of all queues together is
net.core.rps_sock_flow_entries.
"""

import re

from ..host.source import Source
from ..terms.cpulist import mask, parse_mask
from . import Address, Limits
from ._text import cpu_list, cpus, known_cpus, number, queue, ranges, text

RISK = "none"
SIDE = "rx"
NIC = True
ROUNDS = True
NAMES = ("cpus", "flow-cnt")
TARGETS = re.compile("/(rx|tx)-[0-9]{1,5}")
EXAMPLE = "eth0/rx-0"
TEXT = ("cpus",)
VALUE = {"cpus": cpu_list, "flow-cnt": number}
LIMITS = {"cpus": Limits(default="none"), "flow-cnt": Limits(default="0", min=0, max=1 << 30)}
KEEP = "unit"  # no systemd key exists


def file(address: Address) -> str:
    """The file of the queue."""
    return queue(address, "rx", "rps_" + address.name.replace("-", "_"))


def raw(address: Address, value: str) -> str:
    """The list as a mask, or the number."""
    return mask(cpus(value)) if address.name == "cpus" else value


def read(source: Source, address: Address) -> str:
    """The CPU list, or the number of flows."""
    shown = text(source, file(address), f"no receive queue {address.target}")
    return ranges(parse_mask(shown)) if address.name == "cpus" else shown


def validate(source: Source, address: Address, value: str) -> None:
    """ValueError for CPUs that the host does not have."""
    if address.name == "cpus":
        known_cpus(source, address, value)
