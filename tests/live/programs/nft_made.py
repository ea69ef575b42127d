"""Make rules of nf_tables in the namespace of this process: `python nft_made.py KIND [NUMBER …]`.

police BYTES/S   forwarded packets above the rate are dropped
slow COUNT       what arrives for this host passes so many rules without effect
masquerade       what is forwarded has the address of the interface by which it leaves
"""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

import nft_bytes as nft
from netlink_bytes import message

LOCAL_IN, FORWARD, POSTROUTING = 1, 2, 4  # hooks, include/uapi/linux/netfilter.h
BURST: Final = 65_536  # bytes
_FLAGS: Final = 0x405  # NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE
_BATCH: Final = struct.pack(">BBH", 0, 0, 10)
_APPEND: Final = 0x800


def _asked(raw: bytes, flags: int = _FLAGS) -> bytes:
    return raw[:6] + struct.pack("=H", flags) + raw[8:]


def _police(rate: str) -> list[bytes]:
    over = nft.expression(
        "limit", nft.be64(1, int(rate)), nft.be64(2, 1), nft.be32(3, BURST), nft.be32(4, 1),
        nft.be32(5, 1),
    )  # fmt: skip
    return [nft.chain("c", FORWARD, nft.ACCEPT), nft.rule("c", 0, over, nft.verdict(nft.DROP))]


def _slow(count: str) -> list[bytes]:
    return [
        nft.chain("c", LOCAL_IN, nft.ACCEPT),
        *(nft.rule("c", 0, nft.counter()) for _ in range(int(count))),
    ]


def _masquerade() -> list[bytes]:
    hook = nft.nest(4, nft.be32(1, POSTROUTING), nft.be32(2, 100))
    body = nft.text(1, "t") + nft.text(3, "c") + hook + nft.text(7, "nat")
    chain = message(0xA03, struct.pack(">BBH", nft.INET, 0, 0) + body)
    return [chain, nft.rule("c", 0, nft.nest(1, nft.text(1, "masq")))]


def make(parts: list[bytes]) -> None:
    """Add them to a new table `t` in one transaction; OSError."""
    table = message(0xA00, struct.pack(">BBH", nft.INET, 0, 0) + nft.text(1, "t"))
    sent = [_asked(table), *(_asked(part, _FLAGS | _APPEND) for part in parts)]
    begin, end = (_asked(message(kind, _BATCH), 1) for kind in (0x10, 0x11))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as door:
        door.bind((0, 0))
        door.settimeout(5)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        door.send(b"".join([begin, *sent, end]))
        for _ in sent:
            error = struct.unpack_from("=i", door.recv(65_536), 16)[0]
            if error:
                raise OSError(-error, "nf_tables refuses a rule")


KINDS: Final = {"police": _police, "slow": _slow, "masquerade": _masquerade}

if __name__ == "__main__":
    make(KINDS[sys.argv[1]](*sys.argv[2:]))  # type: ignore[operator]
