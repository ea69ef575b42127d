"""What each table of a host tells of what both ends of a flow see: expected output.

Both are the host of `whole_host.py`; the other one has the other ends of its two connections. Of
each table the unknown, the numbers, the switches or the words are others, as in test_facts_varied.
`pytest tests/facts/pair/test_pair_varied.py --update` writes the expected output anew.
"""

import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from golden_text import same
from varied import by_field, flat, names, ways
from whole_host import Vary, tables

from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.facts.pair import words
from nettop.facts.pair.model import Model, Sides
from nettop.frame.pairs import entries
from nettop.frame.rates import Both, Close, Frame

GOLDEN = Path(__file__).parents[2] / "golden/pair"
HOSTS = ("db1", "web2")
SECONDS = range(3)
LATER = 0.001  # seconds between two readings of the sockets
TABLES = """
    topology links netclass features addresses routes sysctls socket_owners sockets_tcp
    sockets_udp processes threads cpu softnet link_stats nicstats pause qdiscs
""".split()
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


def test_what_each_table_of_a_host_tells(update: bool) -> None:
    """This host sends one flow and receives the other."""

    def found(table: str) -> dict[str, set[str]]:
        return {way: names(base(), every(sides(vary))) for way, vary in ways(table, HERE).items()}

    same(GOLDEN / "told-by.txt", by_field(sorted(TABLES), found), update)


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


def test_what_both_hosts_show_together(update: bool) -> None:
    """Of each case the fields that differ, and the sentences that the base does not have."""
    known = base()["words"].splitlines()
    out = ["as it is", *(f"  {line}" for line in known)]
    for case, (here, there) in CASES.items():
        seen = every(sides(here, there))
        ids = [f"{end} {one.id}" for end in ("here", "there") for one in seen[end] or ()]
        out += ["", case, f"  joined {len(seen['joined'])}, same {seen['same']}: {', '.join(ids)}"]
        fields = " ".join(sorted(names(base(), seen))) if seen["joined"] else ""
        out += textwrap.wrap(fields, 98, initial_indent="  ", subsequent_indent="  ")
        out += [f"  + {line}" for line in seen["words"].splitlines() if line not in known]
    same(GOLDEN / "cases.txt", "".join(f"{line.rstrip()}\n" for line in out), update)


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
    """Every value that is known of each host."""
    ends = [(end, name) for end in ("here", "there") for name in flat(end, base()[end])]
    plain = ("None", "", "()", "False", "0")
    text = "".join(f"{name}: {value}\n" for _, (name, value) in ends if value not in plain)
    same(GOLDEN / "ends.txt", text, update)
