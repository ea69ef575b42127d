"""Attributes of the interface itself: MTU, queue length, largest merged packets, promiscuous mode.

Read from sysfs and RTM_GETLINK (net/core/rtnetlink.c), written by RTM_SETLINK so that the kernel
can say why it refuses. Changing the MTU may restart the device and drop the link for seconds.
"""

import os
import struct
from collections.abc import Iterator
from typing import Any

from ..host.netlink.codec import Field, Request, attribute, decode, encode, messages, numbered
from ..host.netlink.route import IFINFO
from ..host.source import Source
from . import Address, Command, Host, Limits, route
from ._text import interface, number, switch, text

RISK = {"mtu": "link"}
NIC = True
NAMES = (
    "mtu", "txqueuelen", "gso-max-size", "gro-max-size", "gso-ipv4-max-size", "gro-ipv4-max-size",
    "promisc",
)  # fmt: skip
VALUE = {**dict.fromkeys(NAMES, number), "promisc": switch}
SHOWS = "ip -details link show dev {nic}"
SIDE = {
    "txqueuelen": "tx", "gso-max-size": "tx", "gso-ipv4-max-size": "tx", "gro-max-size": "rx",
    "gro-ipv4-max-size": "rx", "promisc": "rx",
}  # fmt: skip
_FILES = {"mtu": "mtu", "txqueuelen": "tx_queue_len"}
_GETLINK, _SETLINK = 18, 19
_PROMISC = 0x100
# include/uapi/linux/if_link.h
_TABLE = {
    4: Field("mtu"),
    13: Field("txqueuelen"),
    **numbered(30, "promiscuity"),
    **numbered(41, "gso_max_size"),
    **numbered(50, "min_mtu max_mtu"),
    54: Field("permanent", "raw"),
    **numbered(58, "gro_max_size tso_max_size"),
    **numbered(63, "gso_ipv4_max_size gro_ipv4_max_size"),
}
LINKS = {"mtu": "MTUBytes", "txqueuelen": "TransmitQueueLength"}
_IPV6_LEAST = 1280  # RFC 8200, section 5


def attributes(source: Source, nic: str) -> dict[str, Any]:
    """The attributes of one interface by RTM_GETLINK; OSError where there is none."""
    body = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(3, os.fsencode(nic) + b"\0")
    reply = source.netlink(Request("route", _GETLINK, body, f"route/link/{nic}"))
    for _kind, start, end in messages(reply):
        fields = decode(reply, start + 16, end, _TABLE)
        fields["flags"] = struct.unpack_from("=I", reply, start + 8)[0]
        fields["index"] = struct.unpack_from("=i", reply, start + 4)[0]
        return fields
    raise OSError(19, f"no interface {nic}")


def read(source: Source, address: Address) -> str:
    """The number, or on/off; OSError where there is no such interface."""
    if address.name in _FILES:
        path = f"{interface(address)}/{_FILES[address.name]}"
        return text(source, path, f"no interface {address.nic}")
    if address.name == "promisc":
        flags = text(source, f"{interface(address)}/flags", f"no interface {address.nic}")
        return "on" if int(flags, 16) & _PROMISC else "off"
    value = attributes(source, address.nic).get(address.name.replace("-", "_"))
    if value is None:
        raise FileNotFoundError(2, f"this kernel has no {address.name}")
    return str(value)


def write(host: Host, address: Address, value: str) -> None:
    """Write by rtnetlink; below another root, into files."""
    if not host.real:
        if address.name in _FILES:
            host.write(f"{interface(address)}/{_FILES[address.name]}", value)
            return
        raise FileNotFoundError(2, "a directory has no netlink", host.root)
    index = attributes(host.source, address.nic)["index"]
    if address.name == "promisc":
        body = IFINFO.pack(0, 0, index, _PROMISC if value == "on" else 0, _PROMISC)
    else:
        fields = {address.name.replace("-", "_"): int(value)}
        body = IFINFO.pack(0, 0, index, 0, 0) + encode(_TABLE, fields)
    host.change("route", _SETLINK, body)


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`ip link set dev NIC …`."""
    word = address.name.replace("-", "_") if "size" in address.name else address.name
    return (Command(("ip", "link", "set", "dev", address.nic, word, value)),)


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """For an MTU, that of IPv6, the offloads that do not support it, and the MTU of those above."""
    if address.name != "mtu":
        return ()
    addresses = [*_ipv6(source, address.nic), *route.with_mtu(source, address.nic)]
    if getattr(source, "live", False):
        from .feature import states

        try:
            features = states(source, address.nic).items()
        except OSError:
            features = {}.items()
        addresses += [f"feature.{key}@{address.nic}" for key, state in features if not state.fixed]
    for upper in _above(source, address.nic):
        addresses += [f"link.mtu@{upper}", *_ipv6(source, upper), *route.with_mtu(source, upper)]
    return tuple(addresses)


def _ipv6(source: Source, nic: str) -> Iterator[str]:
    """The MTU of IPv6 of an interface that has one."""
    try:
        source.text(f"/proc/sys/net/ipv6/conf/{nic}/mtu")
        yield f"sysctl.net.ipv6.conf.{nic.replace('.', '/')}.mtu"
    except OSError:
        pass


def _above(source: Source, nic: str) -> list[str]:
    """The interfaces that are stacked on this one in this namespace, the lower ones first.

    The kernel lowers their MTU with its own, and does not raise it again (vlan_device_event() in
    net/8021q/vlan.c, macvlan_device_event() in drivers/net/macvlan.c).
    """
    found = [nic]
    for lower in found:
        try:
            names = source.listing(f"/sys/class/net/{lower}")
        except OSError:
            continue
        uppers = (name.removeprefix("upper_") for name in names if name.startswith("upper_"))
        found += [name for name in uppers if name not in found]
    return found[1:]


def limits(source: Source, address: Address) -> Limits:
    """The driver's MTU bounds; below 1280 bytes the kernel removes the IPv6 addresses."""
    read(source, address)
    if address.name == "promisc":
        return Limits(default="off", choices=("on", "off"))
    if address.name == "txqueuelen":
        return Limits(default="1000", min=0, max=(1 << 31) - 1)
    try:
        fields = attributes(source, address.nic)
    except OSError:
        fields = {}
    if address.name != "mtu":
        most = fields.get("tso_max_size") if address.name.startswith("gso") else 524280
        return Limits(default="65536", min=1, max=most or 524280)
    least, most = fields.get("min_mtu"), fields.get("max_mtu") or None
    if (least or 0) < _IPV6_LEAST and _has_ipv6(source, address.nic):
        why = f"the driver's limit; below {_IPV6_LEAST} the kernel drops IPv6 addresses"
        return Limits("1500", _IPV6_LEAST, most, because=why)
    return Limits("1500", least, most, because="the driver's limit")


def _has_ipv6(source: Source, nic: str) -> bool:
    """Whether the interface, or one above, has IPv6 addresses."""
    names = {nic, *_above(source, nic)}
    try:
        lines = source.text("/proc/net/if_inet6").splitlines()
        return any(names & set(line.split()[-1:]) for line in lines)
    except OSError:
        return False
