"""Tables of the older iptables: what the kernel answers, in the words of nf_tables.

iptables.json.gz has the answers of Linux 6.18 in a namespace with the rules of `SET`.
"""

import base64
import gzip
import json
from pathlib import Path

import pytest

from nettop.collect import _iptables, nft_chains, nft_hooks, nft_rules, nftables
from nettop.host.netlink import xtables

SET = """
iptables -N WEB; -N LOG1; -A LOG1 -j LOG; -A LOG1 -j DROP
-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT; -A INPUT -i lo -j ACCEPT
-A INPUT -p tcp -j WEB; -A WEB -p tcp -m multiport --dports 80,443 -j ACCEPT
-A WEB -p tcp -m comment --comment x --dport 22 -j LOG1
-A WEB ! -s 10.36.0.0/30 -p tcp --dport 7000:7100 -g LOG1
-A INPUT ! -i e+ -d 10.36.0.1 -p tcp --dport 7001 -j REJECT; -A FORWARD -o e0; -P INPUT DROP
-t nat -A PREROUTING -p tcp --dport 7005 -j REDIRECT --to-ports 7001
-t nat -A POSTROUTING -o e0 -j MASQUERADE
-t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu
ip6tables -A INPUT -s fd36::/64 -p tcp --dport 80 -j DROP; ip6tables -P FORWARD DROP
"""
PACKED = Path(__file__).parent / "iptables.json.gz"
TABLES = tuple(
    (family, name, base64.b64decode(raw))
    for family, name, raw in json.loads(gzip.decompress(PACKED.read_bytes()))
)
TCP = (("meta", 16, 1), ("cmp", 1, 0, "06"))
PORT = (("payload", 1, 2, 2, 2),)
COUNTS = ("counter",)


def does(family: str, table: str, chain: str) -> list[tuple[object, ...]]:
    rows = nft_rules.old(TABLES)
    assert all(row.old for row in rows)
    return [
        row.does for row in rows if (row.family, row.table, row.chain) == (family, table, chain)
    ]


def test_addresses_interfaces_protocols_and_matches() -> None:
    tracked, loopback, tcp, rejected = does("ip", "filter", "INPUT")
    assert tracked[0] == ("ct", 0, 1)
    assert loopback[:2] == (("meta", 6, 1), ("cmp", 1, 0, b"lo\0".hex()))
    assert tcp == (*TCP, COUNTS, ("immediate", 0, "-3:WEB"))
    assert rejected == (
        ("payload", 1, 1, 16, 4), ("bitwise", 1, 1, "ffffffff", "00000000"),
        ("cmp", 1, 0, "0a240001"), ("meta", 6, 1), ("cmp", 1, 1, b"e".hex()), *TCP, *PORT,
        ("cmp", 1, 0, "1b59"), COUNTS, ("reject",),
    )  # fmt: skip
    ports, logged, others, _ = does("ip", "filter", "WEB")
    assert ports == (
        *TCP, *PORT, ("range", 1, 0, "0050", "0050", "01bb", "01bb"), COUNTS,
        ("immediate", 0, "1:"),
    )  # fmt: skip
    assert logged == (*TCP, *PORT, ("cmp", 1, 0, "0016"), COUNTS, ("immediate", 0, "-3:LOG1"))
    assert others == (
        ("payload", 1, 1, 12, 4), ("bitwise", 1, 1, "fffffffc", "00000000"),
        ("cmp", 1, 1, "0a240000"), *TCP, *PORT, ("range", 1, 0, "1b58", "1bbc"), COUNTS,
        ("immediate", 0, "-4:LOG1"),
    )  # fmt: skip
    assert does("ip", "filter", "LOG1")[:2] == [
        (COUNTS, ("log",)), (COUNTS, ("immediate", 0, "0:")),
    ]  # fmt: skip
    assert does("ip", "filter", "FORWARD")[0][-1] == ("log",)  # it only counts
    assert does("ip", "nat", "PREROUTING") == [
        (*TCP, *PORT, ("cmp", 1, 0, "1b5d"), COUNTS, ("immediate", 2, "1b59"), ("redir", 2))
    ]
    assert does("ip", "nat", "POSTROUTING")[0][-1] == ("masq",)
    (six,) = does("ip6", "filter", "INPUT")
    assert six[:3] == (
        ("payload", 1, 1, 8, 16), ("bitwise", 1, 1, "f" * 16 + "0" * 16, "0" * 32),
        ("cmp", 1, 0, "fd36" + "0" * 28),
    )  # fmt: skip


def test_hooks_have_their_policy_and_priority() -> None:
    found = {(row.family, row.table, row.chain): row for row in nft_hooks.old(TABLES)}
    assert all(row.old for row in found.values())
    assert found["ip", "filter", "INPUT"].drops
    assert not found["ip", "filter", "FORWARD"].drops
    assert found["ip6", "filter", "FORWARD"].drops
    places = {key[1:]: (row.hook, row.priority, row.kind) for key, row in found.items()}
    assert places["filter", "INPUT"] == ("input", 0, "filter")
    assert places["mangle", "FORWARD"] == ("forward", -150, "filter")
    assert places["nat", "PREROUTING"] == ("prerouting", -100, "nat")
    assert places["nat", "POSTROUTING"] == ("postrouting", 100, "nat")


def test_what_drops_counts_and_what_sets_the_mss_is_known() -> None:
    rows = nftables.old(TABLES)
    assert [row.name for row in rows] == [
        "iptables/filter/INPUT/4", "iptables/filter/INPUT/policy", "iptables/filter/LOG1/2",
        "ip6tables/filter/INPUT/1", "ip6tables/filter/FORWARD/policy",
    ]  # fmt: skip
    assert [row.rejects for row in rows] == [True, False, False, False, False]
    assert all(row.packets == 0 for row in rows)
    (clamps,) = nft_chains.old(TABLES)
    assert (clamps.family, clamps.table, clamps.chain, clamps.clamps) == (
        "iptables", "mangle", "FORWARD", True,
    )  # fmt: skip


def test_a_table_that_is_cut_off_is_refused() -> None:
    family, name, raw = TABLES[0]
    for length in (1, xtables.INFO.size + 3, len(raw) - 1):
        with pytest.raises(ValueError, match=r"cut off|wrong length"):
            _iptables.rules(((family, name, raw[:length]),))
    assert _iptables.rules(((family, name, b""),)) == ()  # scrubbed


def test_what_a_rule_that_drops_tests_is_told() -> None:
    state = (("ct", 0, 1), ("bitwise", 1, 1, "01000000", "00000000"), ("cmp", 1, 1, "00000000"))
    for does, told in (
        (state, "ct state invalid"), ((("match", "fragment"),), "fragments"),
        ((("match", "in a set of ipset by source"), ("match", "geoip")),
         "in a set of ipset by source, geoip"),
        ((("meta", 16, 1), ("cmp", 1, 0, "06")), ""),
    ):  # fmt: skip
        assert nftables._of_old((*does, ("counter",), ("immediate", 0, "0:"))) == told, does
