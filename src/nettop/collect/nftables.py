"""Rules and policies of nf_tables that drop packets: NFT_MSG_GETRULE, NFT_MSG_GETCHAIN.

A rule counts what it drops if `counter` comes after its matches and only the verdict follows
(net/netfilter/nf_tables_core.c, nft_do_chain()). A policy counts if its base chain has counters.
Rules of iptables-nft always count, as do those of the older iptables (`_iptables`). A rule or
policy that drops without a counter has no number of packets. A rule with a verdict map (`ip saddr
vmap @names`) drops what an element of the map says. A rule that jumps to a chain which drops all
and counts nothing itself is what drops (`counter jump handle_reject` of OpenWrt).
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ..frame.fields import counter, gauge, label
from ..host.netlink import codec, netfilter
from ..host.netlink.codec import Attributes, Field, decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _iptables, _xtables
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, optional=True)

_HOOKS: Final = ("prerouting", "input", "forward", "output", "postrouting", "ingress")
_OF_NETDEV: Final = ("ingress", "egress")  # NF_NETDEV_INGRESS, NF_NETDEV_EGRESS
_OF_ARP: Final = ("input", "output", "forward")  # NF_ARP_IN, NF_ARP_OUT, NF_ARP_FORWARD
DROP: Final = b"\0\0\0\0"  # NFDROP
INVALID: Final = "ct state invalid"  # as a test of a rule is told
_STATES: Final = {1: "invalid", 2: "established", 4: "related", 8: "new", 64: "untracked"}
QUOTA: Final[codec.Table] = {
    1: Field("bytes", "raw"), 2: Field("flags", "raw"), 4: Field("consumed", "raw"),
}  # fmt: skip
LIMIT: Final[codec.Table] = {  # NFTA_LIMIT_*; kind 1: a rate of bytes; flag 1: what exceeds it
    1: Field("rate", "raw"), 2: Field("unit", "raw"), 3: Field("burst", "raw"),
    4: Field("kind", "raw"), 5: Field("flags", "raw"),
}  # fmt: skip
_EACH: Final = {1: "second", 60: "minute", 3600: "hour", 86_400: "day", 604_800: "week"}
OBJECT: Final[codec.Table] = {1: Field("type", "raw"), 2: Field("name", "text")}
_OBJECTS: Final = {2: "quota", 4: "limit", 5: "ct count"}  # NFT_OBJECT_*: those that a rule tests
_EXPRESSION: Final[codec.Table] = {1: Field("name", "text"), 2: Field("data", "raw")}
DYNSET: Final[codec.Table] = {  # what limits or counts each element of a set: one, or several
    7: Field("each", "nest", _EXPRESSION),
    10: Field("every", "nest", {1: Field("list", "many", _EXPRESSION)}),
}  # fmt: skip
_DATA: Final[codec.Table] = {1: Field("value", "raw")}
_TESTED: Final[dict[str, codec.Table]] = {
    "cmp": {2: Field("op", "raw"), 3: Field("data", "nest", _DATA)},
    "exthdr": {2: Field("type", "raw")},
    "ct": {2: Field("key", "raw")},
    "bitwise": {4: Field("mask", "nest", _DATA)},
    "connlimit": {1: Field("count", "raw"), 2: Field("flags", "raw")},
    "quota": QUOTA,
    "limit": LIMIT,
    "objref": OBJECT,
    "payload": {2: Field("base", "raw"), 3: Field("offset", "raw"), 4: Field("length", "raw")},
    "meta": {2: Field("key", "raw")},
}
_META: Final = {3: "meta mark", 10: "meta skuid"}  # NFT_META_*: in the byte order of the host
# of a payload: base (network or transport header), offset and length
_FIELDS: Final[Mapping[tuple[int | None, ...], str]] = {
    (1, 12, 4): "ip saddr", (1, 16, 4): "ip daddr", (1, 8, 16): "ip6 saddr",
    (1, 24, 16): "ip6 daddr", (2, 0, 2): "sport", (2, 2, 2): "dport",
}  # fmt: skip
_PARTS: Final[Mapping[tuple[int | None, ...], str]] = {  # which packets of a flow it takes
    (1, 2, 2): "ip length", (1, 6, 2): "ip frag-off", (2, 13, 1): "tcp flags",
}  # fmt: skip
_OFFSET: Final = "ip frag-off"
_ARP: Final[Mapping[tuple[int | None, ...], str]] = {(1, 6, 2): "arp operation"}
_FRAGMENT: Final = 44  # the header of a fragment of IPv6
SIGNS: Final = ("", "!= ", "< ", "<= ", "> ", ">= ")  # NFT_CMP_*
_UNNAMED: Final = "__set"  # a set that nft made of a list in the rule
_LOOKUP: Final = {1: Field("set", "text"), 3: Field("to", "raw"), 5: Field("flags", "raw")}
# NFTA_MATCH_* and NFTA_TARGET_*: of iptables
OLD: Final[codec.Table] = {
    1: Field("name", "text"), 2: Field("revision", "raw"), 3: Field("info", "raw"),
}  # fmt: skip
_AFTER: Final = {"log", "reject"}  # what may come between a counter and its verdict


_Place: TypeAlias = tuple[str, str, str]  # family, table and name of a chain


@dataclass(frozen=True, slots=True)
class Row:
    """One rule or policy that drops or rejects."""

    family: str = label("inet ip ip6 bridge netdev arp, iptables or ip6tables for the older ones")
    table: str = label("table")
    chain: str = label("chain")
    rule: str = label("handle (nft -a list ruleset), number in the chain of iptables, or policy")
    hook: str = gauge("hook of its chain; empty: another chain jumps to it", default="")
    limited: bool = gauge("drops what exceeds a limit", default=False)
    packets: int | None = counter(
        "packets dropped; unknown: it does not count them", "packets", default=None
    )
    tests: str = gauge(
        "what it tests of connections, their state or number, sets, fragments and its quota",
        default="",
    )
    maps: bool = gauge("a verdict map decides, so it may drop", default=False)
    rejects: bool = gauge("it answers by ICMP or a reset", default=False)

    @property
    def name(self) -> str:
        """Family, table, chain and handle, e.g. inet/filter/input/7."""
        return f"{self.family}/{self.table}/{self.chain}/{self.rule}"

    @property
    def told(self) -> str:
        """The name with what the rule tests, e.g. inet/filter/input/7 (ct state invalid)."""
        return f"{self.name} ({self.tests})" if self.tests else self.name

    @property
    def shown(self) -> str:
        """The command that shows it: nft does not show the rules of the older iptables."""
        if self.family in ("iptables", "ip6tables"):
            return f"{self.family}-legacy -t {self.table} -nvL {self.chain} --line-numbers"
        return f"nft -a list chain {self.family} {self.table} {self.chain}"


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every rule and policy that drops. OSError, also if no packet filter is in use."""
    given = _iptables.required(source)
    return parsed(memory, "nftables", given, lambda it: [*parse(*it[:2]), *old(it[2])])


