"""Network interfaces: RTM_GETLINK without counters (net/core/rtnetlink.c, rtnl_fill_ifinfo()).

Only a changed answer is parsed: without counters, equal links give equal bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, Field, attributes, decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed, recall

TABLE: Final = Table(every=0.9, needed="the state of the interfaces", may_rest=True)


_UP, _LOOPBACK, _RUNNING, _NOARP, _PROMISC = 0x1, 0x8, 0x40, 0x80, 0x100
_OPERSTATES: Final = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")
_XDP: Final = {1: "driver", 2: "generic", 3: "offload", 4: "multi"}
_VLAN: Final = {1: Field("id", "H")}  # IFLA_VLAN_ID
_MACVLAN: Final = {1: Field("mode"), 5: Field("senders", "raw")}  # IFLA_MACVLAN_MODE, _MACADDR_DATA
_SOURCE: Final = 16  # MACVLAN_MODE_SOURCE
_BRIDGE: Final = {  # IFLA_BR_FORWARD_DELAY, _STP_STATE, _MCAST_QUERIER_STATE
    1: Field("delay"), 5: Field("stp"), 47: Field("querier", "flag"),
}  # fmt: skip
_TICKS: Final = 100  # USER_HZ: clock ticks of a second
_PORT: Final = {  # IFLA_BRPORT_*
    1: Field("state", "B"), 4: Field("hairpin", "B"), 9: Field("floods", "B"),
    27: Field("multicasts", "B"), 30: Field("broadcasts", "B"), 33: Field("isolated", "B"),
    39: Field("locked", "B"), 41: Field("groups"),
}  # fmt: skip
_FLAGS: Final = ("isolated", "floods", "locked", "broadcasts", "multicasts", "hairpin")
# IFLA_VXLAN_*, IFLA_GENEVE_*, IFLA_GRE_*, IFLA_IPTUN_*, IFLA_VTI_* (include/uapi/linux/if_link.h,
# if_tunnel.h): both ends of the packets that carry a tunnel, and their destination port
_VXLAN: Final = {
    1: Field("id"), 4: Field("local", "raw"), 17: Field("local", "raw"), 2: Field("remote", "raw"),
    16: Field("remote", "raw"), 15: Field("port", "raw"), 23: Field("gbp", "raw"),
    27: Field("gpe", "raw"),
}  # fmt: skip
_GENEVE: Final = {
    1: Field("id"), 2: Field("remote", "raw"), 7: Field("remote", "raw"), 5: Field("port", "raw"),
}  # fmt: skip
_GRE: Final = {6: Field("local", "raw"), 7: Field("remote", "raw")}
_IPTUN: Final = {2: Field("local", "raw"), 3: Field("remote", "raw")}
_VTI: Final = {4: Field("local", "raw"), 5: Field("remote", "raw")}
_TUNNELS: Final = {
    "vxlan": _VXLAN, "geneve": _GENEVE,
    **dict.fromkeys("gre gretap erspan ip6gre ip6gretap ip6erspan".split(), _GRE),
    **dict.fromkeys("ipip sit ip6tnl".split(), _IPTUN), **dict.fromkeys("vti vti6".split(), _VTI),
}  # fmt: skip
_STATES: Final = ("disabled", "listening", "learning", "forwarding", "blocking")  # BR_STATE_*


@dataclass(frozen=True, slots=True)
class Row:
    """One interface. None: not in the answer (older kernel, or not for this device)."""

    interface: str = label("interface name")
    index: int = gauge("interface index")
    type: int = gauge("ARPHRD type: 1 Ethernet, 772 loopback, 32 InfiniBand …")
    kind: str = gauge("kind of a software interface: veth bond bridge vlan …; empty for hardware")
    loopback: bool = gauge("the loopback interface")
    up: bool = gauge("administratively up")
    running: bool = gauge("can carry packets")
    promisc: bool = gauge("promiscuous mode set by the user")
    carrier: bool | None = maybe("link detected")
    operstate: str | None = maybe("RFC 2863 state: up down dormant …")
    mtu: int | None = maybe("MTU", "bytes")
    min_mtu: int | None = maybe("MTU minimum of the driver", "bytes")
    max_mtu: int | None = maybe("MTU maximum of the driver", "bytes")
    txqueuelen: int | None = maybe("transmit queue length", "packets")
    promiscuity: int | None = maybe("users of promiscuous mode", "users")
    address: str | None = maybe("MAC address")
    master: str | None = maybe("bond or bridge of this port")
    slave_kind: str | None = maybe("kind of the master: bond, bridge …")
    port_state: str | None = maybe("state of a bridge port: forwarding blocking listening …")
    stp: bool | None = maybe("a bridge with spanning tree")
    delay: float | None = maybe("forward delay of a bridge with spanning tree", "s")
    isolated: bool | None = maybe(
        "a bridge port that exchanges no frames with other isolated ports"
    )
    floods: bool | None = maybe(
        "a bridge port that sends frames to addresses of which the bridge has no entry"
    )
    locked: bool | None = maybe("a bridge port that drops frames from addresses without an entry")
    broadcasts: bool | None = maybe("a bridge port that sends broadcasts that came by another port")
    multicasts: bool | None = maybe(
        "a bridge port that sends multicast that came by another port, and that the bridge floods"
    )
    hairpin: bool | None = maybe("a bridge port that sends frames to hosts behind it back there")
    groups: int | None = maybe("multicast groups that hosts behind a bridge port joined", "groups")
    querier: bool | None = maybe(
        "a bridge that sends multicast only to ports that report its group: it knows a querier"
    )
    link: str | None = maybe("lower interface (VLAN) or peer (veth), if in this namespace")
    peer: int | None = maybe("index of the peer, in another namespace")
    link_netns: int | None = maybe("namespace id of the lower interface or peer")
    vlan: int | None = maybe("VLAN number")
    senders: tuple[str, ...] | None = maybe(
        "MAC addresses of which a macvlan in mode source takes frames; None: it takes those of all"
    )
    tunnel_local: str | None = maybe("address from which a tunnel sends, if it is set")
    tunnel_remote: str | None = maybe("address of the other end of a tunnel, if it is one")
    tunnel_port: int | None = maybe("UDP port to which a tunnel sends")
    tunnel_id: int | None = maybe("network identifier (VNI) of a VXLAN or Geneve tunnel")
    extensions: str = gauge("extensions of the header of a VXLAN: gbp, gpe", default="")
    rx_queues: int | None = maybe("receive queues allocated", "queues")
    tx_queues: int | None = maybe("transmit queues allocated", "queues")
    gso_max_segs: int | None = maybe("segments per segmentation packet", "segments")
    gso_max_size: int | None = maybe("segmentation packet size limit (GSO)", "bytes")
    gro_max_size: int | None = maybe("merged packet size limit (GRO)", "bytes")
    tso_max_size: int | None = maybe("segmentation packet size limit of the device (TSO)", "bytes")
    qdisc: str | None = maybe("root queueing discipline")
    xdp: str | None = maybe("XDP program attached: driver generic offload multi")
    xdp_program: int | None = maybe("its BPF program id")
    parent: str | None = maybe("parent device, e.g. 0000:41:00.0")
    bus: str | None = maybe("bus of the parent device: pci, virtio, usb …")
    noarp: bool = gauge("sends without neighbour entries (NOARP)", default=False)
    alias: str | None = maybe("description set by the administrator")
    carrier_changes: int | None = counter("link state changes", "events", default=None)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every interface; the same rows as before while the answer is the same. OSError."""
    known = recall(memory, Known)
    return parsed(memory, "links", route.links(source), lambda reply: parse(reply, known))


