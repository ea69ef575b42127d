"""The value of an expression in three-valued logic, with the fields that decided it.

`evaluate` records what was read and which fields are unknown. The judge's loops use generated code
(`native`) because it is faster; a property test compares the two.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

from ...facts.kinds.core import Core
from .expression import Expression
from .functions import FUNCTIONS
from .moment import Scope
from .syntax import called, literal, path_of
from .values import KEEP, Evaluated, Read, Value, field_value, item, reads_of
from .vocabulary import Word, find, names

_COMPARE: Final[Mapping[type, Callable[..., bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_SUMS: Final[Mapping[type, Callable[..., Value]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def evaluate(expression: Expression, scope: Scope) -> Evaluated:
    """The expression's value in that scope."""
    return Walk(scope, expression.over).visit(expression.tree)


@cache
def _field(node: ast.Attribute, over: str) -> tuple[tuple[str, ...] | None, str, Word | None]:
    """A field's path (None: of a computed fact), its name and its word."""
    path = path_of(node)
    if path is None:
        return None, ast.unparse(node), find(Core, (node.attr,))
    if path[0] == "limits":
        return path, "", None
    kinds = names(over)
    kind = kinds.get(path[0]) or names(path[0])[path[0]]
    return path, ".".join(path), find(kind, path[1:])


class Walk:
    """Walks one expression on one target."""

    def __init__(self, scope: Scope, over: str) -> None:
        self.scope = scope
        self.over = over

    def word(self, field: ast.expr) -> Word | None:
        """The vocabulary's entry of a field; None for anything else."""
        return _field(field, self.over)[2] if isinstance(field, ast.Attribute) else None

    def visit(self, node: ast.expr) -> Evaluated:
        """The result of one part."""
        result: Evaluated = getattr(self, _VISIT[type(node)])(node)
        return result

    def _constant(self, node: ast.Constant) -> Evaluated:
        return Evaluated(literal(node))

    def _name(self, node: ast.Name) -> Evaluated:
        if node.id == "keep":
            return Evaluated(KEEP)
        return Evaluated(self.scope.moment.profile)

    def _attribute(self, node: ast.Attribute) -> Evaluated:
        path, field, word = _field(node, self.over)
        if path is None:
            base = self.visit(node.value)
            return self._merge(base, self.read(field, field_value(base.value, (node.attr,)), word))
        if path[0] == "limits":
            return Evaluated(self.scope.limits[path[1]])
        return self.read(field, field_value(self.scope.facts.get(path[0]), path[1:]), word)

    def read(self, field: str, value: Value | None, word: Word | None) -> Evaluated:
        """The result of reading a field: its value, and the read as evidence."""
        unit, text = (word.unit, word.help) if word else ("", "")
        return Evaluated(value, (Read(field, value, unit, text),))

    @staticmethod
    def _merge(base: Evaluated, last: Evaluated) -> Evaluated:
        return Evaluated(last.value, reads_of(base, last) if base.value is not None else base.reads)

    def _boolop(self, node: ast.BoolOp) -> Evaluated:
        decides = isinstance(node.op, ast.Or)  # True decides an `or`, False an `and`
        return self.junction([self.visit(value) for value in node.values], decides=decides)

    @staticmethod
    def junction(results: Sequence[Evaluated], *, decides: bool) -> Evaluated:
        """`or` (decides True) and `and` (False) in three-valued logic."""
        deciding = [result for result in results if result.value is decides]
        if deciding:
            return Evaluated(decides, reads_of(*deciding))
        unknown = [result for result in results if result.value is None]
        if unknown:
            return Evaluated(None, reads_of(*unknown))
        return Evaluated(not decides, reads_of(*results))

    def _unaryop(self, node: ast.UnaryOp) -> Evaluated:
        inner = self.visit(node.operand)
        if inner.value is None:
            return inner
        if isinstance(node.op, ast.Not):
            return Evaluated(not inner.value, inner.reads)
        return self.apply(operator.neg, inner)

    def apply(self, call: Callable[..., Value | None], *results: Evaluated) -> Evaluated:
        """A call on known values; unknown where one is not."""
        reads = reads_of(*results)
        if any(result.value is None for result in results):
            return Evaluated(None, tuple(r for r in reads if r.value is None) or reads)
        try:
            return Evaluated(call(*(result.value for result in results)), reads)
        except (ArithmeticError, TypeError, ValueError, IndexError):
            return Evaluated(None, reads)

    def _binop(self, node: ast.BinOp) -> Evaluated:
        return self.apply(_SUMS[type(node.op)], self.visit(node.left), self.visit(node.right))

    def _ifexp(self, node: ast.IfExp) -> Evaluated:
        test = self.visit(node.test)
        if test.value is None:
            return test
        chosen = self.visit(node.body if test.value else node.orelse)
        return Evaluated(chosen.value, reads_of(test, chosen))

    def _tuple(self, node: ast.Tuple) -> Evaluated:
        parts = [self.visit(value) for value in node.elts]
        return self.apply(lambda *values: values, *parts)

    def _subscript(self, node: ast.Subscript) -> Evaluated:
        index = int(literal(node.slice))
        return self.apply(lambda value: item(value, index), self.visit(node.value))

    def _compare(self, node: ast.Compare) -> Evaluated:
        sides = [self.visit(node.left), *(self.visit(right) for right in node.comparators)]
        pairs = [
            self.apply(_COMPARE[type(op)], sides[index], sides[index + 1])
            for index, op in enumerate(node.ops)
        ]
        return pairs[0] if len(pairs) == 1 else self.junction(pairs, decides=False)

    def _call(self, node: ast.Call) -> Evaluated:
        name = called(node)
        known = FUNCTIONS[name]
        if known.value is not None:
            return known.value(self, node)
        call = getattr(self.scope.moment, name) if known.moment else known.call
        assert call is not None  # noqa: S101 - every function has one of the three
        return self.apply(call, *(self.visit(arg) for arg in node.args))


_VISIT: Final = {
    getattr(ast, kind): f"_{kind.lower()}"
    for kind in (
        "Constant", "Name", "Attribute", "BoolOp", "UnaryOp", "BinOp", "IfExp", "Tuple",
        "Subscript", "Compare", "Call",
    )
}  # fmt: skip
