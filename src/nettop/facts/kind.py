"""The declaration of a kind of fact: names, target, parents and tables.

A kind is one module of `facts/kinds`: a frozen dataclass and `KIND`. Rules, their tests, their
explanations and the judge take everything from this declaration; what it leaves out follows from
the class and its labels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import field, fields
from operator import attrgetter
from typing import Any, Final

from ..frame.rates import Frame
from ..terms.dataclass import dataclass

Fact = Any
"""An instance of `Kind.type`: the name of a kind decides the class, as for the rows of a table."""
Key = Callable[[Fact], Hashable]
_DERIVED: Final[Any] = None  # follows from the class

# how its numbers of processes and ports are written, beside what it says in words
NUMBERS: Final = {
    **dict.fromkeys(("pid", "pids", "behind"), "[{}]"),
    **dict.fromkeys(("port", "ports", "local_port", "remote_port"), "port {}"),
}
ENDS: Final = ("local", "remote")  # addresses of a connection: its id has them with their ports


def about(fact: Fact) -> Iterator[str]:
    """The programs, addresses and ports that a fact is about: its texts, `[7]` and `port 80`."""
    named = (one.name for one in fields(fact) if one.name not in ENDS)
    for name in dict.fromkeys((*named, *NUMBERS)):
        value, form = getattr(fact, name, None), NUMBERS.get(name, "")
        if name == "ports" and isinstance(value, int):  # their number
            continue
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, str):
                yield part
            elif part and form:
                yield form.format(part)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact, as rules name it in `over`.

    `build(frame, facts)` returns the facts of a kind that `joined` does not build, from the tables
    in `needs`; `facts` are the `Facts` built so far.
    """

    type: type
    plural: str  # attribute of `Facts`, and list in the tests of rules
    needs: tuple[str, ...] = ()
    build: Callable[[Frame, Any], tuple[Fact, ...]] | None = None
    lasts: bool = False  # `build` depends on `needs` only: the same tables give the same facts
    name: str = ""  # default: that of the class
    key: Key = _DERIVED  # identifies one fact; default: its labels
    target: Callable[[Fact], str] = _DERIVED  # its name in a finding: rule@TARGET; default: labels
    owner: Callable[[Fact], str | None] | None = None  # another name by which it can be muted
    parents: Mapping[str, Key] = field(default_factory=dict)  # kind → key of the parent
    needs_nic: bool = False  # judged only if its interface is known
    names: Mapping[str, str] = _DERIVED  # word of templates → field; default: the first label
    spread: bool = False  # a fix may be repeated for each fact
    example: Mapping[str, object] = field(default_factory=dict)  # defaults of a rule's test
    tables: Mapping[str, str] = _DERIVED  # field prefix → its table; default: the first in `needs`

    def __post_init__(self) -> None:
        """Derive what was not declared."""
        name = self.name or self.type.__name__.lower()
        labels = [one.name for one in fields(self.type) if one.metadata["kind"] == "label"]
        derived = {
            "key": attrgetter(*labels) if labels else None,
            "target": lambda fact: "/".join(str(getattr(fact, label)) for label in labels),
            "names": {name: f"{name}.{labels[0]}"} if labels else {},
            "tables": {"": self.needs[0]} if self.needs else {},
        }
        object.__setattr__(self, "name", name)
        for field_name, value in derived.items():
            if getattr(self, field_name) is _DERIVED:
                object.__setattr__(self, field_name, value)
