"""The words an expression may use: facts and their fields, and which fact is whose parent.

Everything comes from the dataclasses of `nettop.facts`; a field added there can be used in a rule
without a line here.

The values of expressions: what a field, a constant, a limit or a function can give.

An unknown value is None and never a `Value`: annotations say `Value | None` where it may be.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from typing import Final, TypeAlias

from ...facts.kinds import kinds
from ...facts.kinds.core import Core
from ...terms.dataclass import dataclass

Limit: TypeAlias = "float | tuple[str, ...]"  # a threshold: a number, or a list of texts
Limits: TypeAlias = Mapping[str, Limit]  # by name


class ExpressionError(ValueError):
    """One sentence: the fault in the expression, and the nearest valid name."""


class NoCode(Exception):  # noqa: N818 - not an error: `evaluate` is used instead
    """This form has no native code; `evaluate` works it out."""


@cache
def literal(node: ast.expr) -> float | str:
    """A constant that the checker accepted: a text, or a number that may have a minus.

    Cached, because `ast.literal_eval` leaves a reference cycle at each call.
    """
    value: float | str = ast.literal_eval(node)
    return value


@cache
def text_of(node: ast.expr) -> str:
    """The text of a part of a rule, worked out once: the rules are the same in each frame."""
    return ast.unparse(node)


def path_of(node: ast.expr) -> tuple[str, ...] | None:
    """`nic.ring.rx` as ("nic", "ring", "rx"); None for anything but names and dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None


def called(node: ast.Call) -> str:
    """The name of the function that is called; for anything else in its place, the text."""
    return node.func.id if isinstance(node.func, ast.Name) else text_of(node.func)


class KeepElement:
    """The element of a sysctl that stays as it is: `keep` in `triple(keep, keep, 8388608)`."""

    def __repr__(self) -> str:
        return "keep"


KEEP: Final = KeepElement()
# a yes or no, a number, a text, a list; a core found by `core(cpu)`; `keep` inside `triple`
Value: TypeAlias = "bool | int | float | str | Core | KeepElement | tuple[Value, ...]"


@lru_cache(maxsize=4096)
def setting(text: str) -> Value:
    """A sysctl's text as a number, a tuple of numbers, or the text itself."""
    words = text.split()
    try:
        numbers = tuple(int(word) for word in words)
    except ValueError:
        return text.strip()
    if not numbers:
        return ""
    return numbers[0] if len(numbers) == 1 else numbers


def item(value: Value, index: int) -> Value | None:
    """`value[index]`; None where the value is no tuple or has no such element."""
    if not isinstance(value, tuple) or not -len(value) <= index < len(value):
        return None
    return value[index]


def field_value(fact: object, path: Sequence[str]) -> Value | None:
    """The field at the end of a path such as `("ring", "rx")`; None where a part is unknown."""
    value: object = fact
    for name in path:
        if value is None:
            return None
        value = getattr(value, name)
    return value  # type: ignore[return-value]  # the vocabulary lets paths end in values only


@dataclass(frozen=True, slots=True)
class Read:
    """One field that was read: its name in the expression, its value (None: unknown), its unit."""

    field: str
    value: Value | None
    unit: str = ""
    help: str = ""

    @property
    def measure(self) -> str:
        """The unit with its time: fields of `nic.per_s` count per second."""
        return f"{self.unit}/s" if ".per_s." in self.field and self.unit else self.unit


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A value (None: unknown) and the reads that decided it."""

    value: Value | None
    reads: tuple[Read, ...] = ()

    def unknown(self) -> tuple[Read, ...]:
        """The reads without a value."""
        return tuple(read for read in self.reads if read.value is None)


def reads_of(*results: Evaluated) -> tuple[Read, ...]:
    """The reads of several results, each once, in order."""
    some = [result.reads for result in results if result.reads]
    if len(some) < 2:
        return some[0] if some else ()
    return tuple(dict.fromkeys(read for reads in some for read in reads))


NUMBER: Final = "number"
TEXT: Final = "text"
SWITCH: Final = "yes/no"
TUPLE: Final = "list"
FACT: Final = "fact"
ANY: Final = "any"

KINDS: Final = {name: kind.type for name, kind in kinds().items()}
PARENTS: Final = {name: tuple(kind.parents) for name, kind in kinds().items()}
LABELS: Final = {word: path for kind in kinds().values() for word, path in kind.names.items()}
STAGES: Final = ("flow.limit", "path.worst")  # fields whose values are names of stages
RENAMED: Final = {  # old names of fields and stages, and what a rule that has one is told
    "host.backlog_drops": "it is host.socket_backlog_drops now (TCPBacklogDrop)",
    "host.backlog_dropped": "it is host.cpu_backlog_drops now (softnet_stat)",
    "nic.coalesce.dynamic": "it is nic.dynamic_moderation now",
    "path.worst socket": "it is 'rcvbuf' on receive and 'sndbuf' on send now",
    "path.worst process": "it is 'thread' now",
}
_TYPES: Final = {"int": NUMBER, "float": NUMBER, "str": TEXT, "bool": SWITCH}


Class: TypeAlias = type  # `Word` has a field named `type`


@dataclass(frozen=True, slots=True)
class Word:
    """One field: type, whether it may be unknown, unit and help; `kind`: its class if a fact."""

    type: str
    optional: bool
    unit: str
    help: str
    kind: Class | None = None


@cache
def words(kind: type) -> dict[str, Word]:
    """The fields of a fact."""
    return {f.name: _word(kind, str(f.type), dict(f.metadata)) for f in fields(kind)}


def _word(kind: type, annotation: str, metadata: dict[str, str]) -> Word:
    plain = annotation.removesuffix(" | None")
    optional = plain != annotation
    unit, text = metadata.get("unit", ""), metadata.get("help", "")
    if plain in _TYPES:
        return Word(_TYPES[plain], optional, unit, text)
    if plain.startswith("tuple["):
        return Word(TUPLE, optional, unit, text)
    nested: object = getattr(sys.modules[kind.__module__], plain, None)
    if not isinstance(nested, type):
        return Word(ANY, optional, unit, text)
    return Word(FACT, optional, unit, text, nested)


@cache
def names(over: str) -> dict[str, type]:
    """The facts an expression of a rule over that fact may name."""
    known = (over, *PARENTS[over], "host")
    return {name: KINDS[name] for name in known}


@cache
def find(kind: type, path: tuple[str, ...]) -> Word | None:
    """The field at the end of a path such as `("ring", "rx")`; None when there is none."""
    word: Word | None = None
    here: type | None = kind
    for name in path:
        if here is None:
            return None
        word = words(here).get(name)
        if word is None:
            return None
        here = word.kind
    return word
