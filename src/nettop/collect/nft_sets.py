"""Elements of the sets and maps that rules of nf_tables look up: NFT_MSG_GETSETELEM.

An element is an interval of values, or one value. A set with intervals in a tree lists the first
value of each, and the first one behind it with NFT_SET_ELEM_INTERVAL_END
(net/netfilter/nft_set_rbtree.c). One of intervals of several fields is not read.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import codec, netfilter
from ..host.netlink.codec import Field
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import nftables
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, asked=True, optional=True)

MOST: Final = 64  # sets
_LOOKUP: Final[codec.Table] = {1: Field("set", "text")}
_VALUE: Final[codec.Table] = {
    1: Field("value", "raw"),
    2: Field("verdict", "nest", {1: Field("code", "raw"), 2: Field("chain", "text")}),
}
_ELEMENT: Final[codec.Table] = {
    1: Field("key", "nest", _VALUE), 2: Field("data", "nest", _VALUE), 3: Field("flags", "raw"),
    10: Field("last", "nest", _VALUE),
}  # fmt: skip
_ELEMENTS: Final[codec.Table] = {
    1: Field("table", "text"), 2: Field("set", "text"),
    3: Field("elements", "nest", {1: Field("list", "many", _ELEMENT)}),
}  # fmt: skip
_SET: Final[codec.Table] = {1: Field("table", "text"), 2: Field("set", "text"),
                            3: Field("flags", "raw")}  # fmt: skip
_INTERVAL, _CONCATENATED = 4, 128  # NFT_SET_INTERVAL, NFT_SET_CONCAT
_END, _ANY = 1, 2  # NFT_SET_ELEM_INTERVAL_END, NFT_SET_ELEM_CATCHALL

Element = tuple[str, str, str]
"""First and last value, hexadecimal, and what a map has for it: a value, or CODE:CHAIN."""


@dataclass(frozen=True, slots=True)
class Row:
    """One set."""

    family: str = label("inet ip ip6 bridge netdev arp")
    table: str = label("table")
    set: str = label("set")
    elements: tuple[Element, ...] = gauge("its elements")
    rest: str = gauge("what a map has for all other values", default="")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The sets that a rule looks up; none if nf_tables is not loaded. OSError."""
    if not netfilter.loaded(source):
        return []
    sets, rules = netfilter.sets(source), netfilter.ruleset(source)[1]
    found = parsed(memory, "nft_sets", (sets, rules), lambda both: tuple(looked_up(*both)))
    rows = (_row(source, memory, *place) for place in found[:MOST])
    return [row for row in rows if row is not None]


def _row(
    source: Source, memory: Memory, family: str, table: str, name: str, intervals: bool
) -> Row | None:
    try:
        reply = netfilter.elements(source, family, table, name)
    except FileNotFoundError:  # deleted meanwhile
        return None
    given = reply, intervals
    known = f"{family}/{table}/{name}"
    return parsed(memory, known, given, lambda it: parse(*it, family, table, name))


def looked_up(sets: bytes, rules: bytes) -> Iterator[tuple[str, str, str, bool]]:
    """The sets of the rules that can be read, and whether they have intervals."""
    flags = {
        (family, values.get("table"), values.get("set")):
        int.from_bytes(values.get("flags", b""), "big")
        for family, values in nftables.entries(sets, netfilter.NEWSET, _SET)
    }  # fmt: skip
    names: dict[tuple[str, str, str], None] = {}
    for family, values in nftables.entries(rules, netfilter.NEWRULE, netfilter.RULE):
        for one in values.get("expressions", {}).get("list", ()):
            if one.get("name") == "lookup":
                name = nftables.decoded(one, _LOOKUP).get("set", "")
                names[family, values.get("table", ""), name] = None
    for place in names:
        of = flags.get(place)
        if of is not None and not (of & _INTERVAL and of & _CONCATENATED):
            yield (*place, bool(of & _INTERVAL))


def parse(reply: bytes, intervals: bool, family: str, table: str, name: str) -> Row:
    """The row of an answer; ValueError if it is cut off."""
    found: list[tuple[str, bool, str]] = []
    rest = ""
    for _, values in nftables.entries(reply, netfilter.NEWSETELEM, _ELEMENTS):
        for one in values.get("elements", {}).get("list", ()):
            flags = int.from_bytes(one.get("flags", b""), "big")
            data = one.get("data", {})
            has = data.get("value", b"").hex()
            if "verdict" in data:
                code = int.from_bytes(data["verdict"].get("code", b""), "big", signed=True)
                has = f"{code}:{data['verdict'].get('chain', '')}"
            if flags & _ANY:
                rest = has
            elif "value" in one.get("key", {}):
                found.append((one["key"]["value"].hex(), not flags & _END, has))
    return Row(family, table, name, tuple(_bounds(sorted(found), intervals=intervals)), rest)


def _bounds(found: list[tuple[str, bool, str]], *, intervals: bool) -> Iterator[Element]:
    """The elements; where one interval ends, the next one may begin."""
    for at, (key, begins, has) in enumerate(found):
        if begins and intervals:
            after = found[at + 1][0] if at + 1 < len(found) else ""
            last = f"{int(after, 16) - 1:0{len(key)}x}" if after else "f" * len(key)
            yield key, last, has
        elif begins:
            yield key, key, has
