"""Rows of what programs in the kernel have counted: the seconds, then a line for each row.

Lines that begin with `@` are moments: how many of what were in a part of time. One that begins with
`!` says why a part of it is counted no more. What reasons of drops and errors of calls mean is in
two tables of the rules folder.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

from .. import config
from ..files.bounds import count
from ..frame.rates import Partly
from . import _lines

_Row = TypeVar("_Row", bound=Any)
PART: Final = 2**23 / 1e9  # seconds
_MOMENT: Final = "@"
_STOPPED: Final = "! "
_SECONDS: Final = re.compile(r"\d{1,9}\.\d{1,6}", re.ASCII)


def rows(text: str, row: Callable[[str, float], _Row], what: str) -> Sequence[_Row]:
    """`row` of each line and the seconds, a `Partly` if the text says so; ValueError as there."""
    first, _, rest = text.partition("\n")
    lines = (rest if _SECONDS.fullmatch(first) else text).splitlines()
    counts = (line for line in lines if not line.startswith((_MOMENT, _STOPPED)))
    found: Sequence[_Row] = _lines.rows(counts, lambda line: row(line, seconds(first)), what)
    why = next((line.removeprefix(_STOPPED) for line in lines if line.startswith(_STOPPED)), "")
    return Partly(found, why) if why else found


class Moment(NamedTuple):
    """Events of one kind in a part of time, `PART` seconds."""

    part: int  # its number
    events: int
    what: str  # reason of a drop; call and error of a call, as `connect/ECONNREFUSED`
    thread: str  # name of the one that ran on that CPU


def moments(text: str) -> list[Moment]:
    """The moments of a text; a line that is none is left out."""
    found = []
    for line in text.splitlines():
        part, _, rest = line.partition(" ")
        events, _, rest = rest.partition(" ")
        what, _, thread = rest.partition(" ")
        if part.startswith(_MOMENT) and thread:
            with suppress(ValueError):
                found.append(Moment(number(part[1:]), number(events), what, thread))
    return found


def seconds(line: str) -> float:
    """The seconds of the first line; 0 where there are none."""
    return float(line) if _SECONDS.fullmatch(line) else 0.0


def number(word: str) -> int:
    """A count; ValueError if it is not made of digits."""
    if not (word.isascii() and word.isdigit()):
        raise ValueError(f"not a count: {word[:20]!r}")
    return count(word)


def told(word: str) -> str:
    """The word; `-` stands for none."""
    return "" if word == "-" else word


UNKNOWN: Final = "unknown"
NORMAL: Final = "normal"
TURNED: Final = "turned away"
RETURNED: Final = "returned"  # a datagram that a socket gave back: a fault if all are


class Words(NamedTuple):
    """What a reason or an error means."""

    means: str  # a title
    kind: str  # loss, fault, refused, aborted, turned away, returned, normal or unknown
    cause: str = ""  # what decides it
    advice: str = ""
    rests: str = ""  # the source that says so
    rule: str = ""  # the rule that explains it
    counters: str = ""  # that each failed call raises as well

    @property
    def normal(self) -> bool:
        """Whether it is no fault by itself on a sound host."""
        return self.kind in (NORMAL, RETURNED)


def case(file: str, name: str, values: Mapping[str, object]) -> Mapping[str, Any]:
    """The words of a case of which more is known, with these values in the place of their names."""
    return {field: words.format_map(values) for field, words in _cases(file).get(name, {}).items()}


@cache
def _cases(file: str) -> Mapping[str, Mapping[str, str]]:
    """By name the words of a case that differ from those of its reason or error."""
    return {one["name"]: {name: one[name] for name in Words._fields if name in one}
            for one, _ in entries(file, "case")}  # fmt: skip


def entries(file: str, name: str) -> Iterator[tuple[Mapping[str, Any], Words]]:
    """Each `[[name]]` of a table, and its words."""
    text = (config.rules_folder() / file).read_text("utf-8")
    for one in tomllib.loads(text)[name]:
        yield one, Words(*(one.get(field, "") for field in Words._fields))