@dataclass
class Known:
    """The names of the last answer, and the row of each of its messages."""

    names: Mapping[int, str] = field(default_factory=dict)
    rows: dict[bytes, Row] = field(default_factory=dict)


def parse(reply: bytes, known: Known | None = None) -> list[Row]:
    """The rows of an answer to RTM_GETLINK; ValueError if it is cut off.

    A message that is in `known` keeps its row, unless an interface came, went or was renamed.
    """
    last = Known() if known is None else known
    names = route.names_in(reply)
    before = last.rows if last.names == names else {}
    last.names, last.rows = names, {}
    rows = []
    for start, end in of_kind(reply, route.NEWLINK, route.IFINFO.size, "a link"):
        message = reply[start:end]
        row = before.get(message)
        if row is None:
            values = decode(message, route.IFINFO.size, len(message), route.LINK)
            if not values.get("name"):
                continue
            row = _row(route.IFINFO.unpack_from(message), values, names)
        last.rows[message] = row
        rows.append(row)
    return rows


def _row(head: tuple[int, ...], values: Attributes, names: Mapping[int, str]) -> Row:
    _family, hardware, index, flags, _change = head
    info = values.get("info", {})
    data = info.get("data", b"")
    vlan = decode(data, 0, len(data), _VLAN).get("id") if info.get("kind") == "vlan" else None
    tunnel = decode(data, 0, len(data), _TUNNELS.get(info.get("kind", ""), {}))
    own = decode(data, 0, len(data), _BRIDGE) if info.get("kind") == "bridge" else {}
    port = info.get("slave_data", b"") if info.get("slave_kind") == "bridge" else b""
    bridged = decode(port, 0, len(port), _PORT)
    forwards = bridged.get("state")
    does = {name: bool(bridged[name]) for name in _FLAGS if name in bridged}
    state = values.get("operstate")
    xdp = values.get("xdp", {})
    carrier = values.get("carrier")
    address = values.get("address")
    elsewhere = values.get("link_netns")
    below = None if elsewhere is not None else names.get(values.get("link", 0))
    return Row(
        interface=values["name"],
        index=index,
        type=hardware,
        kind=info.get("kind", ""),
        loopback=bool(flags & _LOOPBACK),
        up=bool(flags & _UP),
        running=bool(flags & _RUNNING),
        promisc=bool(flags & _PROMISC),
        # the carrier of an interface that is down has no meaning
        carrier=bool(carrier) if carrier is not None and flags & _UP else None,
        operstate=_OPERSTATES[state] if state is not None and state < len(_OPERSTATES) else None,
        mtu=values.get("mtu"),
        min_mtu=values.get("min_mtu") or None,
        max_mtu=values.get("max_mtu") or None,
        txqueuelen=values.get("txqlen"),
        promiscuity=values.get("promiscuity"),
        address=route.mac(address) if address else None,
        master=names.get(values.get("master", 0)),
        slave_kind=info.get("slave_kind"),
        port_state=_STATES[forwards] if forwards is not None and forwards < 5 else None,
        stp=bool(own["stp"]) if "stp" in own else None,
        delay=own["delay"] / _TICKS if own.get("stp") and "delay" in own else None,
        **does,
        groups=bridged.get("groups"),
        querier=own.get("querier", False) if own else None,
        link=below if below != values["name"] else None,
        peer=values.get("link") if elsewhere is not None else None,
        link_netns=elsewhere,
        vlan=vlan,
        senders=_senders(data) if info.get("kind") in ("macvlan", "macvtap") else None,
        tunnel_local=_end(tunnel.get("local", b"")),
        tunnel_remote=_end(tunnel.get("remote", b"")),
        tunnel_port=int.from_bytes(tunnel.get("port", b""), "big") or None,
        tunnel_id=tunnel.get("id"),
        extensions=" ".join(one for one in ("gbp", "gpe") if one in tunnel),
        rx_queues=values.get("rx_queues"),
        tx_queues=values.get("tx_queues"),
        gso_max_segs=values.get("gso_max_segs"),
        gso_max_size=values.get("gso_max_size"),
        gro_max_size=values.get("gro_max_size"),
        tso_max_size=values.get("tso_max_size"),
        qdisc=values.get("qdisc"),
        xdp=_XDP.get(xdp.get("attached", 0)),
        xdp_program=xdp.get("program"),
        parent=values.get("parent"),
        bus=values.get("bus"),
        noarp=bool(flags & _NOARP),
        alias=values.get("alias"),
        carrier_changes=values.get("carrier_changes"),
    )


def _senders(data: bytes) -> tuple[str, ...] | None:
    own = decode(data, 0, len(data), _MACVLAN)
    if own.get("mode") != _SOURCE:
        return None
    listed = own.get("senders", b"")
    return tuple(
        route.mac(listed[start:end]) for _, start, end in attributes(listed, 0, len(listed))
    )


def _end(raw: bytes) -> str | None:
    """An address; None for one that is not set."""
    return route.ip(raw) if any(raw) else None
