"""Drops of nf_tables on a real kernel: rules made by netlink, counted, and found by a rule."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import veth

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
]
SUPPORT = Path(__file__).parents[1] / "support"
MAKE = f"""
import socket, struct, sys
sys.path.insert(0, {str(SUPPORT)!r})
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
door.settimeout(5)
door.send(b"".join(parts))
for _ in range(3):
    answer = door.recv(65536)
    print(struct.unpack_from("=i", answer, 16)[0], flush=True)
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[veth.Pair]:
    with veth.pair("firewall") as place:
        yield place


def test_a_limit_that_drops_is_found_with_the_packets_that_it_dropped(pair: veth.Pair) -> None:
    made = subprocess.run(
        [*pair.near, sys.executable, "-c", MAKE], capture_output=True, text=True, check=True
    )
    assert made.stdout.split() == ["0", "0", "0"]
    ping = subprocess.Popen(
        [*pair.far, "ping", "-q", "-i", "0.01", "-w", "60", veth.NEAR],
        stdout=subprocess.DEVNULL,
    )
    try:
        found = subprocess.run(
            [*pair.near, sys.executable, "-m", "nettop", "advise", "--json", "--seconds", "6"],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    finally:
        ping.kill()
        ping.wait()
    findings = json.loads(found.stdout)["findings"]
    assert "firewall-rate-limit-drops@inet/t/in/2" in [one["id"] for one in findings], found.stderr
