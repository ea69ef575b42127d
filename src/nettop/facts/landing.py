"""Interface and receive queue of a flow, and how they are known.

The RSS table that a driver shows may not be in force, so it is checked against the counters of the
queues. Accelerated RFS, an RSS context or filters of the driver override it, and before Linux 6.12
virtio_net did not send the table that it created at probe to the device (commit dc749b7b0608):
until the table is written, a tap behind the device steers by itself. A queue that counts fewer
bytes than the flows assigned to it received is not their queue.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple, Protocol

from ..collect.rss import Row as RssRow
from ..collect.sockets_tcp import Row as TcpRow
from ..collect.sockets_udp import Row as UdpRow
from ..terms.dataclass import dataclass
from .kinds.queue import Queue
from .port import Port
from .toeplitz import TRANSFORMS, Packet, key_bytes, queue_of
from .wiring import Routes

COMPUTED: Final = "computed from RSS"
ALMOST: Final = 0.8  # of a NIC's traffic: a flow with this share uses the queue with this share


class Landed(NamedTuple):
    """Where a flow lands; it does not change. Flows between the same addresses share one."""

    nic: str | None  # as routed
    port: str | None  # the physical port below, if there is exactly one
    queue: str | None
    why: str
    namespace: str | None = None  # other network namespace; None: this one


class Sites(Protocol):
    """An object that finds the site of a socket: `Landing`, or `elsewhere.Sites`."""

    @property
    def ports(self) -> Mapping[str, Port]:
        """The ports, by interface."""

    def begin(self) -> None:
        """Start a frame."""

    def site(self, key: Hashable, protocol: str, row: TcpRow | UdpRow) -> Landed:
        """The site of a socket; `key` identifies it during its life."""


@dataclass(slots=True)
class Landing:
    """Computes the site of each flow once; replaced when routes, interfaces or RSS change.

    The site of a flow that is not requested during a whole frame is forgotten.
    """

    ports: Mapping[str, Port]
    routes: Routes
    rss: Mapping[str, RssRow] = field(default_factory=dict)
    known: dict[Hashable, Landed] = field(default_factory=dict)  # requested in this frame
    before: dict[Hashable, Landed] = field(default_factory=dict)  # requested in the previous frame

    shared: dict[Hashable, Landed] = field(default_factory=dict)  # by protocol and addresses

    def begin(self) -> None:
        """Start a frame."""
        self.before, self.known = self.known, {}
        if len(self.shared) > 2 * len(self.before):  # most of these flows have ended
            self.shared = {}

    def site(self, key: Hashable, protocol: str, row: TcpRow | UdpRow) -> Landed:
        """The site of a socket; `key` identifies it during its life."""
        site = self.known.get(key)
        if site is None:
            site = self.known[key] = self.before.get(key) or self._shared(protocol, row)
        return site

    def _shared(self, protocol: str, row: TcpRow | UdpRow) -> Landed:
        ends = protocol, row.local, row.remote, getattr(row, "interface", None)
        site = self.shared.get(ends)
        if site is None:
            site = self._find(protocol, row)
            if site.why != COMPUTED:  # the hash is of the ports too
                self.shared[ends] = site
        return site

    def _find(self, protocol: str, row: TcpRow | UdpRow) -> Landed:
        bound = getattr(row, "interface", None)
        nic = bound or self.routes.interface(row.remote or "", row.local or "")
        if nic is None:
            return Landed(None, None, None, "no route gives its interface")
        port = self.ports.get(nic)
        if port is None or port.kind == "loopback":
            return Landed(nic, None, None, "not a device with receive queues")
        if port.kind not in ("nic", "wireless", "veth"):
            if len(port.lower) != 1:
                many = "several ports" if port.lower else "no physical port"
                return Landed(nic, None, None, f"{nic} has {many} below it")
            port = self.ports[port.lower[0]]
        return Landed(nic, port.name, *self._queue(protocol, row, port))

    def _queue(self, protocol: str, row: TcpRow | UdpRow, port: Port) -> tuple[str | None, str]:
        if port.nic.rx_queues == 1:
            return "rx-0", "the only receive queue"
        if port.nic.ntuple_rules:
            return None, "steering rules may overrule RSS"
        rss = self.rss.get(port.name)
        if rss is None:
            return None, "the driver does not report how it distributes packets"
        if rss.key is None or not rss.table:
            return None, "the driver hides its RSS key or table"
        transform = rss.transform or ""
        if transform not in ("", *TRANSFORMS):
            return None, f"RSS hashes what a {transform} makes of addresses and ports"
        family = "6" if ":" in (row.remote or "") and "." not in row.remote else "4"
        fields = getattr(rss, f"hash_{protocol}{family}", None)
        if not fields or not rss.function:
            return None, "the driver does not report which fields it hashes"
        packet = Packet(row.remote, row.local, row.remote_port, row.local_port)
        try:
            number = queue_of(
                key_bytes(rss.key), rss.table, rss.function, fields, packet, transform
            )
        except (ValueError, TypeError, AttributeError):
            number = None
        if number is None:
            return None, f"its hash ({rss.function} of {fields}) cannot be computed"
        return f"rx-{number}", COMPUTED


def seen(share: float | None, queues: list[Queue] | None) -> str | None:
    """The queue of a flow by counters: the flow and one queue have nearly all of the traffic."""
    if share is None or share < ALMOST:
        return None
    for queue in queues or ():
        if queue.direction == "rx" and queue.share is not None and queue.share >= ALMOST:
            return queue.name
    return None


def identity(protocol: str, row: TcpRow | UdpRow, site: Landed) -> str:
    """The id of a flow: protocol, both ends, and its namespace if it is another one."""
    ends = f"{_end(row.local, row.local_port)}-{_end(row.remote, row.remote_port)}"
    return f"{protocol}:{ends}" + (f"@{site.namespace}" if site.namespace is not None else "")


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if address and ":" in address else f"{address}:{port}"


EXCESS: Final = 1.25  # times the count of the queue, which includes headers and retransmissions
TRICKLE: Final = 125_000.0  # bytes/s; a lower rate of a queue proves nothing
MOST: Final = 0.8  # of all bytes of the queues: from this share on, agreement is proof
SENDS_ITS_TABLE: Final = (6, 12)  # Linux, from which virtio_net sends its table to the device


class Verdict(NamedTuple):
    """`obeyed`: the NIC follows its table; None: unknown. `why` gives the reason if not True."""

    obeyed: bool | None = None
    why: str = ""


NOTHING: Final = Verdict()
UNSENT: Final = Verdict(
    None,
    "virtio_net before Linux 6.12 shows a table that the device may never have received, "
    "and no counters confirm it yet",
)


@dataclass(slots=True)
class Witness:
    """Remembers the last verdict on each interface while its RSS settings stay the same."""

    known: dict[str, tuple[object, Verdict]] = field(default_factory=dict)

    def hear(
        self, nic: str, rss: object, flows: Mapping[str, float], queues: Sequence[Queue],
        otherwise: Verdict = NOTHING,
    ) -> Verdict:  # fmt: skip
        """The present verdict; `otherwise` applies until the counters give one."""
        verdict = weigh(flows, queues)
        old = self.known.get(nic)
        if verdict is NOTHING:
            verdict = old[1] if old is not None and old[0] == rss else otherwise
        self.known[nic] = rss, verdict
        return verdict

    def forget(self, names: Container[str]) -> None:
        """Forget the interfaces that are not among `names`."""
        for name in [name for name in self.known if name not in names]:
            del self.known[name]


def weigh(flows: Mapping[str, float], queues: Sequence[Queue]) -> Verdict:
    """Compare the bytes/s of flows, by the queue that RSS assigns, with those of the queues.

    Sockets and counters are read one after the other, so the sum of the flows may exceed that of
    the queues; the rates of the flows are then scaled down to it.
    """
    counted = {
        one.name: one.bytes_per_s
        for one in queues
        if one.direction == "rx" and one.bytes_per_s is not None
    }
    whole, received = sum(counted.values()), sum(flows.values())
    if len(counted) < 2 or not whole or not received:
        return NOTHING
    scale = min(1.0, whole / received)
    for name in sorted(flows, key=lambda name: (-flows[name], name)):
        rate = flows[name] * scale
        if name in counted and rate > max(TRICKLE, EXCESS * counted[name]):
            return Verdict(
                False,
                f"{name} counts {_rate(counted[name])}, but the flows that RSS assigns to it "
                f"receive {_rate(rate)}: the table shown is not in force",
            )
    return Verdict(True) if received * scale >= max(TRICKLE, MOST * whole) else NOTHING


def suspected(driver: str, kernel: tuple[int, int] | None) -> Verdict:
    """The verdict on a table before any counter was read."""
    return UNSENT if driver == "virtio_net" and (kernel or (0, 0)) < SENDS_ITS_TABLE else NOTHING


def _rate(size: float) -> str:
    return f"{8 * size / 1e6:.1f} Mbit/s"
