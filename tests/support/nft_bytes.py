"""Messages of nf_tables (include/uapi/linux/netfilter/nf_tables.h), as requests and as answers."""

import struct

from netlink_bytes import message

from nettop.host.netlink.codec import NESTED, attribute

INET, ARP, NETDEV = 1, 3, 5
DROP, ACCEPT = 0, 1


def nest(number: int, *parts: bytes) -> bytes:
    return attribute(number | NESTED, b"".join(parts))


def text(number: int, value: str) -> bytes:
    return attribute(number, value.encode() + b"\0")


def be32(number: int, value: int) -> bytes:
    return attribute(number, struct.pack(">I", value & 0xFFFFFFFF))


def be64(number: int, value: int) -> bytes:
    return attribute(number, struct.pack(">Q", value))


def expression(name: str, *data: bytes) -> bytes:
    return nest(1, text(1, name), nest(2, *data))


def counter(packets: int = 0, octets: int = 0) -> bytes:
    return expression("counter", be64(1, octets), be64(2, packets))


def verdict(code: int, chain: str = "") -> bytes:
    jump = [text(2, chain)] if chain else []
    return expression("immediate", be32(1, 0), nest(2, nest(2, be32(1, code), *jump)))


def chain(
    name: str, hook: int | None = None, policy: int | None = None, packets: int | None = None,
    family: int = INET,
) -> bytes:  # fmt: skip
    """NFT_MSG_NEWCHAIN of table `t`."""
    parts = [text(1, "t"), text(3, name)]
    if hook is not None:
        parts += [nest(4, be32(1, hook), be32(2, 0)), text(7, "filter")]
    if policy is not None:
        parts.append(be32(5, policy))
    if packets is not None:
        parts.append(nest(8, be64(1, 0), be64(2, packets)))
    return message(0xA03, struct.pack(">BBH", family, 0, 0) + b"".join(parts))


def rule(name: str, handle: int, *expressions: bytes, family: int = INET) -> bytes:
    """NFT_MSG_NEWRULE in a chain of table `t`; without a handle: a request for a new one."""
    parts = [text(1, "t"), text(2, name), nest(4, *expressions)]
    if handle:
        parts.insert(2, be64(3, handle))
    return message(0xA06, struct.pack(">BBH", family, 0, 0) + b"".join(parts))
