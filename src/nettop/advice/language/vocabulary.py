"""The words an expression may use: facts and their fields, and which fact is whose parent.

Everything comes from the dataclasses of `nettop.facts`; a field added there can be used in a rule
without a line here.
"""

from __future__ import annotations

import sys
from dataclasses import Field, fields
from functools import cache
from typing import Any, Final, TypeAlias

from ...facts.kinds import kinds
from ...frame.fields import type_of
from ...terms.dataclass import dataclass

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
    return {field.name: _word(kind, field) for field in fields(kind)}


def _word(kind: type, field: Field[Any]) -> Word:
    plain, optional = type_of(field)
    unit, text = field.metadata.get("unit", ""), field.metadata.get("help", "")
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