def old(tables: _iptables.Tables) -> list[Row]:
    """The rules and policies of the older iptables that drop, all of which count."""
    return [
        Row(f"{one.family}tables", one.table, one.chain, "policy" if one.policy else
            str(one.number), one.hook, packets=one.packets, rejects=one.does[-1] == ("reject",),
            tests=_of_old(one.does))
        for one in _iptables.rules(tables) if one.drops
    ]  # fmt: skip


def parse(chains: bytes, rules: bytes) -> list[Row]:
    """The rows of both answers; ValueError if one is cut off."""
    known = hooks(chains)
    rows = []
    for family, values in entries(chains, netfilter.NEWCHAIN, netfilter.CHAIN):
        place = family, values.get("table", ""), values.get("name", "")
        packets = _number(values.get("counters", {}).get("packets"))
        if place in known and values.get("policy") == DROP:
            rows.append(Row(*place, "policy", known[place], packets=packets))
    listed = list(entries(rules, netfilter.NEWRULE, netfilter.RULE))
    ends = _ends(listed, known)
    for family, values in listed:
        expressions = _expressions(values)
        place = family, values.get("table", ""), values.get("chain", "")
        rejects = ends.get((*place[:2], _called(expressions)))
        found, maps = dropped(expressions, jumps=rejects is not None), mapped(expressions)
        if place not in ends and (found is not None or maps):
            packets, limited = found or (None, False)
            handle = str(_number(values.get("handle")) or 0)
            hook = known.get(place, "")
            tests = ", ".join(filter(None, (tested(expressions, family), maps)))
            rejects = rejects or any(one.get("name") == "reject" for one in expressions)
            rows.append(Row(*place, handle, hook, limited, packets, tests, found is None, rejects))
    return rows


def _ends(
    rules: Sequence[tuple[str, Attributes]], known: Mapping[_Place, str]
) -> dict[_Place, bool]:
    """The chains without a hook that drop all and count nothing, and whether they reject.

    Only those of which each jump to them counts: of these it is known what they drop.
    """
    chains: dict[_Place, list[Sequence[Attributes]]] = {}
    jumps: dict[_Place, list[Sequence[Attributes]]] = {}
    for family, values in rules:
        table, expressions = values.get("table", ""), _expressions(values)
        chains.setdefault((family, table, values.get("chain", "")), []).append(expressions)
        jumps.setdefault((family, table, _called(expressions)), []).append(expressions)
    found = {}
    for place, each in chains.items():
        every = all(dropped(one) == (None, False) for one in each)
        whole = all(one.get("name") in {"immediate", *_AFTER} for one in each[-1])
        told = [(dropped(one, jumps=True) or (None,))[0] for one in jumps.get(place, ())]
        if place not in known and every and whole and told and None not in told:
            found[place] = any(one.get("name") == "reject" for rule in each for one in rule)
    return found


