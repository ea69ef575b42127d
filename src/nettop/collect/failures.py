"""Counters of failures that no other collector has: /proc/net/snmp, snmp6 and netstat.

`rules/counters.toml` names them, says what each means, and from which rate it matters.
Documentation/networking/snmp_counter.rst defines many of them. A kernel that lacks one counts none.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from .. import config
from ..frame.fields import counter, gauge, label
from ..frame.rates import Partly
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._lines import sections, singles
from ._table import Memory, Table, parsed

TABLE: Final = Table(
    every=2.0, may_rest=True, keep_open=("/proc/net/netstat", "/proc/net/snmp", "/proc/net/snmp6")
)
_KEYS: Final = {"names", "means", "cause", "advice", "least", "rests"}
_MAY: Final = {"reasons"}
_FILES: Final = {"snmp": sections, "netstat": sections, "snmp6": singles}


@dataclass(frozen=True, slots=True)
class Row:
    """One group of counters that has counted something since boot."""

    name: str = label("its first counter, e.g. PAWSEstab")
    means: str = label("what is counted")
    cause: str = label("why it happens")
    advice: str = label("how to find out more, and what helps")
    rests: str = label("the source that defines it")
    reasons: str = label("drop reasons of the kernel that say more")
    least: float = gauge("threshold: number in ten seconds", "events")
    events: int = counter("events", "events")


@dataclass(frozen=True, slots=True)
class _Group:
    row: Row  # with no events
    names: tuple[str, ...]


@cache
def groups() -> tuple[_Group, ...]:
    """The groups of `rules/counters.toml`; ValueError for a wrong file."""
    table = tomllib.loads((config.rules_folder() / "counters.toml").read_text("utf-8"))
    found = []
    for one in table["counter"]:
        if set(one) - _MAY != _KEYS:
            raise ValueError(f"rules/counters.toml: {one.get('names')}: needs {sorted(_KEYS)}")
        names = tuple(one["names"].split())
        name = names[0].partition(".")[2]
        row = Row(
            name, one["means"], one["cause"], one["advice"], one["rests"],
            one.get("reasons", ""), float(one["least"]), 0,
        )  # fmt: skip
        found.append(_Group(row, names))
    return tuple(found)


@cache
def _asked() -> frozenset[str]:
    return frozenset(name for group in groups() for name in group.names)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The groups that have counted. OSError without /proc/net/snmp, ValueError for another format.

    The same rows as before while the files are the same.
    """
    texts = {"snmp": source.text("/proc/net/snmp")}
    texts |= {
        name: _sysfs.word(source, f"/proc/net/{name}") or "" for name in _FILES if name not in texts
    }
    return parsed(memory, "failures", texts, _rows)


def _rows(texts: Mapping[str, str]) -> Sequence[Row]:
    figures: dict[str, int] = {}
    wrong: list[str] = []
    for name, text in texts.items():
        part = _FILES[name](text, _asked())
        figures |= part
        wrong += [f"/proc/net/{name}: {why}" for why in part.wrong[:1]]
    sums = [
        (group.row, sum(figures.get(name, 0) for name in group.names))
        for group in groups()
        if not wrong or figures.keys() >= set(group.names)  # else a sum without a line's figures
    ]
    rows = [replace(row, events=events) for row, events in sums if events]
    return Partly(rows, "; ".join(wrong)) if wrong else rows
