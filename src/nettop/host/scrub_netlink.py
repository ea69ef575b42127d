"""Remove the identity of a host from binary answers of rtnetlink, sock_diag, nf_tables and xfrm.

Addresses are replaced in all attributes, nested ones included. Names given by users, keys, and the
attributes of kinds of interfaces that are not listed here are overwritten with zeros.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping
from socket import AF_INET
from typing import Final

from .netlink import xfrm
from .netlink.codec import attributes
from .pseudonyms import Names

Rule = Callable[[bytes, Names], bytes]
Rules = Mapping[int, Rule]


def _address(value: bytes, names: Names) -> bytes:
    """An IP address, a bridge's identifier (priority and MAC address), or a hardware address."""
    if len(value) in {4, 16}:
        return names.address(value)
    return value[:2] + names.mac(value[2:]) if len(value) == 8 else names.mac(value)


def _via(value: bytes, names: Names) -> bytes:
    """An address behind its family (struct rtvia)."""
    return value[:2] + _address(value[2:], names)


def _blank(value: bytes, _names: Names) -> bytes:
    """Zeros of equal length, for text of users, keys, and attributes not known to be harmless."""
    return bytes(len(value))


def _inside(rules: Rules) -> Rule:
    return lambda value, names: _replaced(value, rules, names)


def _hops(value: bytes, names: Names) -> bytes:
    """The next hops of a multipath route: each is a struct rtnexthop followed by attributes."""
    made, at = bytearray(value), 0
    while at < len(value):
        length = int.from_bytes(value[at : at + 2], sys.byteorder)
        if not 8 <= length <= len(value) - at:
            return bytes(len(value))
        made[at + 8 : at + length] = _replaced(value[at + 8 : at + length], _HOP, names)
        at += (length + 3) & ~3
    return bytes(made)


def _info(value: bytes, names: Names) -> bytes:
    """The attributes of one kind of interface; those of a kind that is not listed are zeroed."""
    kinds = {
        number: value[start:end].rstrip(b"\0").decode("ascii", "replace")
        for number, start, end in attributes(value, 0, len(value))
    }
    rules: dict[int, Rule] = {3: _blank}
    for data, kind, known in ((2, 1, _KINDS), (5, 4, _PORTS)):
        inner = known.get(kinds.get(kind, ""))
        rules[data] = _blank if inner is None else _inside(inner)
    return _replaced(value, rules, names)


def _each(numbers: str) -> dict[int, Rule]:
    return {int(number): _address for number in numbers.split()}


# numbers: include/uapi/linux/{if_link,if_tunnel,rtnetlink,inet_diag}.h
_HOP: Final[Rules] = {5: _address, 18: _via, 22: _blank}  # gateway, via, encapsulation
_MANY: Final[Rules] = dict.fromkeys(range(32), _address)
_KINDS: Final[Mapping[str, Rules]] = {
    **{kind: {} for kind in "vlan veth dummy ifb tun vrf ipvlan ipvtap ipoib xfrm".split()},
    "vxlan": _each("2 4 16 17"),
    "geneve": _each("2 7"),
    **dict.fromkeys("gre gretap erspan ip6gre ip6gretap ip6erspan".split(), _each("6 7")),
    **dict.fromkeys("ipip sit ip6tnl".split(), _each("2 3 11 12")),
    **dict.fromkeys("vti vti6".split(), _each("4 5")),
    "bridge": _each("10 11 20"),
    "bond": _each("26") | {8: _inside(_MANY), 31: _inside(_MANY), 23: _inside(_each("5"))},
    **dict.fromkeys(("macvlan", "macvtap"), _each("4") | {5: _inside(_each("4"))}),
}
_PORTS: Final[Mapping[str, Rules]] = {"bridge": _each("13 14"), "bond": _each("4"), "vrf": {}}
# by message type, RTM_NEWLINK, NEWADDR, NEWROUTE, NEWNEIGH, NEWRULE: the length of the head, and
# the attributes
_MESSAGES: Final[Mapping[int, tuple[int, Rules]]] = {
    16: (
        16,
        _each("1 2 34 36 54")
        | {18: _info, 20: _blank, 22: _blank, 24: _blank, 25: _blank}
        | {26: _inside({10: _inside(_each("7"))})},
    ),
    20: (8, _each("1 2 4 5 7")),
    24: (12, _each("1 2 7") | {**_HOP, 9: _hops}),
    28: (12, _each("1 2")),
    32: (12, _each("1 2")),
}
_VERDICT: Final[Rules] = {1: _blank, 2: _inside({2: _blank})}  # a value; the chain of a jump


def _expressions(value: bytes, names: Names) -> bytes:
    """The expressions of a rule: counters, verdicts, what sets the MSS stay; others are zeros."""
    return _replaced(value, {1: _expression}, names)


