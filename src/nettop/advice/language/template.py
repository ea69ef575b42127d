"""Text with {expressions}: `{nic.ring.rx}` becomes `256 descriptors`, `{nic}` the name."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from typing import Final

from ...facts.flow_words import name as name_of
from ...facts.kinds.flow import Flow
from ...facts.limits import words
from ...facts.limits.stages import declared
from ...terms.dataclass import dataclass
from ...terms.text import safe
from ...terms.units import amount
from .evaluate import evaluate
from .expression import Expression, parse
from .moment import Scope
from .native import value_of
from .syntax import ExpressionError, Limits, called, path_of
from .values import Read, Value
from .vocabulary import KINDS, LABELS, NUMBER, find, names

_PIECES: Final = re.compile(r"(\{\{|\}\}|\{[^{}]*\}|[{}])")
_CALLED: Final = {
    "nic.name": "the interface", "nic": "the interface", "queue.name": "the queue",
    "core.cpu": "N", "queue.cpu": "N", "nic.irq_top_cpu": "N", "process.irq_cpu": "N",
    "process.name": "the process", "process": "the process",
    "process.pid": "pid", "pid": "pid", "flow.id": "the flow", "profile": "[profile]",
    "host.name": "the host",
}  # fmt: skip
UNKNOWN: Final = "unknown"
_PROCESS: Final = ("flow.process", "process.name")  # {process} in a rule over flows, and elsewhere
_UNITS: Final = {"ratio": "%", "us": "µs"}
_TYPED: Final = re.compile(
    r"(?:ethtool -\S+|link show|\bdev|bonding/|net/) ?$"
)  # text that ends inside a command


@dataclass(frozen=True, slots=True)
class Template:
    """Pieces of text and expressions in order."""

    parts: tuple[str | Expression, ...]

    def prose(self, scope: Scope) -> str:
        """The text for users: values with units or "unknown", without terminal control codes."""
        return "".join(
            part if isinstance(part, str) else _shown(part, scope) for part in self.parts
        )

    def name(self, scope: Scope) -> str | None:
        """The text for programs: values without units; None if a value is unknown."""
        out = []
        for part in self.parts:
            value = part if isinstance(part, str) else value_of(part, scope)
            if value is None:
                return None
            out.append(str(value))
        return "".join(out)

    def form(self) -> str:
        """The template as written in a rule: `ring.rx@{nic}`."""
        return "".join(p if isinstance(p, str) else f"{{{_alias(p)}}}" for p in self.parts)

    def general(self, limits: Limits) -> str:
        """The text without a target: a name is "the interface" (IF in a command), a number N."""
        out = ""
        for part in self.parts:
            meaning = part if isinstance(part, str) else _meaning(part, limits)
            out += "IF" if meaning == "the interface" and _TYPED.search(out) else meaning
        return out[:1].upper() + out[1:] if out.startswith("the ") else out


def _alias(part: Expression) -> str:
    return next((alias for alias, field in LABELS.items() if field == part.text), part.text)


def _meaning(part: Expression, limits: Limits) -> str:
    tree = part.tree
    if isinstance(tree, ast.Call) and called(tree) == "mean":  # of a rate: it has the same unit
        tree = tree.args[0]
    path = path_of(tree)
    if path is None:
        return "[CPUs]" if part.text.startswith("cpu_list(") else "N"
    if path[0] == "limits":
        return f"{limits[path[1]]}"
    if path[-1] in _CALLED or part.text in _CALLED:
        return _CALLED.get(part.text) or _CALLED[path[-1]]
    word = find(KINDS[path[0]], path[1:]) if path[0] in KINDS else None
    if word is None or word.type == NUMBER:
        unit = Read(part.text, None, word.unit).measure if word is not None else ""
        return f"N {_UNITS.get(unit, unit)}".rstrip()
    return f"[{re.split('[:;,]', word.help, maxsplit=1)[0]}]"


def _shown(part: Expression, scope: Scope) -> str:
    result = evaluate(part, scope)
    if result.value is None:  # a socket of the kernel has no process
        flow = scope.facts.get("flow") if part.text in _PROCESS else None
        return safe(name_of(flow)) if isinstance(flow, Flow) else UNKNOWN
    if part.text in LABELS.values() or part.text.endswith(".pid"):  # a name, not an amount
        return safe(str(result.value))
    units = {read.measure for read in result.reads}
    unit = units.pop() if len(units) == 1 else ""
    told = safe(shown(spoken(part.text, result.value, scope.facts.get("flow")), unit))
    return told + scope.moment.facts.means.over(result.seconds)


def spoken(field: str, value: Value | None, flow: object = None) -> Value | None:
    """The value of a field in words where it has words: `sndbuf` is `the send buffer`.

    `flow`: the one whose limit it is, from which the kind of a shaper is known.
    """
    if field != "flow.limit" or value not in declared():
        return value
    return words.known(str(value), flow.limit_how if isinstance(flow, Flow) else "")


def shown(value: Value | None, unit: str = "") -> str:
    """A value as text with its unit: `1 queue`, `1500 bytes`; items of a list separated by `;`."""
    if value in ((), ""):
        return "none"
    if isinstance(value, tuple) and any(" " in str(one) for one in value):
        return "; ".join(map(str, value))
    if unit == "bytes" and isinstance(value, int | float) and value < _EXACT and value % 1024:
        return f"{value:.0f} bytes"
    return amount(value, unit)


_EXACT: Final = 10_000


def template(
    text: str, over: str, limits: Limits | None = None, also: Collection[str] = ()
) -> Template:
    """Parse a text with {expressions}; ExpressionError names the wrong one."""
    parts: list[str | Expression] = []
    plain = ""
    pieces = _PIECES.split(text)
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            plain += piece
        elif piece in ("{{", "}}"):
            plain += piece[0]
        elif len(piece) == 1:
            other = "a { without its }; write {{ for a brace"
            raise ExpressionError(
                other if piece == "{" else "a } without its {; write }} for a brace"
            )
        else:
            word = _full(piece[1:-1].strip(), over, also)
            parts += [plain, parse(word, over, limits or {}, also=also)]
            plain = ""
    parts.append(plain)
    return Template(tuple(part for part in parts if part))


def _full(word: str, over: str, also: Collection[str]) -> str:
    """The field of a short name: `nic` is `nic.name`, or `flow.nic` in a rule over flows."""
    if word not in LABELS:
        return word
    if word not in also and word != over and find(names(over)[over], (word,)):
        return f"{over}.{word}"
    fact = LABELS[word].partition(".")[0]
    if fact in names(over) or fact in also:
        return LABELS[word]
    raise ExpressionError(f"{{{word}}} has no meaning in a rule over {over}")
