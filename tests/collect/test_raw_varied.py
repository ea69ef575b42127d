"""What each file and message of a recorded host changes in the rows, one change at a time.

An answer of the kernel is absent, empty, cut off, without a line, or has another figure. A line of
the expected output has the changes and the fields that differ, or the error. A collector that
remembers is asked a second time, too: after the plain answers it sees the changed one.
`pytest tests/collect/test_raw_varied.py --update` writes it anew.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from altered import ABSENT, Altered, others
from folded import folded
from golden_text import same
from recorded_hosts import HERE

from nettop import collect
from nettop.host.recording import Replay, load

GOLDEN = Path(__file__).parents[1] / "golden/raw"
HOSTS = ("vm-vmxnet3-drops", "netns-send")
SHOWN = 2
GROUPS = 8  # kinds of files of one collector


@cache
def first(host: str) -> Replay:
    """The first moment of a recording, which no reading changes."""
    return Replay(load(str(HERE / f"hosts/{host}.host")))


def rows(name: str, source: Any, memory: dict[type, object]) -> Sequence[Any] | str:
    """The rows, or the error in words."""
    try:
        return list(collect.rows(name, source, {collect.table(name).memory or name: memory}))
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def fields_of(found: Sequence[Any] | str) -> dict[str, str]:
    if isinstance(found, str):
        return {"error": found}
    return {
        f"[{number}].{field.name}": str(getattr(row, field.name))
        for number, row in enumerate(found)
        for field in fields(row)
    }


def told(was: dict[str, str], found: Sequence[Any] | str) -> str:
    """What differs: the first fields, and how many there are."""
    now = fields_of(found)
    changes = [
        f"{name} {was.get(name, '-')[:40]} → {now.get(name, '-')[:120]}"
        for name in {**was, **now}
        if was.get(name) != now.get(name)
    ]
    if isinstance(found, str):
        return found[:160]
    more = [f"{len(changes)} in all"] if changes[SHOWN:] else []
    return "; ".join([*changes[:SHOWN], *more])


def varied(host: str, name: str) -> Iterator[str]:
    plain = Altered(first(host))
    known = rows(name, plain, {})
    was = fields_of(known)
    yield f"{host}: {known if isinstance(known, str) else f'{len(known)} rows'}"
    if isinstance(known, str):
        return
    groups: dict[str, str] = {}
    for answer in plain.kept:
        groups.setdefault(re.sub(r"\d+|(?<=/net/)[^/ ]+", "#", answer), answer)
    for answer in list(groups.values())[:GROUPS]:
        found: dict[str, list[str]] = {}  # what differs → changes
        for what, other in others(answer, plain.kept[answer]):
            once = told(was, rows(name, Altered(first(host), answer, other), {}))
            memory: dict[type, object] = {}
            rows(name, Altered(first(host)), memory)
            again = told(was, rows(name, Altered(first(host), answer, other), memory))
            later = f"; the second time: {again or 'the same'}" if again != once else ""
            if once or later:
                found.setdefault((once or "the same") + later, []).append(what)
        yield from (f"  {answer} {', '.join(changes)}: {text}" for text, changes in found.items())


def has_rows(host: str, name: str) -> bool:
    found = rows(name, first(host), {})
    return not isinstance(found, str) and bool(found)


# `nicstats_raw` reads as `nicstats` does
@folded("name", [one for one in collect.always() if one != "nicstats_raw"])
def test_what_a_changed_answer_changes(name: str, update: bool) -> None:
    host = next((host for host in HOSTS if has_rows(host, name)), None)
    if host is None:  # its own test has rows of it
        assert not (GOLDEN / f"{name}.txt").exists()
        return
    text = "\n".join(varied(host, name)) + "\n"
    same(GOLDEN / f"{name}.txt", text, update)


def test_absent_is_no_answer() -> None:
    with pytest.raises(FileNotFoundError):
        Altered(first(HOSTS[0]), "/proc/stat", ABSENT).text("/proc/stat")
