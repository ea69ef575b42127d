"""Queues of an interface: `channels.combined@eth0`, ETHTOOL_MSG_CHANNELS_SET (ethtool -L).

Removed queues lose their interrupts and their RPS and XPS maps, and the driver may reset the RSS
table. All of this is recorded with the change and restored with it.
"""

from typing import Final

from ..host.netlink import route
from ..host.netlink.codec import decode, messages
from ..host.source import Source
from . import Address, Limits
from ._ethtool import Message, values
from ._text import number

RISK = "queues"
NIC = True
VALUE = number
COMMAND = "ethtool -L {nic} {name} {value}"
SHOWS = "ethtool -l {nic}"
NAMES = ("combined", "rx", "tx", "other")
LINKS = {  # systemd 239
    "rx": "RxChannels", "tx": "TxChannels", "other": "OtherChannels",
    "combined": "CombinedChannels",
}  # fmt: skip
_MESSAGE = Message("channels", {name: name + "_count" for name in NAMES}, "{} channels")
read, write = _MESSAGE.read, _MESSAGE.write
_WARNED: Final = 2  # with one receive queue the kernel does not warn


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """Settings of the queues: the RSS table; RPS, RFS, XPS and the interrupt of each queue."""
    nic = address.nic
    addresses = [f"rss.table@{nic}"]
    try:
        queues = source.listing(f"/sys/class/net/{nic}/queues")
    except OSError:
        queues = []
    for queue in queues:
        names = ("rps.cpus", "rps.flow-cnt") if queue.startswith("rx") else ("xps.cpus",)
        addresses += [f"{name}@{nic}/{queue}" for name in (*names, "irq.affinity")]
    return tuple(addresses)


def warns(source: Source, address: Address, value: str) -> tuple[str, ...]:
    """A veth with fewer receive queues than the other end has transmit queues.

    The packet keeps the number of the queue that sent it. The kernel warns once a boot, and is
    tainted, if it is not a number of a receive queue (net/core/dev.c, get_rps_cpu()).
    """
    if address.name != "rx" or int(value) < _WARNED:
        return ()
    try:
        link, other = _veth(source, address.nic)
    except (OSError, LookupError):
        return ()
    sent = values(source, "channels", other).get("tx_count", 0) if other else None
    if sent is not None and sent <= int(value):
        return ()
    many = f"sends on {sent} queues" if sent else f"may send on more than {value} queues"
    effect = "while RPS is on, a packet of the last ones makes the kernel write a warning"
    return (
        f"the other end of {link} {many}: {effect}; first set its transmit channels to {value}",
    )


def _veth(source: Source, nic: str) -> tuple[str, str | None]:
    """The name of a veth and that of its peer; None: in another network namespace. LookupError."""
    for kind, start, end in messages(reply := route.link(source, nic)):
        fields = decode(reply, start + route.IFINFO.size, end, route.LINK)
        if kind == route.NEWLINK and fields.get("info", {}).get("kind") == "veth":
            here = fields.get("link_netns") is None
            return nic, route.names(source)[fields["link"]] if here else None
    raise LookupError(f"{nic} is no veth")


def limits(source: Source, address: Address) -> Limits:
    """From the least number that leaves a receive and a transmit queue to the driver's maximum."""
    counts = values(source, "channels", address.nic)
    most = counts.get(address.name + "_max")
    if address.name + "_count" not in counts or not most:
        return Limits(settable=False, because=f"the driver has no {address.name} channels")
    least = 0 if address.name == "other" or counts.get("combined_count") else 1
    least = 1 if address.name == "combined" and not counts.get("rx_count") else least
    return Limits(min=least, max=most, because="the driver's limit")
