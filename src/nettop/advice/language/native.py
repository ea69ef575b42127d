"""Conditions and values as generated Python code, for judging many targets.

Judging a frame of 1,024 queues on 256 CPUs takes 11 ms by this code and 235 ms by the walk of
`evaluate`, the goal is 20 ms; 10,000 flows take 0.75 s and 8 s (tests/benchmarks/judge_cost.py).

Negations are pushed down to the comparisons; each comparison is guarded by `is not None` on what it
reads. In that form the code is true exactly when the condition is true in three-valued logic: an
unknown comparison becomes False, which decides neither `and` nor `or` here. Only checked
expressions are compiled (`expression.parse`); of their text only names, fields and constants reach
the code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Final, TypeAlias, cast

from ...facts.kinds import kinds
from .evaluate import evaluate
from .expression import Expression
from .function import Code
from .functions import FUNCTIONS
from .functions.history import COUNTED, EARLIER
from .moment import Moment, Scope
from .syntax import Limit, Limits, NoCode, called, literal, path_of
from .values import KEEP, Value, item
from .vocabulary import KINDS, SWITCH, names, words

_OPERATORS: Final = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip
_GLOBALS: Final = {
    "__builtins__": {},
    "item": item,
    "keep": KEEP,
    **{name: known.call for name, known in FUNCTIONS.items() if known.call},
}
Reader: TypeAlias = "Callable[[Mapping[str, object], Moment, str], Value | None]"
ERRORS: Final = (ArithmeticError, TypeError, ValueError, IndexError)


class Writer:
    """Writes the code of conditions and values of rules over one kind of fact."""

    def __init__(self, over: str, limits: Limits) -> None:
        self.over = over
        self.limits = limits
        self.certain = {over, "host"} | ({"nic"} if kinds()[over].needs_nic else set())
        self.certain |= KINDS.keys() - names(over).keys()  # kinds for which a fix may be repeated
        self.once: dict[str, str] = {}  # values that are the same for all targets of a frame
        self.temporary = count()

    def condition(self, node: ast.expr, want: bool) -> str:
        """Code that is true exactly when `node` is known to be `want`."""
        if isinstance(node, ast.BoolOp):
            parts = [self.condition(value, want) for value in node.values]
            return self.joined(parts, conjunction=isinstance(node.op, ast.And) == want)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.condition(node.operand, not want)
        if isinstance(node, ast.IfExp):
            yes = f"{self.condition(node.test, True)} and {self.condition(node.body, want)}"
            no = f"{self.condition(node.test, False)} and {self.condition(node.orelse, want)}"
            return f"({yes} or {no})"
        if isinstance(node, ast.Compare):
            left, pairs = node.left, []
            for op, right in zip(node.ops, node.comparators, strict=True):
                pairs.append(self.pair(left, op, right, want))
                left = right
            return self.joined(pairs, conjunction=want)
        if isinstance(node, ast.Call):
            special = FUNCTIONS[called(node)].condition
            code = "" if special is None else special(self, node, want)
            if code:
                return code
        guards, code = self.value(node)
        return self.literal(guards, code if want else f"not {code}")

    @staticmethod
    def joined(parts: Sequence[str], *, conjunction: bool) -> str:
        """The parts joined; only `or` needs brackets, because all that encloses it binds looser."""
        if len(parts) == 1:
            return parts[0]
        return " and ".join(parts) if conjunction else f"({' or '.join(parts)})"

    @staticmethod
    def literal(guards: Sequence[str], code: str) -> str:
        """`code` behind the guards that make it safe."""
        return " and ".join((*guards, code))

    def pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr, want: bool) -> str:
        """One comparison of two values, or its negation."""
        first, a = self.value(left)
        second, b = self.value(right)
        code = f"{a} {_OPERATORS[type(op)]} {b}"
        return self.literal((*first, *second), code if want else f"not ({code})")

    def value(self, node: ast.expr) -> Code:
        """The guards under which `node` is known, and the code of its value."""
        write = getattr(self, f"_{type(node).__name__.lower()}", None)
        if write is None:
            raise NoCode
        code: Code = write(node)
        return code

    def guarded(self, guards: list[str], code: str) -> Code:
        """A value that may be None: one more guard, and a variable that holds it."""
        name = f"t{next(self.temporary)}"
        return [*guards, f"({name} := {code}) is not None"], name

    def hoisted(self, code: str) -> Code:
        """A value that is the same for all targets: computed before the loop."""
        name = self.once.setdefault(code, f"c{len(self.once)}")
        return [f"{name} is not None"], name

    def _constant(self, node: ast.Constant) -> Code:
        return [], repr(node.value)

    def _name(self, node: ast.Name) -> Code:
        return [], node.id

    def _attribute(self, node: ast.Attribute) -> Code:
        path = path_of(node)
        if path is None:
            guards, base = self.value(node.value)
            return self.guarded(guards, f"{base}.{node.attr}")
        if path[0] == "limits":
            return [], repr(self.limits[path[1]])
        base = path[0]
        guards = [] if base in self.certain else [f"{base} is not None"]
        here = names(self.over).get(base) or KINDS[base]
        for index, name in enumerate(path[1:], 1):
            word = words(here)[name]
            base = f"{base}.{name}"
            if word.optional:
                guards, base = self.guarded(guards, base)
            if word.kind is not None and index < len(path) - 1:
                here = word.kind
        return guards, base

    def _binop(self, node: ast.BinOp) -> Code:
        first, a = self.value(node.left)
        second, b = self.value(node.right)
        return [*first, *second], f"({a} {_OPERATORS[type(node.op)]} {b})"

    def _unaryop(self, node: ast.UnaryOp) -> Code:
        if not isinstance(node.op, ast.USub):
            raise NoCode
        guards, code = self.value(node.operand)
        return guards, f"(-{code})"

    def _ifexp(self, node: ast.IfExp) -> Code:
        yes, no = self.maybe(*self.value(node.body)), self.maybe(*self.value(node.orelse))
        known, other = self.condition(node.test, True), self.condition(node.test, False)
        return self.guarded([], f"({yes} if {known} else {no} if {other} else None)")

    @staticmethod
    def maybe(guards: Sequence[str], code: str) -> str:
        """The value, or None where a guard fails."""
        return f"({code} if {' and '.join(guards)} else None)" if guards else code

    def _tuple(self, node: ast.Tuple) -> Code:
        parts = [self.value(value) for value in node.elts]
        guards = [guard for part, _ in parts for guard in part]
        return guards, f"({''.join(f'{code}, ' for _, code in parts)})"

    def _subscript(self, node: ast.Subscript) -> Code:
        guards, code = self.value(node.value)
        return self.guarded(guards, f"item({code}, {literal(node.slice)})")

    def _call(self, node: ast.Call) -> Code:
        name = called(node)
        known = FUNCTIONS[name]
        if known.code is not None:
            return known.code(self, node)
        parts = [self.value(arg) for arg in node.args]
        guards = [guard for part, _ in parts for guard in part]
        code = f"{name}({', '.join(code for _, code in parts)})"
        if known.moment:
            return self.guarded(guards, f"moment.{code}")
        return self.guarded(guards, code) if known.unknown else (guards, code)


def compiled(source: str) -> Callable[..., object]:
    """The function `rules` that the source defines."""
    space: dict[str, object] = dict(_GLOBALS)
    exec(compile(source, "<rules>", "exec"), space)  # noqa: S102
    return cast("Callable[..., object]", space["rules"])


def value_of(expression: Expression, scope: Scope) -> Value | None:
    """The value without its reads; None when unknown. Remedies ask it once for each queue."""
    read = _reader(expression, tuple(scope.limits.items()))
    if read is not None:
        try:
            return read(scope.facts, scope.moment, scope.moment.profile)
        except ERRORS:
            pass  # a part has no value here: three-valued logic decides about the whole
    return evaluate(expression, scope).value


@lru_cache(maxsize=256)
def _reader(expression: Expression, limits: tuple[tuple[str, Limit], ...]) -> Reader | None:
    """The expression as a function of facts by name, moment and profile; None: no native code."""
    if any(
        f"{name}(" in expression.text for name in (*EARLIER, *COUNTED)
    ):  # kept by the target's label
        return None
    writer = Writer(expression.over, dict(limits))
    try:
        if expression.type == SWITCH:
            yes, no = (writer.condition(expression.tree, want) for want in (True, False))
            code = f"True if {yes} else False if {no} else None"
        else:
            code = writer.maybe(*writer.value(expression.tree))
    except NoCode:
        return None
    named = {node.id for node in ast.walk(expression.tree) if isinstance(node, ast.Name)}
    lines = [f"{name} = facts.get({name!r})" for name in sorted(named & KINDS.keys())]
    lines += [f"{variable} = {once}" for once, variable in writer.once.items()]
    body = "".join(f" {line}\n" for line in (*lines, f"return {code}"))
    return cast("Reader", compiled(f"def rules(facts, moment, profile):\n{body}"))
