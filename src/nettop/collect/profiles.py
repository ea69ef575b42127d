"""What cores and threads do: samples of the last ten seconds, by class of work.

perf_event_open(2). The first reading begins to sample all cores (`bpf.profile`), so the table is
read on request only, and needs root. Of the stack of a sample the innermost function that a class
has decides (`profile-classes.toml`).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from ..frame.fields import gauge, label, light
from ..frame.rates import Partly
from ..terms.dataclass import dataclass
from . import _counted
from ._table import Table

TABLE: Final = Table(every=0.9, counted="profile", absent=True)
IDLE: Final = "idle"
PROGRAM: Final = "program"
OTHER: Final = "other"  # functions that no class has
_HEADER: Final = re.compile(r"([a-z]{1,16}) (\d{1,6}) (\d{1,12}) (\d{1,12})", re.ASCII)


@light
@dataclass(frozen=True, slots=True)
class Row:
    """Samples of one thread on one core in one function."""

    core: int = label("CPU number")
    thread: int = label("thread; 0: the core was idle, or served an interrupt while it was")
    work: str = label("class of work: copy, checksum, netfilter and others; idle; other: no class")
    function: str = label("function of the kernel that decides the class, or mapped file")
    pid: int = gauge("process", default=0)
    name: str = gauge("name of the thread", default="")
    samples: int = gauge("samples in the last ten seconds", "samples", default=0)


class Stack(NamedTuple):
    """What one thread did on one core."""

    core: int
    thread: int
    pid: int
    file: str  # mapped file of a program; empty in the kernel
    functions: tuple[str, ...]  # of the kernel, the outermost first
    name: str

    @property
    def work(self) -> tuple[str, str]:
        """The class, and the function or file that decides it."""
        return _work(self.file, self.functions)


class Samples(NamedTuple):
    """The last ten seconds."""

    seconds: float
    event: str  # cycles or clock
    rate: int  # samples/s of a CPU
    lost: int  # samples that the rings had no room for
    omitted: int  # samples of rare stacks
    stacks: Mapping[Stack, int]
    why: str = ""  # lines that could not be read


def parse(text: str) -> Sequence[Row]:
    """The rows of `bpf.profile` lines; ValueError for any other."""
    known = samples(text)
    found = rows(known.stacks)
    return Partly(found, known.why) if known.why else found


def rows(stacks: Mapping[Stack, int]) -> list[Row]:
    """The rows of these stacks with their samples."""
    sums = Counter[tuple[int, int, str, str]]()
    names: dict[int, tuple[int, str]] = {}
    for one, count in stacks.items():
        sums[one.core, one.thread, *one.work] += count
        names[one.thread] = one.pid, one.name
    return [Row(*key, *names[key[1]], count) for key, count in sums.items()]


def samples(text: str) -> Samples:
    """The samples of `bpf.profile` lines by stack; ValueError for any other."""
    seconds, _, rest = text.partition("\n")
    header, _, lines = rest.partition("\n")
    told = _HEADER.fullmatch(header)
    if told is None:
        raise ValueError(f"not a profile: {header[:60]!r}")
    known = _counted.rows(f"{seconds}\n{lines}", _line, "profile")
    stacks = Counter[Stack]()
    for stack, count in known:
        stacks[stack] += count
    event, rate, lost, omitted = told[1], *map(int, told.groups()[1:])
    why = known.why if isinstance(known, Partly) else ""
    return Samples(_counted.seconds(seconds), event, rate, lost, omitted, stacks, why)


def _line(line: str, seconds: float) -> tuple[Stack, int]:  # noqa: ARG001
    core, thread, pid, count, file, functions, name = line.split(" ", 6)
    numbers = _counted.number(core), _counted.number(thread), _counted.number(pid)
    kernel = tuple(_counted.told(functions).split(";")) if functions != "-" else ()
    if not (kernel or _counted.told(file)):
        raise ValueError(f"not a stack: {line[:60]!r}")
    return Stack(*numbers, _counted.told(file), kernel, name), _counted.number(count)


@cache
def words(work: str) -> _counted.Words:
    """What a class means; one that is not in the table says nothing."""
    return _table().words.get(work, _counted.Words("", ""))


def _work(file: str, functions: tuple[str, ...]) -> tuple[str, str]:
    if file:
        return _first(_table().files, file) or PROGRAM, file
    inner = functions[-1]
    for function in reversed(functions):
        if work := class_of(function, itself=function is inner):
            return work, function
    return OTHER, inner


@cache
def class_of(function: str, *, itself: bool = True) -> str:
    """The class of a function of the kernel, or of what it calls; empty without one."""
    work = _first(_table().functions, function)
    return work or (_first(_table().alone, function) if itself else "")


class _Table(NamedTuple):
    """What the classes mean; the class of each name, and of each beginning of names with a `*`."""

    words: Mapping[str, _counted.Words]
    functions: Mapping[str, str]
    alone: Mapping[str, str]
    files: Mapping[str, str]


def _first(classes: Mapping[str, str], name: str) -> str:
    """The class of the name, else of its longest beginning; empty without one."""
    begins = (f"{name[:end]}*" for end in range(len(name), -1, -1))
    return next((classes[one] for one in (name, *begins) if one in classes), "")


@cache
def _table() -> _Table:
    entries = [*_counted.entries("profile-classes.toml", "class")]
    words = {one["name"]: words for one, words in entries}
    classes = (
        {text: one["name"] for one, _ in entries for text in one.get(field, ())}
        for field in ("functions", "alone", "files")
    )
    return _Table(words, *classes)
