"""A program that makes a rule of nf_tables: what arrives faster than a limit is dropped."""

from typing import Final

LIMIT: Final = """
import socket, struct, sys
import nft_bytes as nft
from netlink_bytes import message

def asked(raw, flags=0x405):  # NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE
    return raw[:6] + struct.pack("=H", flags) + raw[8:]

batch = struct.pack(">BBH", 0, 0, 10)
table = message(0xA00, struct.pack(">BBH", nft.INET, 0, 0) + nft.text(1, "t"))
limit = nft.expression("limit", nft.be64(1, 5), nft.be64(2, 1), nft.be32(3, 1), nft.be32(4, 0),
                       nft.be32(5, 1))
parts = [
    asked(message(0x10, batch), 1), asked(table), asked(nft.chain("in", 1, nft.ACCEPT)),
    asked(nft.rule("in", 0, limit, nft.counter(), nft.verdict(nft.DROP))),
    asked(message(0x11, batch), 1),
]
door = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
door.bind((0, 0))
door.send(b"".join(parts))
for _ in range(3):
    answer = door.recv(65536)
    print(struct.unpack_from("=i", answer, 16)[0], flush=True)
"""
