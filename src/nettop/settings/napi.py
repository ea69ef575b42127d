"""Softirq polling of an interface: deferred interrupts, flush timeout, threads for polling.

/sys/class/net/*/napi_defer_hard_irqs, gro_flush_timeout (nanoseconds), threaded
(Documentation/networking/napi.rst).
"""

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
VALUE = {"defer-hard-irqs": number, "gro-flush-timeout": number, "threaded": switch}
LIMITS = {  # of the kernel's types
    "defer-hard-irqs": Limits(default="0", min=0, max=(1 << 31) - 1),
    "gro-flush-timeout": Limits(default="0", min=0, max=(1 << 63) - 1),
    "threaded": Limits(default="off", choices=("on", "off")),
}


def file(address: Address) -> str:
    """The file of sysfs."""
    return f"{interface(address)}/{_FILES[address.name]}"


def read(source: Source, address: Address) -> str:
    """The number, or on/off; FileNotFoundError if the kernel or the interface lacks the file."""
    shown = text(source, file(address), f"{address.nic} has no {address.name}")
    return VALUE[address.name](shown)


def raw(address: Address, value: str) -> str:
    """On and off as numbers."""
    return str(int(value == "on")) if address.name == "threaded" else value
