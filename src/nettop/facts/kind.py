"""What each kind of fact declares of itself: its names, target, parents and tables.

A kind is one module of `facts/kinds`: a frozen dataclass of what is known, and `KIND`. Rules, their
tests, the explanations and the loops of the judge take everything from that declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..frame.rates import Frame

Key = Callable[[Any], Hashable]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact, as rules name it in `over`.

    `build(frame, facts)` makes those of a kind that no other module makes, from the tables in
    `needs`; `facts` are the `Facts` without them.
    """

    name: str
    type: type
    plural: str  # where `Facts` holds them, and their list in the tests of rules
    key: Key  # what tells one from another
    target: Callable[[Any], str]  # how a finding names one: rule@TARGET
    owner: Callable[[Any], str | None] | None = None  # a name by which it can be muted as well
    parents: Mapping[str, Key] = field(default_factory=dict)  # kind → key of the parent
    needs_nic: bool = False  # judged only where its interface is known
    names: Mapping[str, str] = field(default_factory=dict)  # short words of templates → field
    spread: bool = False  # a fix may be repeated for each of them
    example: Mapping[str, Any] = field(default_factory=dict)  # what a rule's test need not say
    tables: Mapping[str, str] = field(default_factory=dict)  # field prefix → its table
    needs: tuple[str, ...] = ()
    build: Callable[[Frame, Any], tuple[Any, ...]] | None = None
