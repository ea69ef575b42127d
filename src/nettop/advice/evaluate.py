"""The value of an expression in three-valued logic, with the fields that decided it.

This is the careful way: it says what was read and which field is unknown. The judge's loops are the
fast way (`native`); both give the same answer, which a property test holds.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ..facts.core import Core
from .expression import Expression, Limits, path_of
from .functions import FUNCTIONS, KEEP, item
from .moment import Moment
from .vocabulary import Word, find, names

_COMPARE: Final[Mapping[type, Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_SUMS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True, slots=True)
class Read:
    """One field that was read: its name in the expression, its value (None: unknown), its unit."""

    field: str
    value: Any
    unit: str = ""
    help: str = ""

    @property
    def measure(self) -> str:
        """The unit with its time: what `nic.per_s` counts is per second."""
        return f"{self.unit}/s" if ".per_s." in self.field and self.unit else self.unit


@dataclass(frozen=True, slots=True)
class Result:
    """A value (None: unknown) and the reads that decided it."""

    value: Any
    reads: tuple[Read, ...] = ()

    def unknown(self) -> tuple[Read, ...]:
        """The reads without a value."""
        return tuple(read for read in self.reads if read.value is None)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names of an expression stand for on one target, and the moment around it."""

    facts: Mapping[str, Any]  # a parent that is not known is None
    moment: Moment
    limits: Limits
    target: str = ""


def evaluate(expression: Expression, scope: Scope) -> Result:
    """The expression's value in that scope."""
    return _Walk(scope, expression.over).visit(expression.tree)


def _reads(*results: Result) -> tuple[Read, ...]:
    some = [result.reads for result in results if result.reads]
    if len(some) < 2:
        return some[0] if some else ()
    return tuple(dict.fromkeys(read for reads in some for read in reads))


@cache
def _way(node: ast.Attribute, over: str) -> tuple[tuple[str, ...] | None, str, Word | None]:
    """A field's path (None: of a computed fact), its name and its word."""
    path = path_of(node)
    if path is None:
        return None, ast.unparse(node), find(Core, (node.attr,))
    if path[0] == "limits":
        return path, "", None
    kinds = names(over)
    kind = kinds.get(path[0]) or names(path[0])[path[0]]
    return path, ".".join(path), find(kind, path[1:])


@cache
def _literal(node: ast.expr) -> Any:
    """The value that is written there; `literal_eval` makes functions that hold each other."""
    return ast.literal_eval(node)


