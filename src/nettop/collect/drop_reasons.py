"""Dropped packets by reason and place: skb:kfree_skb.

include/net/dropreason-core.h. Kernels before 5.17 give no reason; a place that drops for one reason
alone stands for it then. Not every drop is a loss: the kernel also drops frames for other
hosts, late duplicates and answers without a receiver. The first reading loads a program into the
kernel (`bpf.drops`), so the table is read on request only, and needs root. Where the kernel refuses
the program, its drop monitor counts (`host.drop_monitor`): a `Partly` that says what it lacks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import unquote

from ..frame.fields import counter, gauge, label, light
from ..terms.dataclass import dataclass
from . import _counted
from ._table import Table

TABLE: Final = Table(every=0.9, counted="drops", absent=True, beside="snmp")

_HARDWARE: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
NO_REASON: Final = "NO_REASON"  # of a kernel that gives none


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One reason as the running kernel calls it, e.g. NO_SOCKET, SOCKET_RCVBUFF, at one place."""

    reason: str = label("kernel name of the drop reason; OTHER: what had no room in the table")
    place: str = label("function of the kernel that drops; empty: hidden or not recorded")
    where: str = label("network namespace: here, elsewhere or unknown")
    interface: str = label(
        "number of the interface that it came or was to leave by; empty: unknown"
    )
    protocol: str = label("tcp, udp, icmp, arp and others; a number if it has no name")
    port: str = label("port of this host; empty without one")
    packets: int = counter("packets dropped since nettop started to count", "packets")
    seconds: float = gauge("counted for", "s", default=0.0)
    # of one of these packets:
    source: str = gauge("its source address; empty: not known", default="")
    source_port: int = gauge("its source port", default=0)
    to: str = gauge("its destination address", default="")
    to_port: int = gauge("its destination port", default=0)
    hardware: str = gauge("hardware address that its frame is for; empty: not known", default="")
    sender: str = gauge("hardware address of who sent the frame here", default="")
    by: str = gauge(
        "BPF programs that may have dropped it, as NAME@GROUP, NAME@FAMILY/HOOK, NAME@tcx/HOOK, "
        "NAME@sk_lookup or NAME@xdp/NUMBER",
        default="",
    )


def parse(text: str) -> Sequence[Row]:
    """The rows of `bpf.drops` lines, or of `REASON COUNT` alone; ValueError for any other."""
    return _counted.rows(text, _row, "drop reasons")


def _row(line: str, seconds: float) -> Row:
    reason, number, *more = line.split(" ")
    reason, _, by = reason.partition(";")
    if not reason or len(more) not in {0, 5, 9, 11}:
        raise ValueError(f"not a reason with its count: {line[:60]!r}")
    place, where, *rest = [_counted.told(word) for word in more] or ["", "unknown", "", "", ""]
    interface, protocol, port, *ends = rest
    if reason in (NO_REASON, "NOT_SPECIFIED"):
        reason = _by_place().get(place, reason)
    packets = _counted.number(number)
    row = Row(reason, place, where, interface, protocol, port, packets, seconds, *_ends(*ends))
    return replace(row, by=unquote(by)) if by else row


def _ends(
    source: str = "", source_port: str = "", to: str = "", port: str = "", *frame: str
) -> tuple[Any, ...]:
    """Both ends of a packet; ValueError if they are not addresses and ports."""
    if not source:
        return ()
    numbers = (_counted.number(one) for one in (source_port, port))
    if not all(_HARDWARE.fullmatch(one) for one in frame):
        raise ValueError(f"not hardware addresses: {frame}"[:60])
    return str(ip_address(source)), next(numbers), str(ip_address(to)), next(numbers), *frame


def words(reason: str, place: str = "", to: str = "") -> _counted.Words:
    """What a reason means, at a place, for a kind of destination: `multicast` or `unicast`.

    One that is not in the table says its name.
    """
    known = _known()
    return (
        known.get((reason, place, to))
        or known.get((reason, place, ""))
        or known.get((reason, "", ""))
        or _counted.Words(
            means=f"Packets are dropped: {reason}",
            kind=_counted.UNKNOWN,
            cause="The place says which part of the kernel refuses them.",
            advice=f"The kernel describes {reason} in include/net/dropreason-core.h. "
            "`perf record -a -g -e skb:kfree_skb sleep 5` shows how the packets get there.",
            rests="include/net/dropreason-core.h",
        )
    )


def case(name: str, values: Mapping[str, object]) -> Mapping[str, Any]:
    """The words of a case that is seen, with these values in the place of their names."""
    return _counted.case("drop-cases.toml", name, values)


def decided(reason: str, place: str) -> tuple[str, ...]:
    """The places of `facts.way` that may decide it, by the table; empty: they are not walked."""
    found = _decided()
    return found.get((reason, place), found.get((reason, ""), ()))


def counted_by(reason: str, place: str, protocol: str) -> str:
    """The counter that a packet dropped so raises as well; empty: none does."""
    known = _counters()
    found = known.get((reason, place), known.get((reason, ""), {}))
    return found.get(protocol) or found.get("", "")


def raised(reason: str, place: str, protocol: str) -> tuple[str, ...]:
    """The counters of the host that rise with such packets, by which findings about both meet."""
    more = _raises().get((reason, place), _raises().get((reason, ""), {})).get(protocol, "")
    return tuple(filter(None, (counted_by(reason, place, protocol), more)))


def answered(reason: str, place: str) -> bool:
    """Whether the sender of a packet dropped so is told: it is refused, not lost."""
    return _answered().get((reason, place), _answered().get((reason, ""), False))


@cache
def refusals() -> frozenset[str]:
    """The counters of such packets."""
    found = (known.values() for one, known in _counters().items() if _answered()[one])
    return frozenset(name for names in found for name in names)


@cache
def _answered() -> Mapping[tuple[str, str], bool]:
    return {(one["name"], one.get("place", "")): "answered" in one for one in _places()}


def counters() -> frozenset[str]:
    """Every such counter."""
    return frozenset(name for found in _counters().values() for name in found.values())


@cache
def rules() -> frozenset[str]:
    """The rules that explain reasons."""
    return frozenset(words.rule for words in _known().values() if words.rule)


@cache
def _counters() -> Mapping[tuple[str, str], Mapping[str, str]]:
    """The counters by reason and place, each by protocol; empty: of every protocol."""
    found = {}
    for one in _places():
        known = one.get("counter", {})
        found[one["name"], one.get("place", "")] = {"": known} if isinstance(known, str) else known
    return found


@cache
def _raises() -> Mapping[tuple[str, str], Mapping[str, str]]:
    """The other counters by reason and place, each by protocol."""
    return {(one["name"], one.get("place", "")): one.get("raises", {}) for one in _places()}


@cache
def _decided() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """The places by reason and place."""
    return {(one["name"], one.get("place", "")): tuple(one.get("way", ())) for one in _places()}


@cache
def _by_place() -> Mapping[str, str]:
    """The reasons for which functions of the kernel drop, where there is only one."""
    return {place: one["name"] for one in _places() for place in one.get("places", ())}


def _places() -> Iterator[Mapping[str, Any]]:
    """The entries of any destination."""
    table = _counted.entries("drop-reasons.toml", "reason")
    return (one for one, _ in table if "to" not in one)


@cache
def _known() -> Mapping[tuple[str, str, str], _counted.Words]:
    """The words by reason, place and destination; of most reasons the place decides nothing."""
    table = _counted.entries("drop-reasons.toml", "reason")
    return {(one["name"], one.get("place", ""), one.get("to", "")): words for one, words in table}
