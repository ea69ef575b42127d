"""Expressions: Python syntax, a whitelist of its grammar, names checked against the vocabulary.

`parse` is the only constructor, so later code that walks or compiles an `Expression` finds only
allowed nodes. An error is one sentence with the fault and the nearest valid name.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cache
from typing import Final

from ...facts.kinds.core import Core
from ...facts.limits.stages import declared
from ...files import bounds
from ...terms.dataclass import dataclass
from ...terms.errors import nearest
from .functions import FUNCTIONS
from .syntax import ExpressionError, Limit, Limits, called, path_of
from .vocabulary import ANY, FACT, NUMBER, RENAMED, STAGES, SWITCH, TEXT, TUPLE, find, names, words

_NONE: Final[Limits] = {}
LONGEST: Final = 2000  # characters; a rule is read by people
_ORDER: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SAME: Final = (ast.Eq, ast.NotEq)
_MEMBER: Final = (ast.In, ast.NotIn)
_SUMS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression over one kind of fact: its text and type."""

    text: str
    over: str
    type: str

    @property
    def tree(self) -> ast.expr:
        """Its syntax tree, always the same: what was worked out of a part of it is kept."""
        return _kept(self.text)

    def calls(self, name: str) -> Iterator[ast.Call]:
        """The calls of one function in the expression."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and called(node) == name:
                yield node


def condition(
    text: str, over: str, limits: Limits = _NONE, *, also: Collection[str] = ()
) -> Expression:
    """Parse an expression that is true or false; ExpressionError for any other type."""
    expression = parse(text, over, limits, also=also)
    if expression.type != SWITCH:
        raise ExpressionError(f"a condition must be true or false; {text!r} is a {expression.type}")
    return expression


def parse(
    text: str,
    over: str,
    limits: Limits = _NONE,
    *,
    also: Collection[str] = (),
    to: bool = False,
) -> Expression:
    """Parse and check an expression. `also`: facts besides those of `over`; `to`: keep, triple."""
    return _parse(text.strip(), over, tuple(limits.items()), tuple(also), to)


@cache  # most templates say {nic}
def _parse(
    text: str, over: str, limits: tuple[tuple[str, Limit], ...], also: tuple[str, ...], to: bool
) -> Expression:
    if len(text) > LONGEST:
        raise ExpressionError(f"longer than {LONGEST} characters")
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "not readable"
        raise ExpressionError(f"{text!r}: {reason}") from None
    if _too_deep(tree):
        raise ExpressionError(f"nested deeper than {bounds.BOUNDS['depth']}")
    try:
        kind = Checker(over, dict(limits), also, to=to).type_of(tree)
    except RecursionError:
        raise ExpressionError("nested too deeply") from None
    return Expression(text, over, kind)


def parsed(text: str) -> ast.expr:
    """A new syntax tree, for what is done once: to keep those of all rules takes 3 MB."""
    return ast.parse(text, mode="eval").body


_kept = cache(parsed)


def _too_deep(tree: ast.expr) -> bool:
    layer: list[ast.AST] = [tree]
    for _ in range(bounds.BOUNDS["depth"].most):
        layer = [inner for node in layer for inner in ast.iter_child_nodes(node)]
        if not layer:
            return False
    return True


class Checker:
    """Checks one expression and finds its type."""

    def __init__(self, over: str, limits: Limits, also: Collection[str], *, to: bool) -> None:
        self.facts = dict(names(over))
        for name in also:
            self.facts.update({name: names(name)[name]})
        self.limits = limits
        self.to = to

    def type_of(self, node: ast.expr) -> str:
        """The type of a node; ExpressionError if it is not allowed."""
        check = getattr(self, f"_{type(node).__name__.lower()}", None)
        if check is None:
            raise ExpressionError(f"not allowed in a rule: {ast.unparse(node)}")
        kind: str = check(node)
        return kind

    def want(self, node: ast.expr, *kinds: str) -> str:
        """The type of a node that must be one of these."""
        kind = self.type_of(node)
        # a number or a text is no condition: a comparison is missing
        if kind not in kinds and (kind != ANY or kinds == (SWITCH,)):
            expected = " or ".join(kinds)
            raise ExpressionError(f"{ast.unparse(node)} is a {kind}; {expected} is required")
        return kind

    def _constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, bool):
            return SWITCH
        if isinstance(node.value, int | float):
            if not bounds.number(node.value):
                most = bounds.BOUNDS["number"]
                raise ExpressionError(f"a number beyond {most.most:.0e}, the bound of {most.what}")
            return NUMBER
        if isinstance(node.value, str):
            return TEXT
        raise ExpressionError(f"not allowed in a rule: {ast.unparse(node)}")

    def _name(self, node: ast.Name) -> str:
        if node.id == "profile":
            return TEXT
        if node.id == "keep" and self.to:
            return ANY
        if node.id in self.facts:
            raise ExpressionError(f"{node.id} is a fact; name one of its fields")
        known = (*self.facts, "profile", "limits")
        raise ExpressionError(f"unknown name {node.id!r}{nearest(node.id, known)}")

    def _attribute(self, node: ast.Attribute) -> str:
        path = path_of(node)
        if path is not None and path[0] == "limits":
            if len(path) != 2 or path[1] not in self.limits:
                raise ExpressionError(
                    f"unknown limit {'.'.join(path)}{nearest(path[1], tuple(self.limits))}"
                )
            return TUPLE if isinstance(self.limits[path[1]], tuple) else NUMBER
        if path is not None:
            if path[0] not in self.facts:
                known = (*self.facts, "profile", "limits")
                raise ExpressionError(f"unknown name {path[0]!r}{nearest(path[0], known)}")
            return self._field(self.facts[path[0]], path[0], path[1:])
        if isinstance(node.value, ast.Call) and self.type_of(node.value) == FACT:
            return self._field(Core, ast.unparse(node.value), (node.attr,))
        raise ExpressionError(f"not allowed in a rule: {ast.unparse(node)}")

    def _field(self, kind: type, base: str, path: tuple[str, ...]) -> str:
        here: type = kind
        for index, name in enumerate(path):
            word = words(here).get(name)
            if word is None:
                full = ".".join((base, *path[:index]))
                said = RENAMED.get(f"{full}.{name}")
                rest = f": {said}" if said else nearest(name, words(here))
                raise ExpressionError(f"unknown field {full}.{name}{rest}")
            if word.kind is None and index < len(path) - 1:
                full = ".".join((base, *path[: index + 1]))
                raise ExpressionError(f"{full} is a {word.type} and has no fields")
            here = word.kind or here
        last = find(kind, path)
        if last is None or last.type == FACT:
            raise ExpressionError(f"{base}.{'.'.join(path)} is a fact; name one of its fields")
        return last.type

    def _boolop(self, node: ast.BoolOp) -> str:
        for value in node.values:
            self.want(value, SWITCH)
        return SWITCH

    def _unaryop(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return self.want(node.operand, SWITCH) and SWITCH
        if isinstance(node.op, ast.USub):
            return self.want(node.operand, NUMBER) and NUMBER
        raise ExpressionError(f"not allowed in a rule: {ast.unparse(node)}")

    def _binop(self, node: ast.BinOp) -> str:
        if not isinstance(node.op, _SUMS):
            raise ExpressionError(f"not allowed in a rule: {ast.unparse(node)}")
        self.want(node.left, NUMBER)
        self.want(node.right, NUMBER)
        return NUMBER

    def _ifexp(self, node: ast.IfExp) -> str:
        self.want(node.test, SWITCH)
        first, second = self.type_of(node.body), self.type_of(node.orelse)
        return first if first == second else ANY

    def _tuple(self, node: ast.Tuple) -> str:
        for value in node.elts:
            self.type_of(value)
        return TUPLE

    def _subscript(self, node: ast.Subscript) -> str:
        index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
        if not (isinstance(index, ast.Constant) and type(index.value) is int):
            raise ExpressionError(f"only a constant index is allowed: {ast.unparse(node)}")
        self.want(node.value, TUPLE)
        return ANY

    def _compare(self, node: ast.Compare) -> str:
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            self._pair(left, op, right)
            left = right
        return SWITCH

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> None:
        one, two = self.type_of(left), self.type_of(right)
        for name, value in ((left, right), (right, left)):
            _stages(".".join(path_of(name) or ()), value)
        if isinstance(op, _MEMBER):
            if two not in (TUPLE, TEXT, ANY) or (two == TEXT and one not in (TEXT, ANY)):
                raise ExpressionError(f"{ast.unparse(right)} is a {two}; `in` requires a list")
        elif isinstance(op, (*_ORDER, *_SAME)):
            wrong = one != two and ANY not in (one, two)
            if wrong or (isinstance(op, _ORDER) and {one, two} & {TEXT, SWITCH}):
                shown = f"{ast.unparse(left)} and {ast.unparse(right)}"
                switch = next((v for v, t in ((left, one), (right, two)) if t == SWITCH), None)
                write = "" if switch is None else f"; write `not {ast.unparse(switch)}` for no"
                raise ExpressionError(f"{shown} cannot be compared: {one} with {two}{write}")
        else:
            raise ExpressionError("not allowed in a rule: `is`; write == or known(…)")

    def _call(self, node: ast.Call) -> str:
        name = called(node)
        known = FUNCTIONS.get(name)
        if known is None or (known.only_to and not self.to):
            raise ExpressionError(f"unknown function {name!r}{nearest(name, FUNCTIONS)}")
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise ExpressionError(f"{name} takes plain arguments only")
        count = len(known.takes)
        if len(node.args) < count or (len(node.args) > count and not known.rest):
            more = " or more" if known.rest else ""
            raise ExpressionError(f"{name} takes {count}{more} arguments, not {len(node.args)}")
        if known.check is not None:
            known.check(self, node)
            return known.gives
        for index, arg in enumerate(node.args):
            kind = known.takes[min(index, count - 1)]
            if kind == ANY:
                self.type_of(arg)
            else:
                self.want(arg, kind)
        return known.gives


def _stages(field: str, value: ast.expr) -> None:
    """Refuse a name of a stage that no stage has."""
    if field not in STAGES:
        return
    known = (*declared(), "none")
    for one in ast.walk(value):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value not in known:
            said = RENAMED.get(f"{field} {one.value}")
            rest = f": {said}" if said else nearest(one.value, known)
            raise ExpressionError(f"{field} is never {one.value!r}{rest}")
