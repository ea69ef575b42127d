"""Rules of nf_tables in the namespace of this process; written at once, they stay when it ends.

rule FAMILY HOOK WORD…  one rule; FAMILY inet, ip, bridge or netdev (on eth0), HOOK by name or
                 number; WORD: tcp:PORT udp:PORT icmp:TYPE icmpv6 new · every:N (one packet of N)
                 over:N (a second) count:N (connections) state · counter drop
rules COUNT      what arrives is compared with so many addresses that nobody has
slow COUNT       what arrives for this host passes so many rules without effect
police BYTES/S   forwarded packets above the rate are dropped
no-errors        drop the ICMP errors of this host
policy HOOK      a chain that drops by its policy and counts nothing
masquerade       what is forwarded has the address of the interface by which it leaves
translate FIRST LAST   so, TCP only and to these ports
"""

import os
import socket
import struct
from typing import Final

import nft_bytes as nft
from live.programs.shared import kind
from netlink_bytes import message

from nettop.host.netlink.codec import attribute

FAMILIES: Final = {"inet": 1, "ip": 2, "netdev": 5, "bridge": 7, "ip6": 10}
HOOKS: Final = {"prerouting": 0, "input": 1, "forward": 2, "output": 3, "postrouting": 4}
SNAT: Final = 100  # the priority of chains that translate, linux/netfilter_ipv4.h
DRAWN: Final = nft.be32(3, 1)  # NFT_NG_RANDOM
BURST: Final = 65_536  # bytes
CREATE: Final = 0x405  # NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE
APPEND: Final = 0x800
DROP: Final = nft.verdict(nft.DROP)


@kind
def rule(family: str, hook: str, *words: str) -> None:
    """As a line of nft: `nft add rule FAMILY t c WORDS`."""
    number = HOOKS[hook] if hook in HOOKS else int(hook)
    device = "eth0" if family == "netdev" else ""
    _make(family, _chain(number, device=device), [one for word in words for one in _meant(word)])


@kind
def rules(count: str) -> None:
    """One after the other."""
    compared = (socket.inet_aton(f"192.0.{n // 250}.{n % 250 + 1}") for n in range(int(count)))
    _make("inet", _chain(HOOKS["input"]),
          *([_load(1, 12, 4), _equal(one), DROP] for one in compared))  # fmt: skip


@kind
def slow(count: str) -> None:
    """Each counts."""
    _make("inet", _chain(HOOKS["input"]), *([nft.counter()] for _ in range(int(count))))


@kind
def police(rate: str) -> None:
    """Without a counter."""
    over = nft.expression("limit", nft.be64(1, int(rate)), nft.be64(2, 1), nft.be32(3, BURST),
                          nft.be32(4, 1), nft.be32(5, 1))  # fmt: skip
    _make("inet", _chain(HOOKS["forward"]), [over, DROP])


@kind
def no_errors() -> None:
    """Destination Unreachable of IPv4, Packet Too Big of IPv6."""
    errors = ((1, b"\3"), (58, b"\2"))
    _make("inet", _chain(HOOKS["output"]),
          *([*_protocol(one), _load(2, 0, 1), _equal(what), DROP] for one, what in errors),
          )  # fmt: skip


@kind
def policy(hook: str) -> None:
    """As Docker makes it."""
    _make("inet", _chain(int(hook), name="FORWARD", policy=nft.DROP))


@kind
def masquerade() -> None:
    """The kernel chooses the port."""
    _make("inet", _chain(HOOKS["postrouting"], of="nat", priority=SNAT),
          [nft.nest(1, nft.text(1, "masq"))])  # fmt: skip


@kind
def translate(first: str, last: str) -> None:
    """ip protocol tcp masquerade to :FIRST-LAST."""
    ports = [
        nft.expression("immediate", nft.be32(1, register), nft.nest(2, attribute(1, _be16(port))))
        for register, port in ((1, first), (2, last))
    ]
    masked = nft.expression("masq", nft.be32(1, 2), nft.be32(2, 1), nft.be32(3, 2))
    _make("ip", _chain(HOOKS["postrouting"], of="nat", priority=SNAT),
          [*_protocol(6), *ports, masked])  # fmt: skip


