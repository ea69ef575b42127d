"""Matches and targets of iptables in rules of nf_tables, in the words of native expressions.

iptables-nft writes what has no native expression as `match` or `target` with a structure of
xtables (net/netfilter/nft_compat.c, include/uapi/linux/netfilter/xt_*.h). Its numbers are in the
order of the host; addresses and ports of translations in that of the network.
"""

import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

Words = tuple[str | int, ...]
_SOURCE, _DESTINATION = 0, 2  # bytes into the header of TCP or UDP
_Read = Callable[[int, bytes], Iterable[Words]]  # of a revision and its structure
_TRANSLATES: Final = ("DNAT", "SNAT", "REDIRECT", "MASQUERADE")
_OWN: Final[Mapping[str, Words]] = {"REDIRECT": ("redir", 2), "MASQUERADE": ("masq",)}
_SHORT: Final = struct.Struct("=H")
_PORTS: Final = struct.Struct("=4H")  # of the source and of the destination: first and last
_CONNTRACK_AT: Final = 146  # xt_conntrack_mtinfo2 and 3: match_flags, invert_flags, state_mask
_STATES: Final = 1  # XT_CONNTRACK_STATE
_UNTRACKED: Final = 1 << 8  # XT_CONNTRACK_STATE_UNTRACKED; as NF_CT_STATE_UNTRACKED_BIT: 64
_ADDRESS, _PORT = 1, 2  # NF_NAT_RANGE_MAP_IPS, NF_NAT_RANGE_PROTO_SPECIFIED
_LOCAL: Final = 1 << 2  # XT_ADDRTYPE_LOCAL: a bit for RTN_LOCAL
_NOT_TO: Final = 2  # XT_ADDRTYPE_INVERT_DEST
_UNITS: Final = (1, 60, 3600, 86_400)  # seconds in which such a limit lets one packet pass
_NOTRACK: Final = 1  # XT_CT_NOTRACK
_USER: Final = 1  # XT_OWNER_UID


def words(kind: str, name: str, revision: int, info: bytes, *, six: bool) -> tuple[Words, ...]:
    """What a `match` or a `target` of IPv6 or IPv4 does; its name alone if it is not understood."""
    known = (_MATCHES if kind == "match" else _TARGETS).get(name)
    if kind == "target" and name in _TRANSLATES:
        known = partial(_translated, name, six=six)
    try:
        found = tuple(known(revision, info)) if known else None
    except (struct.error, IndexError):  # cut off, or of a revision that is shorter
        found = None
    return ((kind, name),) if found is None else found


def _transport(at: int, *, flags: bool) -> _Read:
    """Of struct xt_tcp and xt_udp: two pairs of ports, and at `at` what is inverted."""

    def read(_: int, info: bytes) -> Iterator[Words]:
        pairs = _PORTS.unpack_from(info)
        inverted = info[at]
        yield from _ports(_SOURCE, [pairs[:2]], inverted=bool(inverted & 1))
        yield from _ports(_DESTINATION, [pairs[2:]], inverted=bool(inverted & 2))
        if flags and info[8]:
            yield ("match", "tcp option")
        if flags and info[9]:  # flags of TCP: mask and value
            yield from (("payload", 1, 2, 13, 1), ("bitwise", 1, 1, f"{info[9]:02x}", "00"))
            yield ("cmp", 1, int(bool(inverted & 4)), f"{info[10]:02x}")

    return read


def _ports(at: int, pairs: list[tuple[int, ...]], *, inverted: bool) -> Iterator[Words]:
    if pairs == [(0, 0xFFFF)] and not inverted:
        return
    yield ("payload", 1, 2, at, 2)
    bounds = [f"{port:04x}" for pair in pairs for port in pair]
    if len(bounds) == 2 and bounds[0] == bounds[1]:
        yield ("cmp", 1, int(inverted), bounds[0])
    else:
        yield ("range", 1, int(inverted), *bounds)


