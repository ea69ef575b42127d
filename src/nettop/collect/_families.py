"""Counts of a driver that the driver table lacks, by words in the names of its statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from ..config import rules_folder

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+[a-z]*")


class Family(NamedTuple):
    """The statistics of one count: of each kind the first name that has its words."""

    sent: bool
    kinds: tuple[re.Pattern[str], ...]


class Families(NamedTuple):
    """The table `rules/statistic-families.toml`."""

    apart: re.Pattern[str]
    sent: re.Pattern[str]
    counts: Mapping[str, Family]


def words(name: str) -> str:
    """The words of a name: `RxFcsErr` is `rx fcs err`."""
    return " ".join(_PARTS.findall(name)).lower()


def counts(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The places of the statistics whose sum is each count; a count without any is absent."""
    table = _table()
    spoken = [(place, words(name)) for place, name in enumerate(names)]
    spoken = [(place, text) for place, text in spoken if not table.apart.search(text)]
    ways = {
        sent: [(place, text) for place, text in spoken if bool(table.sent.search(text)) is sent]
        for sent in (False, True)
    }
    found = {}
    for what, family in table.counts.items():
        firsts: dict[int, int] = {}  # the first place of each kind
        for place, text in ways[family.sent]:
            kind = next((n for n, one in enumerate(family.kinds) if one.search(text)), None)
            if kind is not None:
                firsts.setdefault(kind, place)
        if firsts:
            found[what] = tuple(sorted(firsts.values()))
    return found


@cache
def _table() -> Families:
    import tomllib

    text = (rules_folder() / "statistic-families.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return Families(
        re.compile(table.pop("not")),
        re.compile(table.pop("sent")),
        {
            what: Family(one.get("sent", False), tuple(map(re.compile, one["kinds"])))
            for what, one in table.items()
        },
    )
