"""What was, besides what is: the worst of some seconds, the total since the link was created."""

from __future__ import annotations

import ast
from typing import Any, Final

from ..function import Function
from ..result import Result
from ..syntax import ExpressionError, path_of
from ..vocabulary import NUMBER, find, names

Code = tuple[list[str], str]


def _check_worst(checker: Any, node: ast.Call) -> None:
    path = path_of(node.args[0])
    if path is None or path[0] not in checker.facts:
        raise ExpressionError(f"{ast.unparse(node)}: the first argument is a field")
    checker.want(node.args[0], NUMBER)
    seconds = node.args[1]
    if not (isinstance(seconds, ast.Constant) and isinstance(seconds.value, int | float)):
        raise ExpressionError(f"{ast.unparse(node)}: the seconds are a constant")


def _worst(walk: Any, node: ast.Call) -> Result:
    text = ast.unparse(node)
    value = walk.scope.moment.worst(text, walk.scope.target, walk.visit(node.args[0]).value)
    found: Result = walk.read(text, value, walk.word(node.args[0]))
    return found


def _code_worst(writer: Any, node: ast.Call) -> Code:
    now = writer.maybe(*writer.value(node.args[0]))
    code = f"moment.worst({ast.unparse(node)!r}, label(row[0]), {now})"
    found: Code = writer.guarded([], code)
    return found


def _check_since_boot(checker: Any, node: ast.Call) -> None:
    path = path_of(node.args[0])
    if path is None or path[:2] != ("nic", "per_s"):
        raise ExpressionError(f"{ast.unparse(node)}: only rates of nic.per_s have a count")
    checker.want(node.args[0], NUMBER)


def _since_boot(walk: Any, node: ast.Call) -> Result:
    path = path_of(node.args[0]) or ()
    nic, name = walk.scope.facts.get("nic"), path[-1]
    value = None if nic is None else getattr(nic.total, name)
    found: Result = walk.read(
        f"nic.total.{name}", value, find(names("nic")["nic"], ("total", name))
    )
    return found


def _code_since_boot(writer: Any, node: ast.Call) -> Code:
    path = path_of(node.args[0]) or ()
    tree = ast.parse(f"nic.total.{path[-1]}", mode="eval").body
    found: Code = writer.value(tree)
    return found


FUNCTIONS: Final = {
    "worst": Function(
        (NUMBER, NUMBER), NUMBER, unknown=True, check=_check_worst, value=_worst, code=_code_worst,
        words=lambda a: f"maximum of {a[0]} in the last {a[1]} s",
    ),
    "since_boot": Function(
        (NUMBER,), NUMBER, unknown=True, check=_check_since_boot, value=_since_boot,
        code=_code_since_boot, words=lambda a: f"{a[0]} (total)",
    ),
}  # fmt: skip