def _multiport(_: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_multiport_v1: which port, count, ports, which begin a range, inverted."""
    which, count = info[0], info[1]
    ports, begins = struct.unpack_from("=15H", info, 2), info[32:47]
    if which > 1:  # of either end
        yield ("match", "multiport")
        return
    pairs: list[tuple[int, ...]] = []
    at = 0
    while at < count:
        pairs.append((ports[at], ports[at + begins[at]]))
        at += 1 + begins[at]
    yield from _ports(_DESTINATION if which else _SOURCE, pairs, inverted=bool(info[47]))


def _conntrack(revision: int, info: bytes) -> Iterator[Words]:
    tested, inverted, states = struct.unpack_from("=3H", info, _CONNTRACK_AT)
    if revision < 2 or tested != _STATES:
        yield ("match", "conntrack")
        return
    yield from _state(states, inverted=bool(inverted & _STATES))


def _state(states: int, *, inverted: bool) -> Iterator[Words]:
    """The bits of the states are those of nf_tables but for `untracked`, and those of NAT."""
    bits = states & 15 | (64 if states & _UNTRACKED else 0)
    if states & ~(15 | _UNTRACKED):
        yield ("match", "conntrack")
        return
    mask = bits.to_bytes(4, sys.byteorder).hex()
    yield from (("ct", 0, 1), ("bitwise", 1, 1, mask, "00000000"))
    yield ("cmp", 1, int(not inverted), "00000000")


def _address_type(revision: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_addrtype_info_v1: types of the source and of the destination, flags."""
    source, to, flags = struct.unpack_from("=HHI", info)
    if not revision or source or to != _LOCAL or flags & ~_NOT_TO:
        yield ("match", "addrtype")
        return
    yield from (
        ("fib", 1, 3, 2),
        ("cmp", 1, int(bool(flags)), (2).to_bytes(4, sys.byteorder).hex()),
    )


def _mark(_: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_mark_mtinfo1: mark, mask, inverted."""
    yield from (("meta", 3, 1), ("bitwise", 1, 1, info[4:8].hex(), "00000000"))
    yield ("cmp", 1, int(bool(info[8])), info[:4].hex())


def _owner(_: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_owner_match_info: users, groups, what is tested, what is inverted."""
    first, last = info[:4], info[4:8]
    if info[16] != _USER or first != last:
        yield ("match", "owner")
        return
    yield from (("meta", 10, 1), ("cmp", 1, int(bool(info[17] & _USER)), first.hex()))


def _set(_: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_set_info: number of the set, of its parts, and flags; its name is not here."""
    _number, parts, flags = struct.unpack_from("=HBB", info)
    sides = (("destination", "source")[flags >> part & 1] for part in range(1, parts + 1))
    yield ("match", f"{'not ' * (flags & 1)}in a set of ipset by {', '.join(sides)}")


def _marks(revision: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_mark_tginfo2: mark, and the bits that it replaces."""
    mark, mask = info[:4], struct.unpack_from("=I", info, 4)[0]
    if revision < 2:
        yield ("meta", 3)
        return
    kept = (mask ^ 0xFFFF_FFFF).to_bytes(4, sys.byteorder)
    first = (("meta", 3, 1), ("bitwise", 1, 1, kept.hex(), mark.hex()))
    yield from first if any(kept) else (("immediate", 1, mark.hex()),)
    yield ("meta", 3)


def _limit(_: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_rateinfo: ten-thousandths of a second for each packet, and the burst."""
    each, burst = struct.unpack_from("=II", info)
    unit = next((one for one in _UNITS if 10_000 * one >= each), _UNITS[-1])
    yield ("limit", round(10_000 * unit / each), unit, burst, 0, 0) if each else ("limit",)


def _queue(revision: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_NFQ_info: the number; from revision 2 on whether it may be passed by."""
    passed = struct.unpack_from("=H", info, 4)[0] & 1 if revision >= 2 else 0
    many = _SHORT.unpack_from(info, 2)[0] if revision else 1
    yield ("queue", _SHORT.unpack_from(info)[0], max(1, many), passed)


def _translated(name: str, revision: int, info: bytes, *, six: bool) -> Iterator[Words]:
    """Of struct nf_nat_range, nf_nat_range2, or of IPv4 before nf_nat_ipv4_multi_range_compat."""
    old = not six and not revision
    start, size, port = (4, 4, 16) if old else (0, 16 if six else 4, 36)
    flags = struct.unpack_from("=I", info, start)[0]
    if flags & _ADDRESS and name not in _OWN:
        yield ("immediate", 1, _hexadecimal(info, start + 4, size))
    if flags & _PORT:
        first, last = (_hexadecimal(info, at, 2) for at in (port, port + 2))
        yield ("immediate", 2, first)
        if last != first:
            yield ("immediate", 3, last)
    yield _OWN.get(name) or ("nat", int(name == "DNAT"))


def _hexadecimal(info: bytes, at: int, size: int) -> str:
    if len(info) < at + size:
        raise IndexError
    return info[at : at + size].hex()


def _tracked(_: int, info: bytes) -> Iterator[Words]:
    """Of struct xt_ct_target_info: flags."""
    yield ("notrack",) if _SHORT.unpack_from(info)[0] & _NOTRACK else ("log",)


def _only(*found: Words) -> _Read:
    return lambda *_: found


_MATCHES: Final[Mapping[str, _Read]] = {
    "tcp": _transport(11, flags=True), "udp": _transport(8, flags=False),
    "multiport": _multiport, "conntrack": _conntrack, "mark": _mark, "addrtype": _address_type,
    "set": _set, "owner": _owner,
    "comment": _only(), "limit": _limit, "hashlimit": _only(("limit",)),
    "state": lambda _, info: _state(struct.unpack_from("=I", info)[0], inverted=False),
}  # fmt: skip
_TARGETS: Final[Mapping[str, _Read]] = {
    "REJECT": _only(("reject",)), "NFQUEUE": _queue,
    "TPROXY": _only(("tproxy",)), "CT": _tracked,
    "NOTRACK": _only(("notrack",)), "TCPMSS": _only(("tcpmss",)), "MARK": _marks,
    **dict.fromkeys(
        ("LOG", "NFLOG", "TRACE", "TCPOPTSTRIP", "CHECKSUM", "CLASSIFY", "DSCP", "TOS",
         "CONNMARK", "CONNSECMARK", "SECMARK", "AUDIT", "TEE"),
        _only(("log",)),
    ),
}  # fmt: skip
