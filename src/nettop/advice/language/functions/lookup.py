"""Values looked up on the host: a core, a sysctl, an offload of the interface."""

from __future__ import annotations

import ast
from typing import Final

from ....facts.kinds.nic import Feature, Nic
from ..function import Code, CodeWriter, Evaluation, Function, TypeCheck
from ..syntax import ExpressionError, called, literal
from ..values import Evaluated, Read
from ..vocabulary import ANY, FACT, NUMBER, SWITCH, TEXT


def _check_offload(checker: TypeCheck, node: ast.Call) -> None:
    first, second = node.args
    if not (isinstance(first, ast.Name) and first.id == "nic" and "nic" in checker.facts):
        raise ExpressionError(f"{ast.unparse(node)}: the first argument is nic")
    if not (isinstance(second, ast.Constant) and isinstance(second.value, str)):
        raise ExpressionError(f"{ast.unparse(node)}: the second is a kernel feature name")


def _offload(walk: Evaluation, node: ast.Call) -> tuple[str, Feature | None]:
    """The name of the offload and its state; None where the driver does not list it."""
    nic, name = walk.scope.facts.get("nic"), str(literal(node.args[1]))
    return name, walk.scope.moment.feature(nic, name) if isinstance(nic, Nic) else None


def _on(walk: Evaluation, node: ast.Call) -> Evaluated:
    name, feature = _offload(walk, node)
    value = None if feature is None else feature.on
    return Evaluated(value, (Read(f"feature.{name}", value, "", f"offload {name} is on"),))


def _fixed(walk: Evaluation, node: ast.Call) -> Evaluated:
    name, feature = _offload(walk, node)
    if feature is None:
        return Evaluated(None, (Read(f"feature.{name}", None, "", f"offload {name}"),))
    return Evaluated(feature.fixed)


def _code_offload(writer: CodeWriter, node: ast.Call) -> Code:
    guards = [] if "nic" in writer.certain else ["nic is not None"]
    return writer.guarded(guards, f"moment.{called(node)}(nic, {literal(node.args[1])!r})")


def _check_sysctl(_checker: TypeCheck, node: ast.Call) -> None:
    name = node.args[0]
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
        raise ExpressionError(f"{ast.unparse(node)}: the name is a constant text")


def _sysctl(walk: Evaluation, node: ast.Call) -> Evaluated:
    name = str(literal(node.args[0]))
    value = walk.scope.moment.sysctl(name)
    return Evaluated(value, (Read(f"sysctl.{name}", value, "", "sysctl"),))


def _code_sysctl(writer: CodeWriter, node: ast.Call) -> Code:
    return writer.hoisted(f"moment.sysctl({literal(node.args[0])!r})")


FUNCTIONS: Final = {
    "on": Function(
        ("nic", TEXT), SWITCH, check=_check_offload, value=_on, code=_code_offload,
        statement=("{} is on", "{} is off"),
    ),
    "fixed": Function(
        ("nic", TEXT), SWITCH, check=_check_offload, value=_fixed,
        code=_code_offload, statement=("{} cannot be changed", "{} can be changed"),
    ),
    "sysctl": Function(
        (TEXT,), ANY, check=_check_sysctl, value=_sysctl, code=_code_sysctl,
        words=lambda a: a[0],
    ),
    "core": Function((NUMBER,), FACT, moment=True, words=lambda a: a[0]),
}  # fmt: skip
