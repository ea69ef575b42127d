"""Text with {expressions} in it: `{nic.ring.rx}` becomes `256 descriptors`, `{nic}` the name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from ..text import safe
from ..units import amount
from .evaluate import Scope, evaluate
from .expression import Expression, ExpressionError, Limits, parse
from .vocabulary import LABELS, find, names

UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Template:
    """Pieces of text and expressions in turn."""

    parts: tuple[str | Expression, ...]

    def prose(self, scope: Scope) -> str:
        """For a person: values with units, unknown ones as "unknown", nothing a terminal obeys."""
        return "".join(
            part if isinstance(part, str) else _shown(part, scope) for part in self.parts
        )

    def name(self, scope: Scope) -> str | None:
        """For a program: values as they are; None when one is unknown."""
        out = []
        for part in self.parts:
            value = part if isinstance(part, str) else evaluate(part, scope).value
            if value is None:
                return None
            out.append(str(value))
        return "".join(out)

    def source(self) -> str:
        """As it was written, for pages that show a rule without a target."""
        return "".join(p if isinstance(p, str) else f"{{{_short(p)}}}" for p in self.parts)


def _short(part: Expression) -> str:
    for alias, field in LABELS.items():
        if part.text == field:
            return alias
    return part.text


def _shown(part: Expression, scope: Scope) -> str:
    result = evaluate(part, scope)
    if result.value is None:
        return UNKNOWN
    unit = result.reads[0].unit if len(result.reads) == 1 else ""
    return safe(shown(result.value, unit))


def shown(value: Any, unit: str = "") -> str:
    """A value for a person; CPU numbers and the like stay whole."""
    return amount(value, unit)


def template(
    text: str, over: str, limits: Limits | None = None, also: Collection[str] = ()
) -> Template:
    """Read a text with {expressions}; ExpressionError says which is wrong."""
    parts: list[str | Expression] = []
    plain, rest = "", text
    while rest:
        at = next((i for i, char in enumerate(rest) if char in "{}"), len(rest))
        plain, rest = plain + rest[:at], rest[at:]
        if rest[:2] in ("{{", "}}"):
            plain, rest = plain + rest[0], rest[2:]
        elif rest[:1] == "{":
            inside, closed, rest = rest[1:].partition("}")
            if not closed:
                raise ExpressionError("a { without its }; write {{ for a brace")
            parts += [
                plain,
                parse(_full(inside.strip(), over, also), over, limits or {}, also=also),
            ]
            plain = ""
        elif rest:
            raise ExpressionError("a } without its {; write }} for a brace")
    parts.append(plain)
    return Template(tuple(part for part in parts if part))


def _full(word: str, over: str, also: Collection[str]) -> str:
    """The field behind a short name: `nic` is `nic.name`, or `flow.nic` in a rule over flows."""
    if word not in LABELS:
        return word
    if word not in also and word != over and find(names(over)[over], (word,)):
        return f"{over}.{word}"
    fact = LABELS[word].partition(".")[0]
    if fact in names(over) or fact in also:
        return LABELS[word]
    raise ExpressionError(f"{{{word}}} has no meaning in a rule over {over}")
