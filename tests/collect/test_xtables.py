"""Matches and targets of iptables, from the structures of xtables, in the words of nf_tables."""

import struct
from typing import Any

import pytest
from nft_bytes import be32, expression, rule, text

from nettop.collect import _xtables, nft_rules, nftables
from nettop.host.netlink.codec import attribute

PORT = (("payload", 1, 2, 2, 2),)
ANY = (0, 0xFFFF)


def transport(source: tuple[int, int], to: tuple[int, int], *rest: int) -> bytes:
    return struct.pack(f"=4H{len(rest)}B", *source, *to, *rest)


def multiport(which: int, ports: list[int], begins: list[int], inverted: int = 0) -> bytes:
    ports, begins = ([*one, *[0] * (15 - len(one))] for one in (ports, begins))
    count = sum(map(bool, ports))
    return struct.pack("=BB15H15BB", which, count, *ports, *begins, inverted)


def conntrack(flags: int, inverted: int, states: int) -> bytes:
    return bytes(146) + struct.pack("=3H", flags, inverted, states) + bytes(12)


def nat(flags: int, address: bytes, port: int) -> bytes:
    value, raw = address.ljust(16, b"\0"), port.to_bytes(2, "big")
    return struct.pack("=I", flags) + value + value + raw + raw + bytes(4)


def old_nat(flags: int, address: bytes, port: int, last: int = 0) -> bytes:
    first, last_raw = (one.to_bytes(2, "big") for one in (port, last or port))
    return struct.pack("=II", 1, flags) + address + address + first + last_raw


STATE = (("ct", 0, 1), ("bitwise", 1, 1, "06000000", "00000000"))
ADDRESS = bytes((10, 0, 0, 2))


