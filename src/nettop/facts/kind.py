"""The declaration of a kind of fact: names, target, parents and tables.

A kind is one module of `facts/kinds`: a frozen dataclass and `KIND`. Rules, their tests, their
explanations and the judge take everything from this declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from typing import Any

from ..frame.rates import Frame
from ..terms.dataclass import dataclass

Fact = Any
"""An instance of `Kind.type`: the name of a kind decides the class, as for the rows of a table."""
Key = Callable[[Fact], Hashable]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact, as rules name it in `over`.

    `build(frame, facts)` returns the facts of a kind that `joined` does not build, from the tables
    in `needs`; `facts` are the `Facts` built so far.
    """

    name: str
    type: type
    plural: str  # attribute of `Facts`, and list in the tests of rules
    key: Key  # identifies one fact
    target: Callable[[Fact], str]  # its name in a finding: rule@TARGET
    owner: Callable[[Fact], str | None] | None = None  # another name by which it can be muted
    parents: Mapping[str, Key] = field(default_factory=dict)  # kind → key of the parent
    needs_nic: bool = False  # judged only if its interface is known
    names: Mapping[str, str] = field(default_factory=dict)  # word of templates → field
    spread: bool = False  # a fix may be repeated for each fact
    example: Mapping[str, object] = field(default_factory=dict)  # defaults of a rule's test
    tables: Mapping[str, str] = field(default_factory=dict)  # field prefix → its table
    needs: tuple[str, ...] = ()
    build: Callable[[Frame, Any], tuple[Fact, ...]] | None = None
    lasts: bool = False  # `build` depends on `needs` only: the same tables give the same facts