def _expression(value: bytes, names: Names) -> bytes:
    kinds = {
        number: value[start:end].rstrip(b"\0")
        for number, start, end in attributes(value, 0, len(value))
    }
    rules = {
        b"counter": {},
        b"exthdr": {},  # numbers only: which header or option, and the registers
        b"immediate": {2: _inside({2: _inside(_VERDICT)})},
        b"target": {2: _inside({3: _blank})},  # the name of the target stays, such as TCPMSS
    }
    return _replaced(value, rules.get(kinds.get(1, b""), {2: _blank}), names)


def _word(value: bytes, names: Names) -> bytes:
    """A name that a user gave: letters of equal length, the same ones each time."""
    text = value.rstrip(b"\0")
    return names.word(text) + bytes(len(value) - len(text))


# NFT_MSG_NEWCHAIN, NEWRULE, NEWSET, NEWSETELEM: include/uapi/linux/netfilter/nf_tables.h
_NETFILTER: Final = {
    0xA03: (4, {1: _word, 3: _word, 12: _blank}),
    0xA06: (4, {1: _word, 2: _word, 4: _expressions, 5: _blank, 7: _blank}),
    0xA09: (4, {1: _word, 2: _word, 13: _blank}),
    0xA0C: (4, {1: _word, 2: _word, 3: _blank}),
}
_DIAG: Final[Rules] = {12: _blank, 13: _blank, 18: _blank}  # SCTP's addresses, keys of TCP MD5
_SOCK_DIAG = (18, 20)  # both families in one answer, and one


# RTM_NEWROUTE, RTM_NEWRULE: their headers have the prefix lengths of destination and source, the
# attributes 1 and 2, behind the family (struct rtmsg, struct fib_rule_hdr)
_NETWORKS: Final = (24, 32)


def _network(length: int) -> Rule:
    return lambda value, names: names.network(value, length)


def scrubbed(name: str, answer: bytes, names: Names) -> bytes:
    """The scrubbed answer to the request of this name; its length is unchanged."""
    if name.startswith("netlink/xtables/"):  # addresses of every kind, in structures of many
        return b""
    data = bytearray(answer)
    diag = name.startswith("netlink/sock_diag/")
    messages = _NETFILTER if name.startswith("netlink/netfilter/") else _MESSAGES
    known = "netlink/route/", "netlink/xfrm/"
    if not diag and messages is _MESSAGES and not name.startswith(known):
        return answer
    offset = 0
    while offset + 16 <= len(data):
        length, kind = struct.unpack_from("=IH", data, offset)
        end = min(offset + length, len(data))
        if length < 16:
            break
        if name.startswith("netlink/xfrm/"):
            _policies(data, offset + 16, end, names)
        elif diag and kind in _SOCK_DIAG:
            _diag(data, offset + 16, end, names)
        elif not diag and kind in messages:
            head, rules = messages[kind]
            if kind in _NETWORKS and messages is _MESSAGES:
                lengths = data[offset + 17], data[offset + 18]
                rules = {**rules, **{at + 1: _network(bits) for at, bits in enumerate(lengths)}}
            start = offset + 16 + head
            data[start:end] = _replaced(bytes(data[start:end]), rules, names)
        offset += (length + 3) & ~3
    return bytes(data)


def _policies(data: bytearray, at: int, end: int, names: Names) -> None:
    """The addresses of an IPsec policy and of its first template; other templates are zeroed."""
    if at + xfrm.POLICY_SIZE > end:
        return
    *_, family, to, source = xfrm.SELECTOR.unpack_from(data, at)[:7]
    size = 4 if family == AF_INET else 16
    for place, length in ((at, to), (at + 16, source)):
        data[place : place + size] = names.network(bytes(data[place : place + size]), length)
    start = at + xfrm.POLICY_SIZE
    data[start:end] = _replaced(bytes(data[start:end]), {5: _template}, names)


def _template(value: bytes, names: Names) -> bytes:
    peer = xfrm.end(value)
    kept = xfrm.FAMILY_AT, xfrm.FAMILY_AT + 2
    made = bytearray(len(value))
    made[: len(peer)] = names.address(peer) if peer else b""
    made[slice(*kept)] = value[slice(*kept)]
    return bytes(made)


def _diag(data: bytearray, at: int, end: int, names: Names) -> None:
    """A struct inet_diag_msg: family, then ports, then source and destination of 16 bytes each."""
    if at + 40 > end or data[at] not in (2, 10):
        return
    size = 4 if data[at] == 2 else 16
    for place in (at + 8, at + 24):
        data[place : place + size] = names.address(bytes(data[place : place + size]))
    if at + 72 < end:
        data[at + 72 : end] = _replaced(bytes(data[at + 72 : end]), _DIAG, names)


def _replaced(value: bytes, rules: Rules, names: Names) -> bytes:
    """Attributes with the values replaced that `rules` name; no length changes.

    Bytes that cannot be parsed are zeroed.
    """
    made = bytearray(value)
    try:
        for number, start, end in attributes(value, 0, len(value)):
            if number in rules:
                made[start:end] = rules[number](value[start:end], names)
    except ValueError:
        return bytes(len(made))
    return bytes(made)
