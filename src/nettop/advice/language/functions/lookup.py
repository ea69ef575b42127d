"""What is looked up on the host: a core, a sysctl, an offload of the interface."""

from __future__ import annotations

import ast
from typing import Any, Final

from ..function import Function
from ..result import Read, Result
from ..syntax import ExpressionError, literal
from ..vocabulary import ANY, FACT, NUMBER, SWITCH, TEXT

Code = tuple[list[str], str]


def _check_offload(checker: Any, node: ast.Call) -> None:
    first, second = node.args
    if not (isinstance(first, ast.Name) and first.id == "nic" and "nic" in checker.facts):
        raise ExpressionError(f"{ast.unparse(node)}: the first argument is nic")
    if not (isinstance(second, ast.Constant) and isinstance(second.value, str)):
        raise ExpressionError(f"{ast.unparse(node)}: the second is a kernel feature name")


def _offload(walk: Any, node: ast.Call) -> tuple[str, Any]:
    """The name of the offload, and what is known of it."""
    nic, name = walk.scope.facts.get("nic"), literal(node.args[1])
    return name, None if nic is None else walk.scope.moment.feature(nic, name)


def _on(walk: Any, node: ast.Call) -> Result:
    name, found = _offload(walk, node)
    value = None if found is None else found.on
    return Result(value, (Read(f"feature.{name}", value, "", f"offload {name} is on"),))


def _fixed(walk: Any, node: ast.Call) -> Result:
    name, found = _offload(walk, node)
    if found is None:
        return Result(None, (Read(f"feature.{name}", None, "", f"offload {name}"),))
    return Result(found.fixed)


def _code_offload(writer: Any, node: ast.Call) -> Code:
    name = node.func.id  # type: ignore[attr-defined]
    guards = [] if "nic" in writer.certain else ["nic is not None"]
    found: Code = writer.guarded(guards, f"moment.{name}(nic, {literal(node.args[1])!r})")
    return found


def _check_sysctl(_checker: Any, node: ast.Call) -> None:
    name = node.args[0]
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
        raise ExpressionError(f"{ast.unparse(node)}: the name is a constant text")


def _sysctl(walk: Any, node: ast.Call) -> Result:
    name = literal(node.args[0])
    value = walk.scope.moment.sysctl(name)
    return Result(value, (Read(f"sysctl.{name}", value, "", "sysctl"),))


def _code_sysctl(writer: Any, node: ast.Call) -> Code:
    found: Code = writer.hoisted(f"moment.sysctl({literal(node.args[0])!r})")
    return found


FUNCTIONS: Final = {
    "on": Function(
        ("nic", TEXT), SWITCH, unknown=True, check=_check_offload, value=_on, code=_code_offload,
        statement=("{} is on", "{} is off"),
    ),
    "fixed": Function(
        ("nic", TEXT), SWITCH, unknown=True, check=_check_offload, value=_fixed,
        code=_code_offload, statement=("{} cannot be changed", "{} can be changed"),
    ),
    "sysctl": Function(
        (TEXT,), ANY, unknown=True, check=_check_sysctl, value=_sysctl, code=_code_sysctl,
        words=lambda a: a[0],
    ),
    "core": Function((NUMBER,), FACT, unknown=True, moment=True, words=lambda a: a[0]),
}  # fmt: skip
