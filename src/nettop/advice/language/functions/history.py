"""Values of earlier moments: the worst or the growth of some seconds, the total since creation."""

from __future__ import annotations

import ast
from typing import Final

from ..function import Code, CodeWriter, Evaluation, Function, TypeCheck
from ..result import Evaluated
from ..syntax import ExpressionError, path_of
from ..values import field_value
from ..vocabulary import NUMBER, find, names

EARLIER: Final = {"worst": 1.0, "increase": -1.0}
"""The functions of earlier values, each with the sign that makes the needed value the largest."""


def _check_earlier(checker: TypeCheck, node: ast.Call) -> None:
    path = path_of(node.args[0])
    if path is None or path[0] not in checker.facts:
        raise ExpressionError(f"{ast.unparse(node)}: the first argument is a field")
    checker.want(node.args[0], NUMBER)
    seconds = node.args[1]
    if not (isinstance(seconds, ast.Constant) and isinstance(seconds.value, int | float)):
        raise ExpressionError(f"{ast.unparse(node)}: the seconds are a constant")


def _earlier(walk: Evaluation, node: ast.Call) -> Evaluated:
    text, now = ast.unparse(node), walk.visit(node.args[0]).value
    number = now if isinstance(now, int | float) else None
    moment = walk.scope.moment
    compare = {"worst": moment.worst, "increase": moment.increase}[ast.unparse(node.func)]
    return walk.read(text, compare(text, walk.scope.target, number), walk.word(node.args[0]))


def _code_earlier(writer: CodeWriter, node: ast.Call) -> Code:
    now = writer.maybe(*writer.value(node.args[0]))
    code = f"moment.{ast.unparse(node.func)}({ast.unparse(node)!r}, label(row[0]), {now})"
    return writer.guarded([], code)


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
    "since_boot": Function(
        (NUMBER,), NUMBER, check=_check_since_boot, value=_since_boot,
        code=_code_since_boot, words=lambda a: f"{a[0]} (total)",
    ),
}  # fmt: skip