def _meant(word: str) -> list[bytes]:
    """The expressions of a word; everything goes by register 1."""
    name, _, value = word.partition(":")
    match name:
        case "tcp" | "udp":
            return [*_protocol({"tcp": 6, "udp": 17}[name]), _load(2, 2, 2), _equal(_be16(value))]
        case "icmp":
            return [*_protocol(1), _load(2, 0, 1), _equal(bytes([int(value)]))]
        case "icmpv6":
            return _protocol(58)
        case "new":
            return [*_meant("state"), _equal(struct.pack("=I", 8))]
        case "state":
            return [nft.expression("ct", nft.be32(1, 1), nft.be32(2, 0))]
        case "every":
            drawn = nft.expression("numgen", nft.be32(1, 1), nft.be32(2, int(value)), DRAWN,
                                   nft.be32(4, 0))  # fmt: skip
            return [drawn, _equal(bytes(4))]
        case "over":
            return [nft.expression("limit", nft.be64(1, int(value)), nft.be64(2, 1),
                                   nft.be32(3, 5), nft.be32(4, 0), nft.be32(5, 1))]  # fmt: skip
        case "count":
            return [nft.expression("connlimit", nft.be32(1, int(value)), nft.be32(2, 1))]
        case "counter":
            return [nft.counter()]
        case "drop":
            return [DROP]
    raise ValueError(word)


def _chain(
    hook: int, *, name: str = "c", of: str = "filter", priority: int = 0, policy: int = nft.ACCEPT,
    device: str = "",
) -> bytes:  # fmt: skip
    """NFT_MSG_NEWCHAIN of table `t`."""
    devices = [nft.text(3, device)] if device else []
    place = nft.nest(4, nft.be32(1, hook), nft.be32(2, priority), *devices)
    parts = (nft.text(1, "t"), nft.text(3, name), place, nft.be32(5, policy), nft.text(7, of))
    return message(0xA03, bytes(4) + b"".join(parts))


def _make(family: str, chain: bytes, *rules: list[bytes]) -> None:
    """A new table `t` with them, in one transaction; OSError: the kernel refuses it."""
    table = message(0xA00, bytes(4) + nft.text(1, "t"))
    made = [nft.rule("c", 0, *expressions) for expressions in rules]
    sent = [_asked(one, CREATE, family) for one in (table, chain)]
    sent += [_asked(one, CREATE | APPEND, family) for one in made]
    batch = struct.pack(">BBH", 0, 0, 10)
    begin, end = (message(one, batch) for one in (0x10, 0x11))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as door:
        door.bind((0, 0))
        door.settimeout(5)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        door.setsockopt(socket.SOL_SOCKET, 32, 16 << 20)  # SO_SNDBUFFORCE
        door.send(b"".join([_flagged(begin, 1), *sent, _flagged(end, 1)]))
        for _ in sent:
            error = struct.unpack_from("=i", door.recv(65_536), 16)[0]
            if error:
                raise OSError(-error, os.strerror(-error))


def _flagged(raw: bytes, flags: int) -> bytes:
    return raw[:6] + struct.pack("=H", flags) + raw[8:]


def _asked(raw: bytes, flags: int, family: str) -> bytes:
    """The family is in the first byte behind the header of netlink (struct nfgenmsg)."""
    flagged = _flagged(raw, flags)
    return flagged[:16] + bytes([FAMILIES[family]]) + flagged[17:]


def _load(base: int, offset: int, octets: int) -> bytes:
    return nft.expression("payload", nft.be32(1, 1), nft.be32(2, base), nft.be32(3, offset),
                          nft.be32(4, octets))  # fmt: skip


def _equal(value: bytes) -> bytes:
    return nft.expression("cmp", nft.be32(1, 1), nft.be32(2, 0), nft.nest(3, attribute(1, value)))


def _protocol(number: int) -> list[bytes]:
    """NFT_META_L4PROTO."""
    meta = nft.expression("meta", nft.be32(2, 16), nft.be32(1, 1))
    return [meta, _equal(bytes([number]))]


def _be16(value: str) -> bytes:
    return struct.pack(">H", int(value))