def _expressions(values: Attributes) -> Sequence[Attributes]:
    """The expressions of a rule, with the limits of each element of a set (`add @set { … }`).

    Such a limit that is not exceeded ends the rule, as one of the rule itself does
    (net/netfilter/nft_dynset.c, nft_dynset_eval()); a counter there counts an element.
    """
    found = []
    for one in values.get("expressions", {}).get("list", ()):
        found.append(one)
        found += filter(lambda inner: inner.get("name") != "counter", elements(one))
    return found


def elements(expression: Attributes) -> Sequence[Attributes]:
    """What limits or counts each element of a set."""
    inner = decoded(expression, DYNSET) if expression.get("name") == "dynset" else {}
    return [inner["each"]] if "each" in inner else inner.get("every", {}).get("list", ())


def _called(expressions: Sequence[Attributes]) -> str:
    """The chain to which a rule jumps; empty: none."""
    return next((name for one in expressions if (name := _verdict(one).get("chain"))), "")


def _verdict(expression: Attributes) -> Attributes:
    """The verdict of an expression; empty: it is none."""
    if expression.get("name") != "immediate":
        return {}
    found: Attributes = decoded(expression, netfilter.IMMEDIATE).get("data", {}).get("verdict", {})
    return found


def hooks(chains: bytes) -> dict[tuple[str, str, str], str]:
    """The hook of each base chain, by family, table and name; ValueError for a cut answer."""
    found = {}
    for family, values in entries(chains, netfilter.NEWCHAIN, netfilter.CHAIN):
        if "hook" in values:
            number = _number(values["hook"].get("number")) or 0
            names = {"netdev": _OF_NETDEV, "arp": _OF_ARP}.get(family, _HOOKS)
            place = family, values.get("table", ""), values.get("name", "")
            found[place] = names[number] if number < len(names) else family
    return found


def dropped(
    expressions: Sequence[Attributes], *, jumps: bool = False
) -> tuple[int | None, bool] | None:
    """Packets that a rule dropped, and whether it limits a rate; None: it drops nothing.

    `jumps`: it drops what it sends to another chain. The packets are None if it does not count what
    it drops.
    In `limit rate over 100/second counter drop` the expressions are limit, counter, immediate.
    """
    packets, limited, ends = None, False, False
    for one in expressions:
        name, data = one.get("name", ""), one.get("data", b"")
        limited = limited or name in {"limit", "connlimit"}
        if name == "counter":
            packets = _number(decode(data, 0, len(data), netfilter.COUNTER).get("packets"))
        elif name == "immediate":
            verdict = _verdict(one)
            ends = verdict.get("code") == DROP or (jumps and "chain" in verdict)
        elif name not in _AFTER:
            packets = None  # a match follows: not all that was counted is dropped
        old = decoded(one, OLD).get("name") if name == "target" else ""
        ends = ends or "reject" in (name, str(old).lower())
    return (packets, limited) if ends else None


def mapped(expressions: Sequence[Attributes]) -> str:
    """The verdict map of a rule, in words; empty without one.

    Its lookup stores the verdict in register 0 (net/netfilter/nft_lookup.c, NFT_REG_VERDICT). The
    elements are not read.
    """
    for one in expressions:
        values = decoded(one, _LOOKUP) if one.get("name", "") == "lookup" else {}
        if "to" in values and not any(values["to"]):
            return f"vmap @{values.get('set', '')}: an element may drop"
    return ""


