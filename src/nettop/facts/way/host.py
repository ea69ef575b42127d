"""The tables of a frame as a walk looks them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from ...collect.addresses import Row as AddressRow
from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.fib import Row as FibRow
from ...collect.interface_sysctls import Row as SwitchRow
from ...collect.links import Row as LinkRow
from ...collect.neighbour_states import Row as NeighbourRow
from ...collect.routing_rules import Row as RuleRow
from ...collect.udp_bound import Row as BoundRow
from ...collect.ways import Question
from ...collect.ways import Row as AnswerRow
from ...frame.rates import Frame
from ...terms.dataclass import dataclass

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

    def unread(self, table: str) -> str | None:
        """Why a table is not known; None if it was read."""
        if table in self.frame.missing:
            return self.frame.missing[table]
        return None if table in self.frame.tables else "it was not read"