class _Walk:
    def __init__(self, scope: Scope, over: str) -> None:
        self.scope = scope
        self.over = over

    def visit(self, node: ast.expr) -> Result:
        found: Result = getattr(self, _VISIT[type(node)])(node)
        return found

    def _constant(self, node: ast.Constant) -> Result:
        return Result(node.value)

    def _name(self, node: ast.Name) -> Result:
        if node.id == "keep":
            return Result(KEEP)
        return Result(self.scope.moment.profile)

    def _attribute(self, node: ast.Attribute) -> Result:
        path, field, word = _way(node, self.over)
        if path is None:
            base = self.visit(node.value)
            value = None if base.value is None else getattr(base.value, node.attr)
            return self._merge(base, self._read(field, value, word))
        if path[0] == "limits":
            return Result(self.scope.limits[path[1]])
        value = self.scope.facts.get(path[0])
        for name in path[1:]:
            value = None if value is None else getattr(value, name)
        return self._read(field, value, word)

    def _read(self, field: str, value: Any, word: Word | None) -> Result:
        unit, text = (word.unit, word.help) if word else ("", "")
        return Result(value, (Read(field, value, unit, text),))

    @staticmethod
    def _merge(base: Result, last: Result) -> Result:
        return Result(last.value, _reads(base, last) if base.value is not None else base.reads)

    def _boolop(self, node: ast.BoolOp) -> Result:
        decides = isinstance(node.op, ast.Or)  # True decides an `or`, False an `and`
        return self._junction([self.visit(value) for value in node.values], decides=decides)

    @staticmethod
    def _junction(results: list[Result], *, decides: bool) -> Result:
        deciding = [result for result in results if result.value is decides]
        if deciding:
            return Result(decides, _reads(*deciding))
        unknown = [result for result in results if result.value is None]
        if unknown:
            return Result(None, _reads(*unknown))
        return Result(not decides, _reads(*results))

    def _unaryop(self, node: ast.UnaryOp) -> Result:
        inner = self.visit(node.operand)
        if inner.value is None:
            return inner
        if isinstance(node.op, ast.Not):
            return Result(not inner.value, inner.reads)
        return Result(-inner.value, inner.reads)

    def _apply(self, call: Callable[..., Any], *results: Result) -> Result:
        reads = _reads(*results)
        if any(result.value is None for result in results):
            return Result(None, tuple(r for r in reads if r.value is None) or reads)
        try:
            return Result(call(*(result.value for result in results)), reads)
        except (ArithmeticError, TypeError, ValueError, IndexError):
            return Result(None, reads)

    def _binop(self, node: ast.BinOp) -> Result:
        return self._apply(_SUMS[type(node.op)], self.visit(node.left), self.visit(node.right))

    def _ifexp(self, node: ast.IfExp) -> Result:
        test = self.visit(node.test)
        if test.value is None:
            return test
        chosen = self.visit(node.body if test.value else node.orelse)
        return Result(chosen.value, _reads(test, chosen))

    def _tuple(self, node: ast.Tuple) -> Result:
        parts = [self.visit(value) for value in node.elts]
        return self._apply(lambda *values: values, *parts)

    def _subscript(self, node: ast.Subscript) -> Result:
        index = _literal(node.slice)
        return self._apply(lambda value: item(value, index), self.visit(node.value))

    def _compare(self, node: ast.Compare) -> Result:
        sides = [self.visit(node.left), *(self.visit(right) for right in node.comparators)]
        pairs = [
            self._apply(_COMPARE[type(op)], sides[index], sides[index + 1])
            for index, op in enumerate(node.ops)
        ]
        return pairs[0] if len(pairs) == 1 else self._junction(pairs, decides=False)

    def _call(self, node: ast.Call) -> Result:
        name = node.func.id  # type: ignore[attr-defined]
        special = getattr(self, f"_call_{name}", None)
        if special is not None:
            found: Result = special(node)
            return found
        call: Any = FUNCTIONS[name].call or getattr(self.scope.moment, name)
        return self._apply(call, *(self.visit(arg) for arg in node.args))

    def _call_known(self, node: ast.Call) -> Result:
        inner = self.visit(node.args[0])
        return Result(inner.value is not None, tuple(r for r in inner.reads if r.value is not None))

    def _call_on(self, node: ast.Call) -> Result:
        nic, feature = self.scope.facts.get("nic"), _literal(node.args[1])
        found = None if nic is None else self.scope.moment.feature(nic, feature)
        value = None if found is None else found.on
        return Result(value, (Read(f"feature.{feature}", value, "", f"offload {feature} is on"),))

    def _call_fixed(self, node: ast.Call) -> Result:
        nic, feature = self.scope.facts.get("nic"), _literal(node.args[1])
        found = None if nic is None else self.scope.moment.feature(nic, feature)
        if found is None:
            return Result(None, (Read(f"feature.{feature}", None, "", f"offload {feature}"),))
        return Result(found.fixed)

    def _call_sysctl(self, node: ast.Call) -> Result:
        name = _literal(node.args[0])
        value = self.scope.moment.sysctl(name)
        return Result(value, (Read(f"sysctl.{name}", value, "", "sysctl"),))

    def _call_worst(self, node: ast.Call) -> Result:
        field: Any = node.args[0]
        text = ast.unparse(node)
        value = self.scope.moment.worst(text, self.scope.target, self.visit(field).value)
        return self._read(text, value, _way(field, self.over)[2])

    def _call_since_boot(self, node: ast.Call) -> Result:
        path = path_of(node.args[0]) or ()
        nic, name = self.scope.facts.get("nic"), path[-1]
        value = None if nic is None else getattr(nic.total, name)
        kind = names("nic")["nic"]
        return self._read(f"nic.total.{name}", value, find(kind, ("total", name)))

    def _any(self, node: ast.Call, *, decides: bool) -> Result:
        inner = node.args[0]
        if isinstance(inner, ast.Tuple):
            return self._junction([self.visit(part) for part in inner.elts], decides=decides)
        return self._apply(any if decides else all, self.visit(inner))

    def _call_any(self, node: ast.Call) -> Result:
        return self._any(node, decides=True)

    def _call_all(self, node: ast.Call) -> Result:
        return self._any(node, decides=False)


_VISIT: Final = {
    getattr(ast, kind): f"_{kind.lower()}"
    for kind in (
        "Constant", "Name", "Attribute", "BoolOp", "UnaryOp", "BinOp", "IfExp", "Tuple",
        "Subscript", "Compare", "Call",
    )
}  # fmt: skip
