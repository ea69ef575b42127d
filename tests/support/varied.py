"""Other values of the tables of a host, and the facts that differ, as lines of text."""

import dataclasses
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from whole_host import GROWTH, Vary, declared

from nettop import collect
from nettop.facts import Facts
from nettop.facts.kinds import kinds
from nettop.frame.fields import type_of

# values of some fields that are not the double, or another word
OTHERS: dict[str, Any] = {
    "state": "listen", "kind": "bond", "governor": "performance", "function": "xor",
    "hash_tcp4": "sd", "name": "net.ipv4.tcp_rmem", "value": "1 2 3", "release": "4.18.0-80.el8",
    "cmdline": "iommu=pt", "virtual": "kvm", "driver": "virtio_net", "slave_kind": "bridge",
    "type": "DMA-FQ", "scope": "link", "local": "10.0.0.1", "to": "default", "parent": "ingress",
    "interface": "eth1", "nic": "eth1", "congestion": "bbr", "mode": "active-backup",
    "queue": "rx-1", "cgroup": "cpu:/app", "operstate": "down", "duplex": "half", "flow": "udp4",
    "link_ring": "rx_over_errors", "family": "ndisc", "remote": "10.0.0.77", "prefix": 16,
    "address": "10.0.0.9",
}  # fmt: skip
# the rows that are varied, where they are not the first
ROWS = {"topology": (4,), "cpufreq": (4,), "cpu": (4,), "cpuidle": (4,), "softnet": (4,),
        "softirqs": (4,), "links": (1, 4, 8), "sockets_tcp": (0, 1), "link_stats": (1,),
        "queues": (0, 4), "routes": (0, 1), "classes": (0, 1), "qdiscs": (0, 1)}  # fmt: skip
Known = Mapping[str, Any]  # "kind target" → fact


def every(facts: Facts) -> Known:
    """Every fact and limit."""
    known = {f"{kind.name} {kind.target(fact)}": fact for kind in kinds().values()
             for fact in facts.of(kind)}  # fmt: skip
    limits = {f"{one.over}-limit {one.target} {one.direction}": one for one in facts.limits}
    return {**known, **limits, "profile": facts.profile}


def flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The fields of a fact below a name, as text; of a row in it without its labels: the fact's."""
    if dataclasses.is_dataclass(value):
        row = type(value).__module__.startswith("nettop.collect")
        for field in dataclasses.fields(value):
            if row and field.metadata["kind"] == "label":
                continue
            yield from flat(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        yield f"{name}.count", str(len(value))
        for number, one in enumerate(value):
            yield from flat(f"{name}[{number}]", one)
    else:
        yield name, f"{value:.6g}" if isinstance(value, float) else str(value)


def difference(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs, as `field: before → after`."""
    out = []
    for name in sorted({*now, *was}):
        if now.get(name) != was.get(name):
            left, right = dict(flat(name, was.get(name))), dict(flat(name, now.get(name)))
            out += [
                f"{field}: {left.get(field, '-')} → {right.get(field, '-')}"
                for field in sorted({*left, *right})
                if left.get(field) != right.get(field)
            ]
    return out


PART = ".cause"  # of the measurement of a stage: a part of `because`


def names(was: Known, now: Known) -> set[str]:
    """The fields that differ, and the targets that are gone or new."""
    found = set()
    for key in {*was, *now}:
        kind, _, target = key.partition(" ")
        left, right = was.get(key), now.get(key)
        if left is None or right is None:
            found.add(f"{kind} {'-' if right is None else '+'}{target}")
        elif left != right:
            fields = set(flat("", left)) ^ set(flat("", right))
            parts = (
                re.sub(r"\[\d+\]", "", name).strip(".").split(".") for name, _ in fields
                if not name.endswith(PART)
            )  # fmt: skip
            found |= {".".join([kind, *one[:2]]).rstrip(".") for one in parts}
    return found


def by_field(tables: Iterable[str], found: Callable[[str], Mapping[str, set[str]]]) -> str:
    """Each field with the tables whose change changes it; in brackets the ways of that change."""
    told: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for table in tables:
        for way, fields in found(table).items():
            for field in fields:
                told[field][table].append(way.removeprefix("other "))
    lines = []
    for field, of in sorted(told.items()):
        text = ", ".join(f"{name} ({' '.join(ways)})" for name, ways in sorted(of.items()))
        lines += textwrap.wrap(f"{field}: {text}", 100, subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def other(field: Any, now: Any) -> tuple[str, Any]:
    """Which values vary with a field, and another one; of a counter the growth in a second."""
    kind, _ = type_of(field)
    if field.metadata.get("kind") == "vector":
        return "other numbers", {0: 5000}
    if kind in ("int", "float"):
        return "other numbers", OTHERS.get(field.name, 2 * now if now else 5000)
    if kind == "bool":
        return "other switches", not now
    return "other words", OTHERS.get(field.name, "other") if kind == "str" else (
        ("eth2",) if "str" in kind else (1, 6)
    )  # fmt: skip


def ways(table: str, also: Vary | None = None) -> dict[str, dict[tuple[str, int], dict[str, Any]]]:
    """The rows with what varies, by what varies; `also` has other values of the base."""
    out: dict[str, dict[tuple[str, int], dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for number in ROWS.get(table, (0,)):
        now = {**declared(table, number), **GROWTH.get((table, number), {}),
               **((also or {}).get((table, number)) or {})}  # fmt: skip
        for field in collect.collector(table).Row.__dataclass_fields__.values():
            way, value = other(field, now[field.name])
            if value != now[field.name]:
                out[way][table, number][field.name] = value
            if type_of(field)[1] and now[field.name] is not None:
                out["unknown"][table, number][field.name] = None
    return out