@pytest.mark.parametrize(("kind", "name", "revision", "info", "words"), [
    ("match", "tcp", 0, transport(ANY, (80, 80), 0, 0, 0, 0), (*PORT, ("cmp", 1, 0, "0050"))),
    ("match", "tcp", 0, transport(ANY, (80, 80), 0, 0, 0, 2), (*PORT, ("cmp", 1, 1, "0050"))),
    ("match", "tcp", 0, transport(ANY, (80, 90), 0, 0, 0, 0),
     (*PORT, ("range", 1, 0, "0050", "005a"))),
    ("match", "tcp", 0, transport((53, 53), ANY, 0, 0, 0, 0),
     (("payload", 1, 2, 0, 2), ("cmp", 1, 0, "0035"))),
    ("match", "tcp", 0, transport(ANY, ANY, 0, 0x17, 2, 0),
     (("payload", 1, 2, 13, 1), ("bitwise", 1, 1, "17", "00"), ("cmp", 1, 0, "02"))),
    ("match", "tcp", 0, transport(ANY, ANY, 7, 0, 0, 0), (("match", "tcp option"),)),
    ("match", "udp", 0, transport(ANY, (53, 53), 2), (*PORT, ("cmp", 1, 1, "0035"))),
    ("match", "multiport", 1, multiport(1, [22, 80, 90], [0, 1, 0]),
     (*PORT, ("range", 1, 0, "0016", "0016", "0050", "005a"))),
    ("match", "multiport", 1, multiport(2, [22], [0]), (("match", "multiport"),)),
    ("match", "conntrack", 3, conntrack(1, 0, 6), (*STATE, ("cmp", 1, 1, "00000000"))),
    ("match", "conntrack", 3, conntrack(1, 1, 6), (*STATE, ("cmp", 1, 0, "00000000"))),
    ("match", "conntrack", 3, conntrack(3, 0, 6), (("match", "conntrack"),)),
    ("match", "conntrack", 3, conntrack(1, 0, 1 << 7), (("match", "conntrack"),)),
    ("match", "state", 0, struct.pack("=I", 6), (*STATE, ("cmp", 1, 1, "00000000"))),
    ("match", "owner", 1, struct.pack("=4IBB", 1500, 1500, 0, 0, 1, 1),
     (("meta", 10, 1), ("cmp", 1, 1, "dc050000"))),
    ("match", "owner", 1, struct.pack("=4IBB", 1500, 1600, 0, 0, 1, 0), (("match", "owner"),)),
    ("match", "owner", 1, struct.pack("=4IBB", 0, 0, 7, 7, 2, 0), (("match", "owner"),)),
    ("match", "mark", 1, struct.pack("=IIB", 7, 0xFF, 0),
     (("meta", 3, 1), ("bitwise", 1, 1, "ff000000", "00000000"), ("cmp", 1, 0, "07000000"))),
    ("match", "comment", 0, b"why", ()),
    ("match", "addrtype", 1, struct.pack("=HHI", 0, 4, 0),
     (("fib", 1, 3, 2), ("cmp", 1, 0, "02000000"))),
    ("match", "addrtype", 1, struct.pack("=HHI", 0, 4, 2),
     (("fib", 1, 3, 2), ("cmp", 1, 1, "02000000"))),
    ("match", "addrtype", 1, struct.pack("=HHI", 4, 4, 0), (("match", "addrtype"),)),
    ("match", "addrtype", 1, struct.pack("=HHI", 0, 4, 4), (("match", "addrtype"),)),
    ("match", "owner", 1, bytes(40), (("match", "owner"),)),
    ("match", "limit", 0, struct.pack("=II24x", 400, 5), (("limit", 25, 1, 5, 0, 0),)),
    ("match", "limit", 0, struct.pack("=II24x", 200_000, 5), (("limit", 3, 60, 5, 0, 0),)),
    ("match", "hashlimit", 3, bytes(400), (("limit",),)),
    ("match", "set", 4, struct.pack("=HBB", 0, 1, 2),
     (("match", "in a set of ipset by source"),)),
    ("match", "set", 1, struct.pack("=HBB", 7, 2, 5),
     (("match", "not in a set of ipset by destination, source"),)),
    ("target", "MARK", 2, struct.pack("=II", 0x12, 0xFFFF_FFFF),
     (("immediate", 1, "12000000"), ("meta", 3))),
    ("target", "MARK", 2, struct.pack("=II", 0x12, 0xFF),
     (("meta", 3, 1), ("bitwise", 1, 1, "00ffffff", "12000000"), ("meta", 3))),
    ("target", "REJECT", 0, bytes(4), (("reject",),)),
    ("target", "NFQUEUE", 0, struct.pack("=H6x", 3), (("queue", 3, 1, 0),)),
    ("target", "NFQUEUE", 3, struct.pack("=HHH2x", 3, 4, 1), (("queue", 3, 4, 1),)),
    ("target", "DNAT", 2, nat(3, ADDRESS, 80),
     (("immediate", 1, "0a000002"), ("immediate", 2, "0050"), ("nat", 1))),
    ("target", "DNAT", 0, old_nat(1, ADDRESS, 0), (("immediate", 1, "0a000002"), ("nat", 1))),
    ("target", "SNAT", 0, old_nat(1, ADDRESS, 0), (("immediate", 1, "0a000002"), ("nat", 0))),
    ("target", "REDIRECT", 0, old_nat(2, bytes(4), 80), (("immediate", 2, "0050"), ("redir", 2))),
    ("target", "MASQUERADE", 0, bytes(24), (("masq",),)),
    ("target", "MASQUERADE", 0, old_nat(2, bytes(4), 50_000, 50_031),
     (("immediate", 2, "c350"), ("immediate", 3, "c36f"), ("masq",))),
    ("target", "CT", 2, struct.pack("=H", 1), (("notrack",),)),
    ("target", "CT", 2, struct.pack("=H", 0), (("log",),)),
    ("target", "TCPMSS", 0, bytes(8), (("tcpmss",),)),
    ("target", "SYNPROXY", 0, bytes(8), (("target", "SYNPROXY"),)),
    ("target", "DNAT", 2, bytes(3), (("target", "DNAT"),)),
    ("match", "tcp", 0, bytes(4), (("match", "tcp"),)),
])  # fmt: skip
def test_each_structure_in_words(
    kind: str, name: str, revision: int, info: bytes, words: tuple[Any, ...]
) -> None:
    assert _xtables.words(kind, name, revision, info, six=False) == words


def test_an_address_of_ipv6_is_longer() -> None:
    found = _xtables.words("target", "DNAT", 1, nat(1, bytes(15) + b"\7", 0), six=True)
    assert found == (("immediate", 1, "0" * 31 + "7"), ("nat", 1))


def test_they_are_read_from_a_rule() -> None:
    info = attribute(3, transport(ANY, (80, 80), 0, 0, 0, 0))
    tcp = expression("match", text(1, "tcp"), be32(2, 0), info)
    reject = expression("target", text(1, "REJECT"), be32(2, 0), attribute(3, bytes(4)))
    answer = rule("in", 7, tcp, reject)
    (row,) = nft_rules.parse(answer)
    assert row.does == (*PORT, ("cmp", 1, 0, "0050"), ("reject",))
    (drops,) = nftables.parse(b"", answer)
    assert drops.name == "inet/t/in/7"
    (row,) = nft_rules.parse(rule("in", 7, expression("match", bytes(12))))
    assert row.does == (("match", "?"),)  # scrubbed