def tested(expressions: Sequence[Attributes], family: str) -> str:
    """What a rule tests of tracking, sets, marks, quotas and fragments: `ct state invalid`.

    nft writes a state as ct, bitwise with the states as mask, and cmp (net/netfilter/nft_ct.c); a
    number of connections is connlimit (net/netfilter/nft_connlimit.c). A quota that is used up
    stays so (net/netfilter/nft_quota.c).
    """
    found: list[str] = []
    state, field, part = False, "", ""
    for one in expressions:
        name = one.get("name", "")
        values = decoded(one, _TESTED[name]) if name in _TESTED else {}
        part = part if name in ("bitwise", "cmp") else ""
        if name == "ct":
            state = _number(values.get("key")) == 0
        elif name == "bitwise" and state:
            found += filter(None, [_states(values.get("mask", {}).get("value", b""))])
        elif name == "match":
            old = decoded(one, OLD)
            kind, revision = old.get("name", ""), _number(old.get("revision")) or 0
            words = _xtables.words(name, kind, revision, old.get("info", b""), six=False)
            found += filter(None, [_of_old(words)])
        elif name == "bitwise" and part:
            part += f" & 0x{_ordered(values.get('mask', {}).get('value', b''), part).hex()}"
        elif name == "payload":
            place = tuple(_number(values.get(key)) for key in ("base", "offset", "length"))
            fields, parts = (_ARP, _ARP) if family == "arp" else (_FIELDS, _PARTS)
            field, part = fields.get(place, ""), parts.get(place, "")
        elif name == "meta":
            part = _META.get(_number(values.get("key")) or 0, "")
        elif name == "cmp" and part and "op" in values:
            sign = SIGNS[min(_number(values["op"]) or 0, len(SIGNS) - 1)]
            value = _number(_ordered(values.get("data", {}).get("value", b""), part)) or 0
            means = ": fragments" if part.startswith(_OFFSET) and sign == "!= " else ""
            found.append(f"{part} {sign}{value}{means}")
        elif name == "exthdr" and _number(values.get("type")) == _FRAGMENT:
            found.append("exthdr frag: fragments")
        elif name == "lookup":
            found += filter(None, [_listed(decoded(one, _LOOKUP), field)])
        else:
            found += filter(None, [_counted(name, values)])
    return ", ".join(found)


def _ordered(raw: bytes, part: str) -> bytes:
    """A value in network byte order."""
    return raw[::-1] if part.startswith("meta") and sys.byteorder == "little" else raw


def states(mask: bytes) -> str:
    """The states of connections whose bits a mask has; empty: none."""
    bits = int.from_bytes(mask, sys.byteorder)
    return ",".join(word for bit, word in _STATES.items() if bits & bit)


def _states(mask: bytes) -> str:
    return f"ct state {named}" if (named := states(mask)) else ""


def _of_old(does: Sequence[_xtables.Words]) -> str:
    """What a rule of iptables tests: states, unless all but some, and matches that have a name."""
    found = []
    for name, *values in does:
        if name == "bitwise" and ("ct", 0, 1) in does and ("cmp", 1, 1, values[-1]) in does:
            found.append(_states(bytes.fromhex(str(values[2]))))
        if name == "match":
            found.append({"fragment": "fragments"}.get(str(values[0]), str(values[0])))
    return ", ".join(filter(None, found))


def _counted(name: str, values: Attributes) -> str:
    """What a rule tests of numbers, rates and amounts; empty: nothing."""
    number = {key: _number(raw) or 0 for key, raw in values.items() if isinstance(raw, bytes)}
    over = "over " * (number.get("flags", 0) & 1)
    if name == "connlimit" and "count" in values:
        return f"ct count {over}{number['count']}"
    if name == "objref" and (kind := _OBJECTS.get(number.get("type", 0))):
        return f"the {kind} object {values.get('name', '')}"
    if name == "limit" and len(number) == len(LIMIT):
        return f"limit rate {over}{limit(*(number[of.name] for of in [*LIMIT.values()][:-1]))}"
    if name == "quota" and "bytes" in values:
        spent = ": used up" * (number.get("consumed", 0) >= number["bytes"])
        return f"quota {over}{number['bytes']} bytes{spent}"
    return ""


def limit(rate: int, unit: int, burst: int, kind: int = 0) -> str:
    """The rate of a limit as nft writes it: `25/second burst 10 packets`."""
    of = "bytes" if kind else "packets"
    return f"{rate}{' bytes' * kind}/{_EACH.get(unit, f'{unit} s')} burst {burst} {of}"


def _listed(values: Attributes, field: str) -> str:
    """The set in which a rule looks up a field; empty for a list of the rule, and for a map."""
    name = values.get("set", "")
    if not name or "to" in values or name.startswith(_UNNAMED):
        return ""
    other = "!= " if _number(values.get("flags")) else ""
    return f"{field or 'a value'} {other}@{name}"


def decoded(expression: Attributes, table: codec.Table) -> Attributes:
    """The attributes of an expression; none of one that is damaged: a scrubbed one has zeros."""
    data = expression.get("data", b"")
    try:
        return decode(data, 0, len(data), table)
    except ValueError:
        return {}


def entries(reply: bytes, wanted: int, table: codec.Table) -> Iterator[tuple[str, Attributes]]:
    """Family and attributes of each message of the kind `wanted`; ValueError if one is cut off."""
    for start, end in of_kind(reply, wanted, netfilter.HEAD, "an answer of nf_tables"):
        family = netfilter.FAMILIES.get(reply[start], str(reply[start]))
        yield family, decode(reply, start + netfilter.HEAD, end, table)


def _number(raw: bytes | None) -> int | None:
    """A number in network byte order."""
    return None if raw is None else int.from_bytes(raw, "big")
