"""Conditions and values as a person would say them: `receive ring below largest receive ring`.

What is said of a field is its own help: one that is added to a fact needs no line here.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Any, Final

from ...terms.text import listed
from .expression import Expression
from .functions import FUNCTIONS
from .syntax import Limits, literal, path_of
from .template import shown
from .vocabulary import KINDS, NUMBER, SWITCH, Word, find

_ASIDE: Final = re.compile(r"[:;(]|, e\.g\.|, itself |, as ")
_CALLED: Final = {  # what its help only lists, or says in the company of others
    "nic.kind": "kind of interface",
    "nic.rx_load": "receive load",
    "nic.tx_load": "send load",
    "nic.channels.combined_max": "combined channels it can have",
    "core.idle": "idle time",
    "core.ksoftirqd": "load of ksoftirqd",
    "queue.direction": "direction of the queue",
    "process.distance": "distance from its interrupts' CPU",
    "flow.distance": "distance of its process from its interrupts",
    "capture.core_load": "load of its owner's CPU",
    "capture.on_irq_cpu": "its owner's CPU takes the interrupts",
    "capture.on_irq_sibling": "its owner's CPU is an SMT sibling of the interrupts' CPU",
}
_OPS: Final = {
    ast.Gt: "above", ast.GtE: "at least", ast.Lt: "below", ast.LtE: "at most", ast.Eq: "is",
    ast.NotEq: "is not", ast.In: "is one of", ast.NotIn: "is none of",
}  # fmt: skip
_MIRROR: Final = {ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Lt: ast.Gt, ast.LtE: ast.GtE}
_FEW: Final = {ast.Gt: "there are", ast.Eq: "there are no"}
_NTH: Final = ("first", "second", "third", "fourth")
_SUMS: Final = {ast.Add: "+", ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "/", ast.Mod: "modulo"}


@cache
def parts(expression: Expression) -> tuple[Expression, ...]:
    """What must hold all together: the sides of its outermost `and`."""
    tree = expression.tree
    sides = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    return tuple(Expression(ast.unparse(one), expression.over, one, SWITCH) for one in sides)


def said(expression: Expression, limits: Limits) -> str:
    """The expression in words, each named limit as the figure it is."""
    return _said(expression, tuple(limits.items()))


@cache
def _said(expression: Expression, limits: tuple[tuple[str, Any], ...]) -> str:
    return Speaker(dict(limits)).say(expression.tree)


@cache
def named(field: str) -> str:
    """A field in words, as evidence names it: `lost because the receive ring was full`."""
    for prefix in ("sysctl.", "feature."):
        if field.startswith(prefix):
            return field.removeprefix(prefix)
    try:
        return Speaker({}).say(ast.parse(field, mode="eval").body)
    except (SyntaxError, ValueError, AttributeError):
        return field


def told(field: str, value: Any, measure: str) -> str:
    """The value of a field with its unit."""
    if field == "host.kernel" and isinstance(value, tuple):
        return ".".join(map(str, value))
    return shown(value, measure)


def _word(path: tuple[str, ...]) -> Word | None:
    if path[0] == "nic" and path[1:2] == ("total",):
        path = ("nic", "per_s", *path[2:])
    return find(KINDS[path[0]], path[1:]) if path[0] in KINDS else None


class Speaker:
    """Says one expression of a rule in words."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def say(self, node: ast.expr) -> str:
        """A part of an expression; what is yes or no as a statement."""
        words: str = getattr(self, f"_{type(node).__name__.lower()}")(node)
        return words

    def measure(self, node: ast.expr) -> str:
        """The unit a figure would have beside this."""
        for inner in ast.walk(node):
            path = path_of(inner) if isinstance(inner, ast.Attribute) else None
            if path is None and isinstance(inner, ast.Attribute):  # of a core that is looked up
                path = ("core", inner.attr)
            word = _word(path) if path else None
            if word is not None and word.type == NUMBER:
                return f"{word.unit}/s" if path and "per_s" in path and word.unit else word.unit
        return ""

    def _constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, bool):
            return "yes" if node.value else "no"
        return shown(node.value) if not isinstance(node.value, str) else node.value or "none"

    def _name(self, node: ast.Name) -> str:
        return {"profile": "the profile", "keep": "as it is"}.get(node.id, node.id)

    def _attribute(self, node: ast.Attribute) -> str:
        path = path_of(node)
        if path is None:
            return f"{_called(('core', node.attr))} of {self.say(node.value)}"
        if path[0] == "limits" and path[1] in self.limits:
            return _figure(self.limits[path[1]])
        return _called(path) + ", in all" * (path[1:2] == ("total",))

    def _switch(self, node: ast.expr, *, on: bool) -> str:
        """A field that is yes or no, as a statement."""
        if isinstance(node, ast.Attribute):
            return f"{self.say(node)}: {'yes' if on else 'no'}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            about = node.args[-1]
            what = self.say(about)
            spoken = FUNCTIONS[node.func.id].statement
            if spoken:
                return spoken[0 if on else 1].format(what)
        words = self.statement(node)
        return words if on else f"not ({words})"

    def statement(self, node: ast.expr) -> str:
        """What is yes or no, as a statement."""
        return self._switch(node, on=True) if _bare(node) else self.say(node)

    def _unaryop(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return self._switch(node.operand, on=False)
        return f"-{self.say(node.operand)}"

    def _boolop(self, node: ast.BoolOp) -> str:
        texts = [self.statement(one) for one in node.values]
        inside = (isinstance(one, ast.BoolOp) for one in node.values)
        whole = [f"({text})" if deep else text for text, deep in zip(texts, inside, strict=True)]
        return f" {'and' if isinstance(node.op, ast.And) else 'or'} ".join(whole)

    def _compare(self, node: ast.Compare) -> str:
        sides = [node.left, *node.comparators]
        pairs = list(zip(sides, node.ops, sides[1:], strict=False))
        spoken = [self._pair(*pair) for pair in pairs]
        return " and ".join(spoken)

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        kind = type(op)
        if _given(left) and not _given(right):
            left, right, kind = right, left, _MIRROR.get(kind, kind)
        if isinstance(right, ast.Constant) and isinstance(right.value, bool):
            return self._switch(left, on=right.value == (kind is ast.Eq))
        counted = isinstance(left, ast.Call) and ast.unparse(left.func) == "len"
        if counted and kind in _FEW and self._number(right) == 0:
            return f"{_FEW[kind]} {self.say(left.args[0])}"  # type: ignore[attr-defined]
        about = self.say(left)
        value = self._value(right, left)
        return f"{about} {_OPS[kind]} {value}"

    def _value(self, node: ast.expr, beside: ast.expr) -> str:
        """A figure with the unit of what it is compared with."""
        found = self._number(node)
        if found is not None:
            return shown(found, self.measure(beside))
        if isinstance(node, ast.Tuple) and ast.unparse(beside) == "host.kernel":
            return ".".join(self.say(one) for one in node.elts)
        return self.say(node)

    def _binop(self, node: ast.BinOp) -> str:
        left, right = node.left, node.right
        if isinstance(node.op, ast.Mult):
            if not _given(left):
                left, right = (right, left) if _given(right) else (left, right)
            value = self._number(left)
            if value is not None:
                times = f"{value:.0%} of" if 0 < value < 1 else f"{value:g} times"
                return f"{times} {self.say(right)}"
            return f"{self.say(left)} times {self.say(right)}"
        return f"{self.say(left)} {_SUMS[type(node.op)]} {self.say(right)}"

    def _number(self, node: ast.expr) -> float | None:
        """A figure of the rule, a limit's or its own."""
        path = path_of(node) if isinstance(node, ast.Attribute) else None
        found = node.value if isinstance(node, ast.Constant) else None
        if path and path[0] == "limits":
            found = self.limits.get(path[1])
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    def _ifexp(self, node: ast.IfExp) -> str:
        test = self.statement(node.test)
        return f"{self.say(node.body)} (where not {test}: {self.say(node.orelse)})"

    def _tuple(self, node: ast.Tuple) -> str:
        return listed((self.say(one) for one in node.elts), "or")

    def _subscript(self, node: ast.Subscript) -> str:
        index = literal(node.slice)
        which = _NTH[index] if 0 <= index < len(_NTH) else "last"
        return f"the {which} number of {self.say(node.value)}"

    def _call(self, node: ast.Call) -> str:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        known = FUNCTIONS[name]
        if known.statement is not None:
            return self._switch(node, on=True)
        if known.say is not None:
            return known.say(self, node)
        args = [self.say(arg) for arg in node.args]
        if known.words is not None:
            return known.words(args)
        return f"{name.replace('_', ' ')} of {listed(args, 'and')}"


def _called(path: tuple[str, ...]) -> str:
    """The help of a field without what it says in passing."""
    whole = ".".join(path)
    word = _word(path)
    help_ = word.help if word is not None and word.help else whole
    return _CALLED.get(whole) or _ASIDE.split(help_, maxsplit=1)[0].strip()


def _figure(value: Any) -> str:
    return listed(map(str, value), "or") if isinstance(value, tuple) else shown(value)


def _given(node: ast.expr) -> bool:
    """Whether it is a figure of the rule, nothing of the host."""
    if isinstance(node, ast.Attribute):
        return (path_of(node) or ("",))[0] == "limits"
    return isinstance(node, ast.Constant)


def _bare(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute)
