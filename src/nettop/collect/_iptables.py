"""Chains and rules of the older iptables, in the words of nf_tables.

struct ipt_entry and ip6t_entry: addresses, interfaces and protocol, then matches, then a target
(include/uapi/linux/netfilter/x_tables.h). A verdict is a jump to the place of a chain, or negative.
"""

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from ..host.netlink import netfilter, xtables
from ..host.netlink.codec import Request
from ..host.source import Source
from . import _xtables
from ._xtables import Words

HOOKS: Final = ("prerouting", "input", "forward", "output", "postrouting")
_PRIORITIES: Final = {"raw": -300, "mangle": -150, "filter": 0, "security": 50}
_NAT: Final = {"prerouting": -100, "output": -100, "input": 100, "postrouting": 100}
_ERROR: Final = "ERROR"  # the target of what begins a chain of the user, with its name
# verdicts of a standard target (XT_RETURN, and -NF_… - 1), and those of nf_tables
_VERDICTS: Final = {-1: "0:", -2: "1:", -5: "-5:"}
_QUEUED: Final = -4
_TARGET: Final = struct.Struct("=H29sB")  # of a match too: size, name, revision
_GOTO: Final = {"ip": 2, "ip6": 4}  # IPT_F_GOTO, IP6T_F_GOTO
_FRAGMENT: Final = 1  # IPT_F_FRAG
_COUNTERS: Final = 16  # bytes of struct xt_counters: packets and bytes
_DROPS: Final = ("0:",)


class _Form(NamedTuple):
    """Where an entry of a family has its parts."""

    address: int  # bytes
    source: int  # of the source address in the IP header
    protocol: int
    flags: int
    target: int  # target_offset, then next_offset
    counters: int
    size: int


_FORMS: Final = {
    "ip": _Form(4, 12, 80, 82, 88, 96, 112), "ip6": _Form(16, 8, 128, 131, 140, 152, 168),
}  # fmt: skip


class Rule(NamedTuple):
    """One rule; the last one of a chain of a hook is its policy."""

    family: str
    table: str
    chain: str
    number: int  # in its chain, from 1 on
    does: tuple[Words, ...]
    packets: int
    hook: str  # of its chain; empty: others lead to it
    policy: bool

    @property
    def drops(self) -> bool:
        """Whether it drops or rejects what it matches."""
        last = self.does[-1]
        return last == ("reject",) or (last[:1] == ("immediate",) and last[-1] in _DROPS)


Tables = tuple[tuple[str, str, bytes], ...]
"""Family, name and answer of each table."""


def answers(source: Source) -> tuple[bytes, bytes, Tables]:
    """Chains and rules of nf_tables, empty if it is not loaded, and the tables of iptables.

    OSError; also for tables that may not be read, unless nf_tables is in use too.
    """
    loaded = netfilter.loaded(source)
    chains, rules = netfilter.ruleset(source) if loaded else (b"", b"")
    try:
        return chains, rules, tuple(_tables(source))
    except PermissionError:
        if not loaded:
            raise
        return chains, rules, ()


def _tables(source: Source) -> Iterator[tuple[str, str, bytes]]:
    """Each table that is in use: a question about another one would create it. OSError."""
    for family in xtables.LEVELS:
        try:
            names = source.text(f"/proc/net/{family}_tables_names").split()
        except FileNotFoundError:  # the module is not loaded
            continue
        for name in sorted(names):
            known = f"xtables/{family}/{name}"
            request = Request(xtables.FAMILY, xtables.LEVELS[family][0], name.encode(), known)
            try:
                yield family, name, source.netlink(request)
            except FileNotFoundError:  # flushed and unloaded meanwhile
                continue


def required(source: Source) -> tuple[bytes, bytes, Tables]:
    """The same; FileNotFoundError if there is neither."""
    found = answers(source)
    if not found[2] and not netfilter.loaded(source):
        raise FileNotFoundError(2, "nf_tables is not loaded")
    return found


def rules(found: Tables) -> tuple[Rule, ...]:
    """Every rule and policy of the tables; ValueError if one is cut off."""
    return tuple(rule for one in found for rule in _rules(*one))


def priority(rule: Rule) -> int:
    """The priority of the hook of a rule's table."""
    return _NAT[rule.hook] if rule.table == "nat" else _PRIORITIES.get(rule.table, 0)


def _rules(family: str, table: str, raw: bytes) -> Iterator[Rule]:
    form, start = _FORMS[family], xtables.INFO.size
    if not raw:  # scrubbed
        return
    if len(raw) < start:
        raise ValueError("a table of iptables is cut off")
    _, valid, *places, _number, _size = xtables.INFO.unpack_from(raw)
    first, last = ({places[i + n]: HOOKS[i] for i in range(5) if valid >> i & 1} for n in (0, 5))
    entries = dict(_entries(raw[start:], form))
    chains, at_chain = _chains(entries, form, first)
    numbers: dict[str, int] = {}
    for at, entry in entries.items():
        name, begins = chains[at]
        if begins:
            continue
        numbers[name] = numbers.get(name, 0) + 1
        packets = struct.unpack_from("=Q", entry, form.counters)[0]
        hook = name.lower() if name.lower() in first.values() and name.isupper() else ""
        # counters change all the time, and what is compared does not
        still = entry[: form.counters] + bytes(_COUNTERS) + entry[form.counters + _COUNTERS :]
        does = (*_tested(family, still), *_done(family, entry, form, at_chain))
        yield Rule(family, table, name, numbers[name], does, packets, hook, at in last)


