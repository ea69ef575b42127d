"""Softirq polling of an interface: deferred interrupts, flush timeout, threads for polling.

/sys/class/net/*/napi_defer_hard_irqs, gro_flush_timeout (nanoseconds), threaded
(Documentation/networking/napi.rst).
"""

from __future__ import annotations

from ..host.source import Source
from . import Address, Limits
from ._text import interface, number, switch, text

RISK = "none"
SIDE = "rx"
KEEP = "unit"  # no systemd key exists
NIC = True
NAMES = ("defer-hard-irqs", "gro-flush-timeout", "threaded")
_FILES = {
    "defer-hard-irqs": "napi_defer_hard_irqs",
    "gro-flush-timeout": "gro_flush_timeout",
    "threaded": "threaded",
}
_MOST = {"defer-hard-irqs": (1 << 31) - 1, "gro-flush-timeout": (1 << 63) - 1}


def file(address: Address) -> str:
    """The file of sysfs."""
    return f"{interface(address)}/{_FILES[address.name]}"


def read(source: Source, address: Address) -> str:
    """The number, or on/off; FileNotFoundError if the kernel or the interface lacks the file."""
    return normal(address, text(source, file(address), f"{address.nic} has no {address.name}"))


def raw(address: Address, value: str) -> str:
    """On and off as numbers."""
    return str(int(value == "on")) if address.name == "threaded" else value


def normal(address: Address, value: str) -> str:
    """The canonical number, or on/off; ValueError for anything else."""
    return switch(value) if address.name == "threaded" else number(value)


def limits(source: Source, address: Address) -> Limits:
    """The ranges of the kernel's types."""
    read(source, address)
    if address.name == "threaded":
        return Limits(default="off", choices=("on", "off"))
    return Limits(default="0", min=0, max=_MOST[address.name])
