"""What each field of each table changes in the facts: expected output, one file for each table.

The base is one host with every table (tests/support/whole_host.py). Each field of its rows gets
other values, one at a time: unknown, zero, the double, another word. A line of the expected output
has the value and the facts that differ; of many the first, and a checksum of all.
`pytest tests/facts/test_facts_varied.py --update` writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import whole_host
from golden_text import same
from varied import described, difference, flat
from whole_host import MOVING, STILL, declared, facts

from nettop import collect
from nettop.facts import Facts
from nettop.facts.kinds import kinds

GOLDEN = Path(__file__).parents[1] / "golden/facts"
WORDS = {
    "state": ("established", "listen", "T", "R"), "kind": ("bond", "tun", "gre", "tbf", "mq"),
    "governor": ("performance",), "function": ("xor",), "hash_tcp4": ("sd",),
    "name": ("net.ipv4.tcp_rmem",), "value": ("0", "1 2 3"), "release": ("4.18.0-80.el8",),
    "cmdline": ("iommu=pt", ""), "virtual": ("kvm",), "driver": ("virtio_net", "mlx5_core", "ena"),
    "slave_kind": ("bridge",), "type": ("DMA-FQ", "dgram"), "scope": ("link",),
    "local": ("10.0.0.1", "0.0.0.0", "::", "127.0.0.1"),
    "to": ("default",), "parent": ("ingress", "1:"), "interface": ("eth1",), "nic": ("eth1",),
    "congestion": ("bbr",), "mode": ("active-backup",), "queue": ("rx-1",), "cgroup": ("cpu:/app",),
    "operstate": ("down",), "duplex": ("half",), "flow": ("udp4",), "port": (),
    "link_ring": ("rx_over_errors", ""),
    "family": ("ndisc",), "reason": ("other",),
    "remote": ("10.0.0.77", "fd00::9"),
}  # fmt: skip
# the rows that are varied, where they are not the first
ROWS = {"topology": (4,), "cpufreq": (4,), "cpu": (4,), "cpuidle": (4,), "softnet": (4,),
        "softirqs": (4,), "links": (1, 4, 8), "sockets_tcp": (0, 1), "link_stats": (1,),
        "queues": (0, 4), "routes": (0, 1), "classes": (0, 1), "qdiscs": (0, 1)}  # fmt: skip


Known = dict[str, Any]


def every(found: Facts) -> Known:
    """Every fact and limit, by name."""
    out: Known = {"profile": found.profile}
    for kind in kinds().values():
        for fact in found.of(kind):
            out[kind.name + ("" if kind.name == "host" else f" {kind.target(fact)}")] = fact
    for limit in found.limits:
        out[f"limit of {limit.over} {limit.target} {limit.direction}"] = limit
    return out


@cache
def base() -> Known:
    return every(facts({}))


def values(field: Any, now: Any, *, first: bool) -> Iterator[Any]:
    """Other values of a field; of a counter its growth in a second. Only `first` rows lack it."""
    kind, _, optional = str(field.type).partition(" | ")
    if optional and first:
        yield None
    if field.metadata.get("kind") == "vector":
        yield from ({}, {0: 5000})
    elif kind in ("int", "float"):
        yield 2 * now if now else 5000
    elif kind == "bool":
        yield not now
    elif kind == "str":
        yield from WORDS.get(field.name, ("other",))
    elif kind.startswith("tuple"):
        yield ("eth2",) if "str" in kind else (1, 6)


def varied(table: str) -> Iterator[str]:
    """A line for each variation of the table that changes a fact."""
    yield from line("without the table", facts({}, table))
    yield from line("no such file", facts({}, table, "No such file or directory"))
    rows = STILL.get(table) or MOVING[table]
    for number in range(len(rows)) if table not in ROWS else ROWS[table]:
        yield from line(f"{number} left out", facts({(table, number): None}))
    for number in ROWS.get(table, (0,)):
        now = {**declared(table, number), **whole_host.GROWTH.get((table, number), {})}
        for field in collect.collector(table).Row.__dataclass_fields__.values():
            first = number == ROWS.get(table, (0,))[0] and table != "netns_tcp"
            for value in values(field, now[field.name], first=first):
                if value != now[field.name]:
                    found = facts({(table, number): {field.name: value}})
                    yield from line(f"{number} {field.name} = {value!r}", found)


def line(what: str, found: Facts) -> Iterator[str]:
    return described(what, difference(base(), every(found)))


@pytest.mark.parametrize("table", sorted({**STILL, **MOVING}))
def test_what_a_table_changes(table: str, update: bool) -> None:
    text = "\n".join(varied(table)) + "\n"
    same(GOLDEN / f"{table}.txt", text, update)


def test_the_base(update: bool) -> None:
    """Every field of the base that is known."""
    plain = ("None", "", "()", "{}", "False", "0")
    fields = [field for name, fact in base().items() for field in flat(name, fact)]
    text = "".join(f"{name}: {value[:200]}\n" for name, value in fields if value not in plain)
    same(GOLDEN / "base/all.txt", text, update)


def test_each_table_has_its_file() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*STILL, *MOVING}