def _entries(raw: bytes, form: _Form) -> Iterator[tuple[int, bytes]]:
    """Each entry by its place."""
    at = 0
    while at < len(raw):
        if len(raw) - at < form.size:
            raise ValueError("an entry of iptables is cut off")
        _, size = struct.unpack_from("=HH", raw, at + form.target)
        if size < form.size or at + size > len(raw):
            raise ValueError("an entry of iptables has a wrong length")
        yield at, raw[at : at + size]
        at += size


def _chains(
    entries: dict[int, bytes], form: _Form, first: dict[int, str]
) -> tuple[dict[int, tuple[str, bool]], dict[int, str]]:
    """The chain of each entry, and whether it only begins it; the chain at each place."""
    found: dict[int, tuple[str, bool]] = {}
    places: dict[int, str] = {}
    name, begins = "", False
    for at, entry in entries.items():
        begins = False
        target, data = _target(entry, form)
        if at in first:
            name = first[at].upper()
        elif target == _ERROR:
            name, begins = data.partition(b"\0")[0].decode(errors="replace"), True
        if at in first or begins:
            # a jump leads to the first rule behind the head of a chain
            places[at + (len(entry) if begins else 0)] = name
        found[at] = name, begins
    return found, places


def _named(entry: bytes, at: int) -> tuple[int, str, int, bytes]:
    """Size, name, revision and data of a match or target."""
    size, name, revision = _TARGET.unpack_from(entry, at)
    text = name.partition(b"\0")[0].decode(errors="replace")
    return size, text, revision, entry[at + _TARGET.size : at + size]


def _target(entry: bytes, form: _Form) -> tuple[str, bytes]:
    at, _ = struct.unpack_from("=HH", entry, form.target)
    _, name, _, data = _named(entry, at)
    return name, data


@lru_cache(maxsize=1 << 15)  # a node of a cluster has some ten thousand rules
def _tested(family: str, entry: bytes) -> tuple[Words, ...]:
    """What is compared before the verdict; the entry is without its counters."""
    return tuple(_compared(family, entry, _FORMS[family]))


def _compared(family: str, entry: bytes, form: _Form) -> Iterator[Words]:
    size, six = form.address, family == "ip6"
    flags, inverted = entry[form.flags], entry[form.flags + 1]
    for part, bit in ((0, 0x08), (1, 0x10)):  # IPT_INV_SRCIP, IPT_INV_DSTIP
        value, mask = (entry[at : at + size] for at in (part * size, (part + 2) * size))
        if any(mask):
            yield ("payload", 1, 1, form.source + part * size, size)
            yield ("bitwise", 1, 1, mask.hex(), "00" * size)
            yield ("cmp", 1, int(bool(inverted & bit)), value.hex())
    for part, bit in ((0, 0x01), (1, 0x02)):  # IPT_INV_VIA_IN, IPT_INV_VIA_OUT
        at = 4 * size + 16 * part
        length = len(entry[at + 32 : at + 48].rstrip(b"\0"))
        if length:
            yield ("meta", 6 + part, 1)
            yield ("cmp", 1, int(bool(inverted & bit)), entry[at : at + length].hex())
    (protocol,) = struct.unpack_from("=H", entry, form.protocol)
    if protocol:
        yield ("meta", 16, 1)
        yield ("cmp", 1, int(bool(inverted & 0x40)), f"{protocol:02x}")  # XT_INV_PROTO
    if flags & _FRAGMENT and not six:
        yield ("match", "fragment")
    at, end = form.size, struct.unpack_from("=H", entry, form.target)[0]
    while at < end:
        length, name, revision, data = _named(entry, at)
        if length < _TARGET.size:
            raise ValueError("a match of iptables has a wrong length")
        yield from _xtables.words("match", name, revision, data, six=six)
        at += length
    yield ("counter",)


def _done(
    family: str, entry: bytes, form: _Form, chains: dict[int, str]
) -> tuple[Words, ...]:  # fmt: skip
    """What the target does."""
    at, _ = struct.unpack_from("=HH", entry, form.target)
    _, name, revision, data = _named(entry, at)
    if name:
        return _xtables.words("target", name, revision, data, six=family == "ip6")
    (verdict,) = struct.unpack_from("=i", data)
    if verdict == _QUEUED:
        return (("queue", 0, 1, 0),)
    if verdict >= 0:
        code = -4 if entry[form.flags] & _GOTO[family] else -3
        to = chains.get(verdict)
        # a rule without a target leads to the next one
        return (("immediate", 0, f"{code}:{to}"),) if to is not None else (("log",),)
    return (("immediate", 0, _VERDICTS.get(verdict, "-5:")),)
