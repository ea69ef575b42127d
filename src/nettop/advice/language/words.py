"""Conditions and values in words: `receive ring < receive ring maximum`.

The name of a field is its help text, so a new field of a fact needs no entry here.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Final

from ...terms.text import listed
from ...terms.units import AMOUNTS, Units
from .expression import Expression
from .functions import FUNCTIONS
from .syntax import Limit, Limits, called, literal, path_of
from .template import shown, spoken
from .values import Value
from .vocabulary import KINDS, NUMBER, SWITCH, Word, find

_ASIDE: Final = re.compile(r"[:;(]|, e\.g\.|, itself |, as ")
_NAMES: Final = {  # names of fields whose help text only lists the values
    "nic.kind": "kind of interface",
    "queue.direction": "direction of the queue",
}
_OPS: Final = {
    ast.Gt: ">", ast.GtE: ">=", ast.Lt: "<", ast.LtE: "<=", ast.Eq: "=",
    ast.NotEq: "≠", ast.In: "is one of", ast.NotIn: "is not one of",
}  # fmt: skip
_MIRROR: Final = {ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Lt: ast.Gt, ast.LtE: ast.GtE}
_FEW: Final = {ast.Gt: "any", ast.Eq: "no"}
_NTH: Final = ("first", "second", "third", "fourth")
_SUMS: Final = {ast.Add: "+", ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "/", ast.Mod: "modulo"}


@cache
def parts(expression: Expression) -> tuple[Expression, ...]:
    """The operands of the outermost `and`; the expression itself where there is none."""
    tree = expression.tree
    sides = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    return tuple(Expression(ast.unparse(one), expression.over, SWITCH) for one in sides)


def in_words(expression: Expression, limits: Limits) -> str:
    """The expression in words, with the value of each named limit."""
    return _in_words(expression, tuple(limits.items()))


@cache
def _in_words(expression: Expression, limits: tuple[tuple[str, Limit], ...]) -> str:
    return Phraser(dict(limits)).phrase(expression.tree)


@cache
def field_name(field: str) -> str:
    """The name of a field in evidence: `packets dropped, receive ring full`."""
    for prefix in ("sysctl.", "feature."):
        if field.startswith(prefix):
            return field.removeprefix(prefix)
    try:
        return Phraser({}).phrase(ast.parse(field, mode="eval").body)
    except (SyntaxError, ValueError, AttributeError):
        return field


_RATES: Final = {"bit/s": 1, "bytes/s": 8}  # units of rates of data, in bits


def value_text(field: str, value: Value | None, measure: str, units: Units | None = None) -> str:
    """The value of a field with its unit; the unit is left out where the name contains it.

    `units`: those that the user chose for rates of data.
    """
    if units is not None and measure in _RATES and isinstance(value, int | float):
        return units.speed(value * _RATES[measure])
    if field == "host.kernel" and isinstance(value, tuple):
        return ".".join(map(str, value))
    return shown(spoken(field, value), _unit(measure, field_name(field)))


def _unit(measure: str, name: str) -> str:
    """No unit where the name counts it: `packet sockets` is 2, not `2 sockets`.

    A unit that decides how the number is written stays: a loss ratio is 67%.
    """
    return "" if measure in name.split() and measure not in AMOUNTS else measure


def _word(path: tuple[str, ...]) -> Word | None:
    if path[0] == "nic" and path[1:2] == ("total",):
        path = ("nic", "per_s", *path[2:])
    return find(KINDS[path[0]], path[1:]) if path[0] in KINDS else None


class Phraser:
    """Writes one expression of a rule in words."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def phrase(self, node: ast.expr) -> str:
        """A part of an expression in words; a boolean as a statement."""
        words: str = getattr(self, f"_{type(node).__name__.lower()}")(node)
        return words

    def measure(self, node: ast.expr) -> str:
        """The unit of a number that is compared with this expression."""
        if isinstance(node, ast.Call) and called(node) == "share":
            return "ratio"
        if isinstance(node, ast.Call) and called(node) == "events":
            return self.measure(node.args[0]).removesuffix("/s")
        for inner in ast.walk(node):
            path = path_of(inner) if isinstance(inner, ast.Attribute) else None
            if path is None and isinstance(inner, ast.Attribute):  # of a core found by number
                path = ("core", inner.attr)
            word = _word(path) if path else None
            if word is not None and word.type == NUMBER:
                each = path is not None and "per_s" in path[:-1] and word.unit
                return f"{word.unit}/s" if each else word.unit
        return ""

    def _constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, bool):
            return "yes" if node.value else "no"
        return shown(literal(node)) if not isinstance(node.value, str) else node.value or "none"

    def _name(self, node: ast.Name) -> str:
        return {"profile": "the profile", "keep": "unchanged"}.get(node.id, node.id)

    def _attribute(self, node: ast.Attribute) -> str:
        path = path_of(node)
        if path is None:
            return f"{_field_help(('core', node.attr))} of {self.phrase(node.value)}"
        if path[0] == "limits" and path[1] in self.limits:
            return _figure(self.limits[path[1]])
        return _field_help(path) + " (total)" * (path[1:2] == ("total",))

    def _switch(self, node: ast.expr, *, on: bool) -> str:
        """A boolean field as a statement."""
        if isinstance(node, ast.Attribute):
            return f"{self.phrase(node)}: {'yes' if on else 'no'}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            about = node.args[-1]
            what = self.phrase(about)
            forms = FUNCTIONS[node.func.id].statement
            if forms:
                return forms[0 if on else 1].format(what)
        words = self.statement(node)
        return words if on else f"not ({words})"

    def statement(self, node: ast.expr) -> str:
        """A boolean expression as a statement."""
        return self._switch(node, on=True) if _bare(node) else self.phrase(node)

    def _unaryop(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return self._switch(node.operand, on=False)
        return f"-{self.phrase(node.operand)}"

    def _boolop(self, node: ast.BoolOp) -> str:
        texts = [self.statement(one) for one in node.values]
        inside = (isinstance(one, ast.BoolOp) for one in node.values)
        whole = [f"({text})" if deep else text for text, deep in zip(texts, inside, strict=True)]
        return f" {'and' if isinstance(node.op, ast.And) else 'or'} ".join(whole)

    def _compare(self, node: ast.Compare) -> str:
        sides = [node.left, *node.comparators]
        pairs = list(zip(sides, node.ops, sides[1:], strict=False))
        return " and ".join(self._pair(*pair) for pair in pairs)

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        kind = type(op)
        if _given(left) and not _given(right):
            left, right, kind = right, left, _MIRROR.get(kind, kind)
        if isinstance(right, ast.Constant) and isinstance(right.value, bool):
            return self._switch(left, on=right.value == (kind is ast.Eq))
        counted = isinstance(left, ast.Call) and ast.unparse(left.func) == "len"
        if counted and kind in _FEW and self._number(right) == 0:
            return f"{_FEW[kind]} {self.phrase(left.args[0])}"  # type: ignore[attr-defined]
        about = self.phrase(left)
        value = self._value(right, left)
        return f"{about} {_OPS[kind]} {value}"

    def _value(self, node: ast.expr, beside: ast.expr) -> str:
        """A number with the unit of the field it is compared with."""
        number = self._number(node)
        if number is not None:
            return shown(number, _unit(self.measure(beside), self.phrase(beside)))
        field = ast.unparse(beside)
        if isinstance(node, ast.Tuple) and field == "host.kernel":
            return ".".join(self.phrase(one) for one in node.elts)
        return self._spoken(node, field)

    def _spoken(self, node: ast.expr, field: str) -> str:
        """A value, or several, that a field is compared with."""
        if isinstance(node, ast.Tuple):
            return listed((self._spoken(one, field) for one in node.elts), "or")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return str(spoken(field, node.value)) or "none"
        return self.phrase(node)

    def _binop(self, node: ast.BinOp) -> str:
        left, right = node.left, node.right
        if isinstance(node.op, ast.Mult):
            if not _given(left):
                left, right = (right, left) if _given(right) else (left, right)
            value = self._number(left)
            if value is not None:
                times = f"{value:.0%} of" if 0 < value < 1 else f"{value:g} ×"
                return f"{times} {self.phrase(right)}"
            return f"{self.phrase(left)} × {self.phrase(right)}"
        return f"{self.phrase(left)} {_SUMS[type(node.op)]} {self.phrase(right)}"

    def _number(self, node: ast.expr) -> float | None:
        """A constant of the rule or the value of a limit."""
        path = path_of(node) if isinstance(node, ast.Attribute) else None
        value: object = node.value if isinstance(node, ast.Constant) else None
        if path and path[0] == "limits":
            value = self.limits.get(path[1])
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _ifexp(self, node: ast.IfExp) -> str:
        test = self.statement(node.test)
        return f"{self.phrase(node.body)} (if not {test}: {self.phrase(node.orelse)})"

    def _tuple(self, node: ast.Tuple) -> str:
        return listed((self.phrase(one) for one in node.elts), "or")

    def _subscript(self, node: ast.Subscript) -> str:
        index = int(literal(node.slice))
        if index < 0:
            which = "last" if index == -1 else f"{-index}th last"
        else:
            which = _NTH[index] if index < len(_NTH) else f"{index + 1}th"
        return f"the {which} value of {self.phrase(node.value)}"

    def _call(self, node: ast.Call) -> str:
        name = called(node)
        known = FUNCTIONS[name]
        if known.statement is not None:
            return self._switch(node, on=True)
        if known.phrase is not None:
            return known.phrase(self, node)
        args = [self.phrase(arg) for arg in node.args]
        if known.words is not None:
            return known.words(args)
        return f"{name.replace('_', ' ')} of {listed(args, 'and')}"


def _field_help(path: tuple[str, ...]) -> str:
    """The help text of a field without its details."""
    whole = ".".join(path)
    word = _word(path)
    help_ = word.help if word is not None and word.help else whole
    return _NAMES.get(whole) or _ASIDE.split(help_, maxsplit=1)[0].strip()


def _figure(value: Limit) -> str:
    return listed(map(str, value), "or") if isinstance(value, tuple) else shown(value)


def _given(node: ast.expr) -> bool:
    """Whether the node is a constant or a limit of the rule."""
    if isinstance(node, ast.Attribute):
        return (path_of(node) or ("",))[0] == "limits"
    return isinstance(node, ast.Constant)


def _bare(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute)
