"""Values of earlier moments: the worst or the growth of some seconds, events of a look, totals."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import Final

from ..function import Code, CodeWriter, Evaluation, Function, TypeCheck
from ..moment import LOOK
from ..syntax import ExpressionError, called, path_of, text_of
from ..values import Evaluated, field_value, reads_of
from ..vocabulary import NUMBER, find, names

EARLIER: Final = {"worst": 1.0, "increase": -1.0}
"""The functions of earlier values, each with the sign that makes the needed value the largest."""


def key(over: str, text: str) -> str:
    """The name of what is kept: the same field has other targets in rules over another kind."""
    return f"{over}: {text}"


def _check_earlier(checker: TypeCheck, node: ast.Call) -> None:
    path = path_of(node.args[0])
    if path is None or path[0] not in checker.facts:
        raise ExpressionError(f"{ast.unparse(node)}: the first argument is a field")
    checker.want(node.args[0], NUMBER)
    seconds = node.args[1]
    if not (isinstance(seconds, ast.Constant) and isinstance(seconds.value, int | float)):
        raise ExpressionError(f"{ast.unparse(node)}: the seconds are a constant")


def _earlier(walk: Evaluation, node: ast.Call) -> Evaluated:
    text, now = text_of(node), walk.visit(node.args[0]).value
    number = now if isinstance(now, int | float) else None
    moment = walk.scope.moment
    compare = {"worst": moment.worst, "increase": moment.increase}[called(node)]
    value = compare(key(walk.over, text), walk.scope.target, number)
    return walk.read(text, value, walk.word(node.args[0]))


def _code_earlier(writer: CodeWriter, node: ast.Call) -> Code:
    now = writer.maybe(*writer.value(node.args[0]))
    name = key(writer.over, ast.unparse(node))
    code = f"moment.{ast.unparse(node.func)}({name!r}, label(row[0]), {now})"
    return writer.guarded([], code)


COUNTED: Final = ("events", "mean", "share")
"""The functions of a rate that sum it over the last `moment.LOOK` seconds."""


def terms(node: ast.expr, sign: float = 1.0) -> Iterator[tuple[float, ast.expr]]:
    """The fields of a sum or difference, each with its sign; ExpressionError for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from terms(node.left, sign)
        yield from terms(node.right, sign if isinstance(node.op, ast.Add) else -sign)
    elif path_of(node) is None:
        raise ExpressionError(f"{ast.unparse(node)}: a field, or a sum of fields, is required")
    else:
        yield sign, node


@cache
def _fields(node: ast.expr) -> tuple[tuple[float, ast.expr], ...]:
    """The same, found once for each sum of a rule: the rules are the same in each frame."""
    return tuple(terms(node))


def _check_counted(checker: TypeCheck, node: ast.Call) -> None:
    for one in node.args:
        for _, field in terms(one):
            if (path_of(field) or ("",))[0] not in checker.facts:
                raise ExpressionError(f"{ast.unparse(field)}: only fields have earlier values")
            checker.want(field, NUMBER)


def _counted(walk: Evaluation, node: ast.Call) -> Evaluated:
    """The reads are the fields with their mean rates; only where that is asked for, they say so."""
    moment, target, sums, reads = walk.scope.moment, walk.scope.target, [], []
    averages, seconds = called(node) == "mean", 0.0
    for one in node.args:
        parts = []
        for sign, field in _fields(one):
            text, now = text_of(field), walk.visit(field).value
            rate = now if isinstance(now, int | float) else None
            name = key(walk.over, text)
            parts.append((sign, name, rate))
            mean = moment.mean(target, ((1.0, name, rate),))
            reads.append(walk.read(f"mean({text})" if averages else text, mean, walk.word(field)))
            seconds = max(seconds, moment.counted(target, name))
        sums.append(tuple(parts))
    value = getattr(moment, called(node))(target, *sums)
    return Evaluated(value, reads_of(*reads), seconds if averages else 0.0)


def _code_counted(writer: CodeWriter, node: ast.Call) -> Code:
    sums = []
    for one in node.args:
        parts = (
            f"({sign!r}, {key(writer.over, ast.unparse(field))!r}, "
            f"{writer.maybe(*writer.value(field))}),"
            for sign, field in terms(one)
        )
        sums.append(f"({''.join(parts)})")
    return writer.guarded([], f"moment.{ast.unparse(node.func)}(label(row[0]), {', '.join(sums)})")


def _check_since_boot(checker: TypeCheck, node: ast.Call) -> None:
    path = path_of(node.args[0])
    if path is None or path[:2] != ("nic", "per_s"):
        raise ExpressionError(f"{ast.unparse(node)}: only rates of nic.per_s have a count")
    checker.want(node.args[0], NUMBER)


def _since_boot(walk: Evaluation, node: ast.Call) -> Evaluated:
    name = (path_of(node.args[0]) or ("",))[-1]
    value = field_value(walk.scope.facts.get("nic"), ("total", name))
    return walk.read(f"nic.total.{name}", value, find(names("nic")["nic"], ("total", name)))


def _code_since_boot(writer: CodeWriter, node: ast.Call) -> Code:
    name = (path_of(node.args[0]) or ("",))[-1]
    return writer.value(ast.parse(f"nic.total.{name}", mode="eval").body)


FUNCTIONS: Final = {
    "worst": Function(
        (NUMBER, NUMBER), NUMBER, check=_check_earlier, value=_earlier, code=_code_earlier,
        words=lambda a: f"maximum of {a[0]} in the last {a[1]} s",
    ),
    "increase": Function(
        (NUMBER, NUMBER), NUMBER, check=_check_earlier, value=_earlier, code=_code_earlier,
        words=lambda a: f"increase of {a[0]} in the last {a[1]} s",
    ),
    "events": Function(
        (NUMBER,), NUMBER, check=_check_counted, value=_counted, code=_code_counted,
        words=lambda a: f"{a[0]} (number in {LOOK:.0f} s)",
    ),
    "mean": Function(
        (NUMBER,), NUMBER, check=_check_counted, value=_counted, code=_code_counted,
        words=lambda a: f"{a[0]} (mean of {LOOK:.0f} s)",
    ),
    "share": Function(
        (NUMBER, NUMBER), NUMBER, check=_check_counted, value=_counted, code=_code_counted,
        words=lambda a: f"{a[0]}, as a share of these and {a[1]} in {LOOK:.0f} s",
    ),
    "since_boot": Function(
        (NUMBER,), NUMBER, check=_check_since_boot, value=_since_boot,
        code=_code_since_boot, words=lambda a: f"{a[0]} (total)",
    ),
}  # fmt: skip
