"""A flow that is asked about, the tables in which its walk looks, its steps, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from ...collect.addresses import Row as AddressRow
from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.failed_calls import OPENED
from ...collect.fib import Row as FibRow
from ...collect.interface_sysctls import Row as SwitchRow
from ...collect.links import Row as LinkRow
from ...collect.neighbour_states import Row as NeighbourRow
from ...collect.routing_rules import Row as RuleRow
from ...collect.time_wait import RANGE
from ...collect.udp_bound import Row as BoundRow
from ...collect.ways import Question
from ...collect.ways import Row as AnswerRow
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..flow_words import end
from ..used_ports import chosen

PASSES: Final = "passes"
STOPS: Final = "stops"
HIDDEN: Final = "hidden"  # what is there cannot be judged from these tables
FILTERED: Final = "NETFILTER_DROP"  # why the kernel says that it drops a packet
# errors of calls that come without an answer
SILENT: Final = ("GIVEN_UP", "ETIMEDOUT", "EHOSTUNREACH")
RENAMED: Final = "renamed"  # of what drops: a rule accepts it at an interface that is gone
ROUTING: Final = ("route", "rule")  # places of steps: what the tables of routes say
SUSPECT: Final = "suspect"  # the host trusts it unseen: it decides if nothing else stops the flow


@dataclass(frozen=True, slots=True)
class Flow:
    """What is asked about: packets to `to`."""

    to: str
    port: int = 0  # 0: any
    origin: str = ""  # source address; of another host: the packet comes from there
    arrives: str = ""  # interface on which the packet comes in
    mark: int = 0
    protocol: str = "tcp"
    user: int = 0  # who sends
    source_port: int = 0  # of a connection that is open; 0: a new one
    hardware: str = ""  # hardware address that the frame is for; empty: not known
    leaves: str = ""  # interface to which the socket is bound (SO_BINDTODEVICE)

    @property
    def name(self) -> str:
        """Address and port."""
        return end(self.to, self.port) if self.port else self.to


@dataclass(frozen=True, slots=True)
class Trouble:
    """One destination that packets of this host do not reach."""

    flow: Flow
    calls: tuple[str, ...] = ()  # what fails, in words
    ids: tuple[str, ...] = ()  # the facts about it, of the kinds `call` and `flow`
    events: int = 0  # failed calls
    sockets: int = 0  # that wait for the first answer
    answered: int | None = 0  # connections to it that opened; None: not known
    packets: int = 0  # that arrive in vain
    per_s: float | None = None  # the rate of these packets
    places: tuple[str, ...] = ()  # where alone it can be decided; empty: anywhere
    by: str = ""  # words of what alone can decide it
    space: str = ""  # the other namespace whose connections these are
    pid: int = 0  # the process whose calls fail most; 0: not known
    meant: bool | None = None  # whether what stops it may be wanted; None: by what it is

    @property
    def failed(self) -> int:
        """The attempts that failed."""
        return self.events + self.sockets + self.packets

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of the failed calls."""
        return tuple(one.rpartition("/")[2] for one in self.ids if "/" in one)


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of the walk saw."""

    place: str  # route, neighbour, device …
    outcome: str
    saw: str  # one line
    command: str = ""  # shows it
    change: str = ""  # cures it: a command, or who must act
    neighbours: tuple[str, ...] = ()  # ADDRESS@INTERFACE that it is about
    qdisc: str = ""  # that it is about, as facts of qdiscs are named
    answers: bool = False  # it refuses the packets with an answer, at once
    # "sender": it decides by who sends; "element": a set lists that very address; "rate": by how
    # many there are, so that who asks again gets through; or RENAMED
    picks: str = ""
    rule: str = ""  # the text of the rule of the packet filter that decides


@dataclass(frozen=True, slots=True)
class Way:
    """The answer: every step, in order."""

    flow: Flow
    case: str  # output, local, input, forward
    steps: tuple[Step, ...]
    interface: str | None = None  # by which packets leave
    origin: str = ""  # of a packet that arrives: its source, also where only an interface is asked

    @property
    def decider(self) -> Step | None:
        """The first step that cannot carry the flow; None: nothing visible stops it."""
        return next((one for one in self.steps if one.outcome == STOPS), None)

    @property
    def suspect(self) -> Step | None:
        """What decides it if the flow fails and no step stops it."""
        return next((one for one in self.steps if one.outcome == SUSPECT), None)

    def of(self, outcome: str) -> tuple[Step, ...]:
        """The steps with this outcome."""
        return tuple(one for one in self.steps if one.outcome == outcome)

    @property
    def headline(self) -> str:
        """One sentence."""
        name = self.flow.name
        if self.case in ("input", "forward"):
            on = f" on {self.flow.arrives}" if self.flow.arrives else ""
            name = f"{name} from {self.origin}{on}"
        if self.decider is not None:
            return f"{name} cannot be reached: {self.decider.saw}"
        if self.suspect is not None:
            return f"packets to {name} may be lost: {self.suspect.saw}"
        hidden = self.of(HIDDEN)
        if not hidden:
            return f"nothing visible here stops {name}"
        more = f", nor {len(hidden) - 1} more" if len(hidden) > 1 else ""
        return f"nothing visible here stops {name}; not visible from here: {hidden[0].saw}{more}"


CAME_BACK: Final = 4  # packets that came back
EXPIRES: Final = 4  # TTL: only in a loop packets are this near to their end


def loop(way: Way, hops: Sequence[int]) -> Step | None:
    """The step of a way whose packets arrive where they leave, with these TTLs.

    What is sent on by one interface only, as by a router with one arm, does not expire there.
    """
    if len(hops) < CAME_BACK or min(hops) > EXPIRES:
        return None
    to, name = way.flow.to, way.interface
    by = next((one.neighbours[0] for one in way.steps if one.neighbours), "the next hop")
    family = "-6 " if ":" in to else ""
    return Step(
        "loop", STOPS, f"packets to {to} come back on {name}, by which they leave ({len(hops)} "
        f"while nettop looked, ttl {max(hops)} down to {min(hops)}): {by} sends them to this "
        "host, and this host to it", f"tcpdump -nvi {name} dst host {to}",
        f"correct the route to {to} at one of both; `ip {family}route add unreachable NETWORK` "
        "here ends the loop for a network that nobody has",
    )  # fmt: skip


Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
UNKNOWN_HOSTS: Final = "00:00:00:00:00:00"  # of a VXLAN: where what has no entry goes


@lru_cache(maxsize=1 << 15)  # a router has some 17,000 routes at most: see `collect.fib`
def network(text: str) -> Network:
    """A network of a table; its host bits do not count."""
    return ip_network(text, strict=False)


@lru_cache(maxsize=4096)
def address(text: str) -> Address:
    """An address without its scope; an IPv4-mapped one as IPv4."""
    found = ip_address(text.partition("%")[0])
    return getattr(found, "ipv4_mapped", None) or found


def inside(text: str, net: str | None) -> bool:
    """Whether an address is in a network; None is any."""
    if net is None:
        return True
    one, other = address(text), network(net)
    return one.version == other.version and one in other


@dataclass(frozen=True, slots=True)
class Host:
    """The rows that steps need."""

    frame: Frame
    links: Mapping[str, LinkRow]
    numbered: Mapping[str, LinkRow]  # by index, as drops have it
    addresses: tuple[AddressRow, ...]
    fib: tuple[FibRow, ...]
    rules: tuple[RuleRow, ...]
    neighbours: Mapping[tuple[str, str], NeighbourRow]
    switches: Mapping[str, SwitchRow]
    answers: tuple[AnswerRow, ...]
    bound: Mapping[int, BoundRow]  # UDP sockets by inode

    @classmethod
    def of(cls, frame: Frame) -> Host:
        """The tables of a frame; those that were not read are empty."""
        links = frame.rows("links")
        return cls(
            frame,
            {row.interface: row for row in links},
            {str(row.index): row for row in links},
            tuple(frame.rows("addresses")),
            tuple(frame.rows("fib")),
            tuple(frame.rows("routing_rules")),
            {(row.interface, row.address): row for row in frame.rows("neighbour_states")},
            {row.interface: row for row in frame.rows("interface_sysctls")},
            tuple(frame.rows("ways")),
            {row.inode: row for row in frame.rows("udp_bound")},
        )

    def local(self, text: str) -> bool:
        """Whether it is an address of this host."""
        one = address(text)
        return one.is_loopback or any(one == address(row.address) for row in self.addresses)

    @property
    def chosen(self) -> range:
        """The ports of which the kernel chooses one for a connection; none: it is not known."""
        rows = self.frame.rows("sysctls")
        return chosen({row.name: row.value for row in rows if row.name == RANGE}) or range(0)

    def failed(self, to: str, port: int = 0) -> tuple[str, ...]:
        """The errors of the calls to this end that failed while nettop looked."""
        return tuple(
            one.error for one in self.frame.rows("failed_calls")
            if one.error != OPENED and one.address.removeprefix("::ffff:") == to
            and str(port or one.port) == one.port
        )  # fmt: skip

    def number(self, interface: str | None) -> int | None:
        """The index of an interface; 0 of none, None if it is not known."""
        link = self.links.get(interface or "")
        return 0 if interface == "" else link.index if link is not None else None

    def first(self, interface: str | None, version: int) -> str | None:
        """The first address of an interface, of that version of IP."""
        return next(
            (row.address for row in self.addresses
             if row.interface == interface and row.family == version), None,
        )  # fmt: skip

    def answer(self, question: Question) -> AnswerRow | None:
        """The kernel's answer to the question."""
        return next((row for row in self.answers if row.answers(question)), None)

    def dropped(self, reason: str, wanted: Callable[[DropReasonRow], bool]) -> int:
        """How many of the wanted packets the kernel dropped here for a reason, as it counted."""
        return sum(
            row.packets for row in self.frame.rows("drop_reasons")
            if row.where == "here" and row.reason == reason and wanted(row)
        )  # fmt: skip

    def strongest(self, name: str, switch: str) -> tuple[int, str]:
        """The value of a switch in force on an interface, and whose it is: its own or `all`.

        The larger counts (include/linux/inetdevice.h, IN_DEV_MAXCONF).
        """
        rows = [self.switches[one] for one in ("all", name) if one in self.switches]
        values = [(getattr(row, switch) or 0, row.interface) for row in rows]
        return max(values, key=lambda one: one[0], default=(0, name))

    def told(self, vxlan: str) -> bool:
        """Whether a program keeps all entries of a VXLAN: it has none for unknown hosts.

        So do Flannel and others: each permanent entry is meant so.
        """
        rows = [one.hardware for one in self.frame.rows("fdb")
                if one.interface == vxlan and one.remote]  # fmt: skip
        return bool(rows) and UNKNOWN_HOSTS not in rows

    def port(self, bridge: str, hardware: str | None) -> str:
        """The port of a bridge behind which a hardware address is; empty: not known."""
        rows = (one for one in self.frame.rows("fdb") if one.master == bridge)
        found = (one.interface for one in rows if one.hardware == hardware)
        return next((name for name in found if name != bridge), "")

    def left_out(self, ports: Iterable[LinkRow], to: str) -> tuple[str, list[str]]:
        """The flag that keeps what is for all, or for a group, from ports, and those without it.

        `to`: the group, or the address for which others ask: net/bridge/br_forward.c, br_flood().
        A bridge that knows a querier sends what is for a group to those that joined it.
        """
        known = [(one, self.links.get(one.master or "")) for one in ports]
        if address(to).version == 4 and not address(to).is_multicast:
            return "bcast_flood", [one.interface for one, _ in known if one.broadcasts is False]
        return "mcast_flood", [
            one.interface for one, bridge in known
            if one.multicasts is False and bridge is not None and bridge.querier is False
        ]  # fmt: skip

    def unread(self, table: str) -> str | None:
        """Why a table is not known; None if it was read."""
        if table in self.frame.missing:
            return self.frame.missing[table]
        return None if table in self.frame.tables else "it was not read"
