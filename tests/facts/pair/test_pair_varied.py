"""What each value of two hosts changes in what both ends of a flow see: expected output.

Both are the host of `whole_host.py`; the other one has the other ends of its two connections. Each
value that a pair is made of gets others, one at a time, at each of the hosts.
`pytest tests/facts/pair/test_pair_varied.py --update` writes the expected output anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from golden_text import same
from varied import described, difference, flat
from whole_host import declared, tables

from nettop import collect
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.facts.pair import words
from nettop.facts.pair.model import Model, Sides
from nettop.frame.both import Both, Close
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

GOLDEN = Path(__file__).parents[2] / "golden/pair"
HOSTS = ("db1", "web2")
SECONDS = range(3)
LATER = 0.001  # seconds between two readings of the sockets
TABLES = (
    "topology",
    "links",
    "netclass",
    "features",
    "addresses",
    "routes",
    "sysctls",
    "socket_owners",
    "sockets_tcp",
    "sockets_udp",
    "processes",
    "threads",
    "cpu",
    "softnet",
    "link_stats",
    "nicstats",
    "pause",
    "qdiscs",
)
Vary = Mapping[tuple[str, int], Mapping[str, Any] | None]
GONE = {"bytes_acked": 0, "bytes_sent": 0, "bytes_retrans": 0, "data_segs_out": 0, "unacked": 0,
        "total_retrans": 0, "busy_time": 0, "send_q": 0, "notsent": 0}  # fmt: skip
HERE: Vary = {
    ("sockets_tcp", 0): {"bytes_acked": 10**8, "bytes_sent": 101_000_000, "bytes_retrans": 10**6,
                         "data_segs_out": 70_000, "total_retrans": 700, "data_segs_in": 0,
                         "bytes_received": 0},
    ("sockets_tcp", 1): {**GONE, "bytes_received": 5 * 10**7, "data_segs_in": 34_500},
    ("softnet", 0): {"dropped": 0}, ("links", 1): {"mtu": 9000},
    ("qdiscs", 0): {"drops": 20}, ("nicstats", 0): {"phy_discards": 3},
    ("link_stats", 1): {"tx_dropped": 1},
}  # fmt: skip
THERE: Vary = {
    ("sockets_tcp", 0): {**GONE, "local": "10.0.0.2", "local_port": 40001, "remote": "10.0.0.1",
                         "remote_port": 5001, "cookie": 11, "bytes_received": 10**8,
                         "data_segs_in": 69_000, "rmem_alloc": 1000},
    ("sockets_tcp", 1): {"local": "10.0.1.3", "local_port": 40002, "remote": "10.0.0.1",
                         "remote_port": 443, "cookie": 12, "bytes_acked": 5 * 10**7,
                         "bytes_sent": 5 * 10**7, "bytes_retrans": 0, "data_segs_out": 34_600,
                         "total_retrans": 90, "unacked": 10, "notsent": 10**5, "send_q": 115_000,
                         "busy_time": 990_000, "mss": 1448},
    ("sockets_tcp", 2): {"cookie": 13, "inode": 106},
    ("addresses", 0): {"address": "10.0.0.2"}, ("softnet", 0): {"dropped": 40},
    ("features", 0): {"on": False}, ("netclass", 0): {"speed": 25e9},
}  # fmt: skip
# the values that vary, by table: the rows, the fields, and the others that each may have
VALUES: dict[str, tuple[tuple[int, ...], dict[str, tuple[Any, ...]]]] = {
    "sockets_tcp": ((0, 1), {
        "local": ("10.0.0.7", "::ffff:10.0.0.1", "127.0.0.1"), "remote": ("10.0.0.7", "10.0.0.2"),
        "local_port": (7,), "remote_port": (7,), "state": ("listen", "close_wait"), "inode": (0,),
        "bytes_acked": (None, 0, 200_000_000), "bytes_received": (None, 0, 200_000_000),
        "bytes_sent": (None, 120_000_000), "bytes_retrans": (None, 0, 3_000_000),
        "data_segs_out": (None, 69_000, 90_000), "data_segs_in": (None, 0, 20_000, 70_000),
        "total_retrans": (None, 0, 5000), "dsack_dups": (None, 600), "drops": (None, 50),
        "unacked": (None, 0, 3000), "mss": (None, 9000), "send_q": (0, 10**6),
        "notsent": (None, 0), "min_rtt": (None, 90), "recv_q": (9 * 10**6,), "pmtu": (None, 1400),
        "congestion": ("bbr",), "rcvbuf": (None, 65_536), "snd_wnd": (None, 65_536),
        "rwnd_limited": (None, 950_000), "timestamps": (None, False), "sack": (None, False),
        "wscale": (None, False), "ecn": (None, True), "busy_time": (None, 0, 1_000_000),
    }),
    "softnet": ((0, 1), {"dropped": (0, 1, 5000)}),
    "nicstats": ((0,), {"ring_drops": (None, 900), "phy_discards": (None, 900)}),
    "link_stats": ((1,), {"tx_dropped": (900,), "rx_bytes": (None, 0, 10**9),
                          "rx_packets": (None, 0, 2000)}),
    "qdiscs": ((0, 1), {"drops": (None, 0, 900), "parent": ("ingress", "1:"), "root": (True, False),
                        "interface": ("eth1",), "kind": ("fq",), "handle": ("8:",)}),
    "sysctls": ((0,), {"name": ("net.ipv4.tcp_timestamps", "net.ipv4.tcp_sack",
                                "net.ipv4.tcp_window_scaling", "net.ipv4.tcp_ecn"),
                       "value": ("1", "1 2", "4096 87380 16777216", "x")}),
    "addresses": ((0,), {"address": ("10.0.0.9", "10.0.0.2", "10.0.0.1"), "prefix": (16, 30, 32)}),
    "features": ((0, 1), {"on": (True, False), "name": ("tx-tcp6-segmentation",)}),
    "links": ((1,), {"mtu": (None, 1500)}),
    "netclass": ((0,), {"speed": (None, 1e9), "duplex": (None, "half")}),
    "pause": ((0,), {"rx_frames": (None, 500), "tx_frames": (None, 500)}),
    "socket_owners": ((0, 1), {"pid": (None, 703), "name": ("sshd",)}),
    "threads": ((0, 1), {"ran": (None, 0.0, 0.99)}),
}  # fmt: skip
TWO = {("sysctls", 0, "name"): {"value": "1"}}  # what else is another value with it


def merged(*parts: Vary) -> Vary:
    out: dict[tuple[str, int], Any] = {}
    for part in parts:
        for key, values in part.items():
            both = None if values is None else {**(out.get(key) or {}), **values}
            out[key] = both
    return out


def frames(vary: Vary) -> tuple[list[Frame], list[Facts]]:
    """The moments of a host with what varies, and its facts."""
    joiner = Joiner()
    past: dict[str, Any] = {}
    seen, found = [], []
    for second in SECONDS:
        rows = tables(float(second), vary)
        past = {name: entries(rows[name], past.get(name, ()), 1.0) for name in TABLES}
        seen.append(Frame(float(second), float(second), past))
        found.append(joiner.build(seen[-1]))
    return seen, found


@cache
def plain(there: bool) -> tuple[list[Frame], list[Facts]]:
    return frames(THERE if there else HERE)


def close(second: float, vary: Vary) -> Frame:
    rows = {"sockets_tcp": tables(second, vary)["sockets_tcp"]}
    return Frame(second, second, {name: entries(rows[name], (), 1.0) for name in rows})


def sides(here: Vary | None = None, there: Vary | None = None) -> Sides:
    """What both hosts show at last, of which one has other values."""
    near, far = merged(HERE, here or {}), merged(THERE, there or {})
    left = plain(False) if here is None else frames(near)
    right = plain(True) if there is None else frames(far)
    model = Model(HOSTS)
    for second in SECONDS:
        looks = Close(close(second, near), close(second + LATER, far), close(second + LATER, near))
        both = Both(left[0][second], right[0][second], looks)
        seen = model.build(both, left[1][second], right[1][second])
    return seen


def every(seen: Sides) -> dict[str, Any]:
    """What is compared: the joined flows, the pairs of both hosts, and all sentences."""
    text = [*words.text(seen, HOSTS, lambda _target: True), *words.headline(seen, HOSTS)]
    return {
        "same": seen.same, "joined": seen.joined, "unmatched": seen.unmatched,
        "here": seen.here.more.get("pair"), "there": seen.there.more.get("pair"),
        "words": "\n".join(text),
    }  # fmt: skip


@cache
def base() -> dict[str, Any]:
    return every(sides())


def varied(table: str, *, there: bool) -> Iterator[str]:
    """A line for each variation of the table at one of the hosts that changes anything."""
    numbers, fields = VALUES[table]

    def line(what: str, vary: Vary) -> Iterator[str]:
        seen = sides(there=vary) if there else sides(here=vary)
        return described(what, difference(base(), every(seen)))

    for number in numbers:
        assert set(fields) <= set(collect.collector(table).Row.__dataclass_fields__)
        yield from line(f"{number} left out", {(table, number): None})
        now = {**declared(table, number), **((THERE if there else HERE).get((table, number)) or {})}
        for field, values in fields.items():
            for value in values:
                if value != now[field]:
                    changed = {field: value, **TWO.get((table, number, field), {})}
                    yield from line(f"{number} {field} = {value!r}", {(table, number): changed})


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("table", VALUES)
def test_what_a_value_of_one_host_changes(table: str, there: bool, update: bool) -> None:
    text = "\n".join(varied(table, there=there)) + "\n"
    same(GOLDEN / f"varied/{table}-{'there' if there else 'here'}.txt", text, update)


SIX = {"local": "fd00::1", "remote": "fd00::2", "family": 6}
ROUTED: Vary = {("routes", 0): {"interface": "bond0"}, ("addresses", 0): {"interface": "bond0"},
          ("nicstats", 0): {"interface": "eth1", "ring_drops": 40},
          ("qdiscs", 1): {"interface": "eth2", "kind": "fq", "parent": "root",
                           "root": True, "drops": 7},
          ("link_stats", 3): {"tx_dropped": 11},
          ("link_stats", 4): {"rx_bytes": 10**9, "rx_packets": 30_000}}  # fmt: skip
# what both hosts have other values in: that of here, that of there
CASES: dict[str, tuple[Vary, Vary]] = {
    "IPv6": ({("sockets_tcp", 0): SIX},
             {("sockets_tcp", 0): {**SIX, "local": "fd00::2", "remote": "fd00::1"},
              ("addresses", 1): {"address": "fd00::2"}}),
    "IPv4 in IPv6 sockets": ({("sockets_tcp", 0): {"local": "::ffff:10.0.0.1"}},
                             {("sockets_tcp", 0): {"remote": "::ffff:10.0.0.1"}}),
    "addresses translated": ({("sockets_tcp", 0): {"remote": "10.5.0.5"}},
                             {("sockets_tcp", 0): {"remote": "10.6.0.6"}}),
    "a bond here": (ROUTED, {}), "a bond there": ({}, ROUTED),
    "both send": ({}, {("sockets_tcp", 0): {"bytes_acked": 2 * 10**8, "bytes_received": 0,
                                            "notsent": 10**6, "unacked": 90}}),
    "both receive": ({("sockets_tcp", 0): {**GONE, "bytes_received": 2 * 10**8}}, {}),
    "another owner at each host": ({("socket_owners", 0): {"pid": None}},
                                   {("socket_owners", 0): {"pid": 703, "name": "tcpdump"}}),
    "one host": ({}, {("sockets_tcp", 0): HERE["sockets_tcp", 0], ("sockets_tcp", 2): {"cookie": 3,
                                                                                "inode": 105}}),
    "no flow": ({("sockets_tcp", 0): None, ("sockets_tcp", 1): None},
                {("sockets_tcp", 0): None, ("sockets_tcp", 1): None}),
    "only the other ends": ({("sockets_tcp", 0): None, ("sockets_tcp", 1): None}, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_both_hosts_show_together(case: str, update: bool) -> None:
    here, there = CASES[case]
    seen = every(sides(here, there))
    fields = "\n".join(f"{n}: {value}" for name in seen for n, value in flat(name, seen[name]))
    lines = [
        f"joined {len(seen['joined'])}, same {seen['same']}, {zlib.crc32(fields.encode()):08x}"
    ]
    lines += [f"{end}: {one.id}" for end in ("here", "there") for one in seen[end] or ()]
    text = "\n".join([*lines, seen["words"]]) + "\n"
    same(GOLDEN / f"varied/{case.replace(' ', '-')}.txt", text, update)


@pytest.mark.parametrize(("last", "lost"), [(0, False), (1, True), (10, True), (11, True)])
def test_losses_are_those_of_a_second_to_ten(last: int, lost: bool) -> None:
    """A model of ten seconds forgets the moments before, and one look counts nothing."""
    model = Model(HOSTS)
    (first, near), (other, far) = plain(False), plain(True)
    for second in range(last + 1):
        at = min(second, len(first) - 1)
        looks = Close(close(second, HERE), close(second + LATER, THERE), close(second, HERE))
        seen = model.build(Both(first[at], other[at], looks), near[at], far[at])
    assert {one.losses is not None for one in seen.joined} <= {lost}
    assert len(model.moments) == min(last, 10) + 1
    if lost:
        assert seen.joined[0].losses is not None
        assert seen.joined[0].losses.seconds == min(last, 10)


def test_a_socket_that_took_the_place_of_another_has_lost_nothing() -> None:
    seen = every(sides())
    model = Model(HOSTS)
    near, far = plain(False), plain(True)
    for second in SECONDS:
        mine = merged(HERE, {("sockets_tcp", 0): {"cookie": 1 + second}})
        looks = Close(close(second, mine), close(second, THERE), close(second, mine))
        both = Both(near[0][second], far[0][second], looks)
        again = model.build(both, near[1][second], far[1][second])
    assert seen["joined"][0].losses is not None
    assert again.joined[0].losses is None


def test_what_both_hosts_show(update: bool) -> None:
    """Every value that is known."""
    plain = ("None", "", "()", "False", "0")
    fields = [field for name, value in base().items() for field in flat(name, value)]
    text = "".join(f"{name}: {value}\n" for name, value in fields if value not in plain)
    same(GOLDEN / "varied/base.txt", text, update)
