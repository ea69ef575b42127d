"""Kernel parameters: `sysctl.net.ipv4.tcp_rmem`, files below /proc/sys.

Written as sysctl(8) does: a dot inside a component (a VLAN's name) is a slash. Most of net.ipv4 is
of the network namespace; net.core is largely of the host
(Documentation/admin-guide/sysctl/net.rst).
"""

from __future__ import annotations

from ..source import Source
from . import Address, Deed, Host, Keep, Limits

RISK = "none"
TARGET = False
TEXT = ("net.core.flow_limit_cpu_bitmap", "net.core.rps_default_mask")
_CHOICES = {
    "net.ipv4.tcp_congestion_control": "/proc/sys/net/ipv4/tcp_available_congestion_control",
}


def path(name: str) -> str:
    """The file of a parameter; LookupError when the name is none."""
    parts = [part.replace("/", ".") for part in name.split(".")]
    if len(parts) < 2 or any(part in ("", ".", "..") for part in parts):
        raise LookupError(f"{name!r} is not a kernel parameter")
    return "/proc/sys/" + "/".join(parts)


def read(source: Source, address: Address) -> str:
    """Its words, joined by single spaces."""
    try:
        return " ".join(source.text(path(address.name)).split())
    except FileNotFoundError:
        raise FileNotFoundError(2, _absent(source), address.name) from None


def write(host: Host, address: Address, value: str) -> None:
    """Write it; the kernel refuses what it cannot use."""
    try:
        host.write(path(address.name), value)
    except OSError as error:
        if error.errno in (1, 13, 22) and foreign(host.source):
            why = f"{error.strerror}; if it is the host's and not this namespace's, set it there"
            raise OSError(error.errno, why, address.name) from None
        raise


def deeds(source: Source, address: Address, value: str) -> tuple[Deed, ...]:  # noqa: ARG001
    """`sysctl -w name=value`."""
    return (Deed(("sysctl", "-w", f"{address.name}={value}")),)


def keep(address: Address, value: str) -> Keep:
    """A line of a sysctl.d drop-in."""
    return Keep("sysctl", address.name, value)


def normal(address: Address, value: str) -> str:  # noqa: ARG001
    """Words joined by single spaces."""
    words = " ".join(value.split())
    if not words:
        raise ValueError("a kernel parameter is not set to nothing")
    return words


def limits(source: Source, address: Address) -> Limits:
    """The kernel tells limits of a few only; the others are refused by the write itself."""
    read(source, address)
    listed = _CHOICES.get(address.name)
    if listed:
        return Limits(choices=tuple(source.text(listed).split()))
    return Limits()


def _absent(source: Source) -> str:
    if foreign(source):
        return "this network namespace has no such parameter: set it on the host"
    return "the kernel has no such parameter"


def foreign(source: Source) -> bool:
    """Whether this is not the first network namespace: only there is the backlog to be seen."""
    try:
        return "netdev_max_backlog" not in source.listing("/proc/sys/net/core")
    except OSError:
        return False
