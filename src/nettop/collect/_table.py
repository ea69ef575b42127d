"""What a collector declares of its table, and remembers from one reading to the next."""

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple, TypeVar

from ..terms.dataclass import dataclass


class Table(NamedTuple):
    """How a table is read, and what its absence means: the `TABLE` of a collector."""

    every: float = 0.0  # seconds between readings; 0: each frame
    # the module of `host.bpf` that counts or samples the rows in the kernel: read when asked for
    counted: str = ""
    on_request: bool = False  # of these one that is read alone, never with the others
    asked: bool = False  # read only while a question about a way is open: see `ways`
    # what nobody can judge without this table: a host that lacks it is not called sound; a table
    # that lacks this is a witness: that it was not read is said beside the verdict
    needed: str = ""
    whole: bool = False  # a needed table of which a part could not be read was not read
    may_be_empty: bool = False  # a needed table without rows was read
    instead: str = ""  # the collector to read if this one fails
    absent: bool = False  # hosts without that hardware or module have no file of it
    optional: bool = False  # most hosts lack it: reports do not list it as missing
    may_rest: bool = False  # read every other second while no pane shows the table
    prompt: bool = False  # its rates are the picture: never read less often for the budget
    beside: str = ""  # the table with which it is read, one after the other: of the same time
    keep_open: tuple[str, ...] = ()  # files that exist while the kernel runs: opened once
    memory: str = ""  # collectors with the same word share one memory
    timeless: bool = False  # the memory depends on texts only: a recording that restarts keeps it


Memory = dict[type, object]
"""One object of each class: a collector declares a class for what it remembers."""

_Known = TypeVar("_Known")
_Raw = TypeVar("_Raw")
_Result = TypeVar("_Result")


@dataclass
class _Parsed:
    by_name: dict[str, tuple[object, Any]] = field(default_factory=dict)  # input and result


def recall(memory: Memory, kind: type[_Known]) -> _Known:
    """The object of class `kind` in `memory`; created without arguments at the first reading."""
    known = memory.get(kind)
    if not isinstance(known, kind):
        known = memory[kind] = kind()
    return known


def parsed(memory: Memory, name: str, raw: _Raw, parse: Callable[[_Raw], _Result]) -> _Result:
    """`parse(raw)`, or the same object as last time if `raw` is equal to that of last time.

    `name` tells the inputs of one collector apart.
    """
    known = recall(memory, _Parsed).by_name
    old = known.get(name)
    if old is None or old[0] != raw:
        old = known[name] = raw, parse(raw)
    result: _Result = old[1]
    return result
