"""Rules of the packet filter as expressions, for the way of one packet: NFT_MSG_GETRULE.

An expression is a tuple of words: its name and what `facts.way` evaluates of it
(include/uapi/linux/netfilter/nf_tables.h). One that is not listed here has its name only. Those of
iptables are in `_xtables`, the tables of the older one in `_iptables`.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import codec, netfilter
from ..host.netlink.codec import Attributes, Field, decode
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _iptables, _xtables, nftables
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, asked=True, optional=True)

Words = _xtables.Words
_VALUE: Final = {1: Field("value", "raw")}
_VERDICT: Final = {
    2: Field("verdict", "nest", {1: Field("code", "raw"), 2: Field("chain", "text")})
}
_RAW: Final = "raw"
# the attributes of an expression, in the order of its words
_KNOWN: Final[dict[str, codec.Table]] = {
    "meta": {2: Field("key", _RAW), 1: Field("register", _RAW)},
    "ct": {2: Field("key", _RAW), 1: Field("register", _RAW)},
    "payload": {1: Field("register", _RAW), 2: Field("base", _RAW), 3: Field("offset", _RAW),
                4: Field("length", _RAW)},
    "cmp": {1: Field("register", _RAW), 2: Field("operator", _RAW),
            3: Field("data", "nest", _VALUE)},
    "bitwise": {1: Field("from", _RAW), 2: Field("register", _RAW),
                4: Field("mask", "nest", _VALUE), 5: Field("xor", "nest", _VALUE)},
    "immediate": {1: Field("register", _RAW), 2: Field("data", "nest", {**_VALUE, **_VERDICT})},
    "range": {1: Field("register", _RAW), 2: Field("operator", _RAW),
              3: Field("from", "nest", _VALUE), 4: Field("to", "nest", _VALUE)},
    "lookup": {1: Field("set", "text"), 2: Field("register", _RAW), 3: Field("to", _RAW),
               5: Field("flags", _RAW)},
    "queue": {1: Field("number", _RAW), 2: Field("many", _RAW), 3: Field("flags", _RAW)},
    "nat": {1: Field("kind", _RAW), 3: Field("address", _RAW), 5: Field("port", _RAW)},
    "redir": {1: Field("port", _RAW)},
    "fib": {1: Field("register", _RAW), 2: Field("result", _RAW), 3: Field("flags", _RAW)},
    "quota": nftables.QUOTA,
    "limit": nftables.LIMIT,
    "dynset": nftables.DYNSET,
    "objref": nftables.OBJECT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One rule."""

    family: str = label("inet ip ip6 bridge netdev arp")
    table: str = label("table")
    chain: str = label("chain")
    handle: int = label("handle (nft -a list ruleset), or number in a chain of the older iptables")
    does: tuple[tuple[str | int, ...], ...] = gauge("its expressions")
    old: bool = gauge("of the older iptables (xtables), which nft does not show", default=False)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every rule in order; none if neither is in use. OSError."""
    _, rules, tables = _iptables.answers(source)
    return parsed(memory, "nft_rules", (rules, tables), lambda it: [*parse(it[0]), *old(it[1])])


def old(tables: _iptables.Tables) -> list[Row]:
    """The rules of the older iptables."""
    return [
        Row(one.family, one.table, one.chain, one.number, one.does, old=True)
        for one in _iptables.rules(tables) if not one.policy
    ]  # fmt: skip


def parse(reply: bytes) -> list[Row]:
    """The rows of an answer; ValueError if it is cut off."""
    return [
        Row(
            family, values.get("table", ""), values.get("chain", ""),
            int.from_bytes(values.get("handle", b""), "big"),
            tuple(
                words for one in values.get("expressions", {}).get("list", ())
                for words in _words(one, six=family == "ip6")
            ),
        )
        for family, values in nftables.entries(reply, netfilter.NEWRULE, netfilter.RULE)
    ]  # fmt: skip


def _words(expression: Attributes, *, six: bool) -> tuple[Words, ...]:
    """Name and values; the name alone where they are not understood."""
    name, data = expression.get("name", ""), expression.get("data", b"")
    known = nftables.OLD if name in ("match", "target") else _KNOWN.get(name)
    if known is None:
        return ((name,),)
    try:
        values = decode(data, 0, len(data), known)
        if known is nftables.OLD:
            revision = int.from_bytes(values.get("revision", b""), "big")
            return _xtables.words(name, values["name"], revision, values.get("info", b""), six=six)
        if name == "dynset":  # what limits each element of a set
            inner = nftables.elements(expression)
            return (("dynset",), *(words for one in inner for words in _words(one, six=six)))
        words = [_word(values[field.name]) for field in known.values() if field.name in values]
    except (KeyError, ValueError):  # a scrubbed recording has zeros
        return ((name, "?"),)
    return ((name, *words),)


def _word(value: bytes | str | Attributes) -> str | int:
    """A number, the hexadecimal bytes of a value, or a verdict as CODE:CHAIN."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return int.from_bytes(value, "big")
    if "verdict" in value:
        code = int.from_bytes(value["verdict"].get("code", b""), "big", signed=True)
        return f"{code}:{value['verdict'].get('chain', '')}"
    if "value" not in value:
        raise ValueError("no value")
    return str(value["value"].hex())
