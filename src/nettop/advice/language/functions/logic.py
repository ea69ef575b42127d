"""Whether something is known, any or all of several conditions."""

from __future__ import annotations

import ast
from typing import Final

from ....terms.text import listed
from ..function import Code, CodeWriter, Evaluation, Function, TypeCheck, Wording
from ..syntax import ExpressionError, NoCode, called
from ..values import Evaluated
from ..vocabulary import ANY, SWITCH, TUPLE


def _check_known(checker: TypeCheck, node: ast.Call) -> None:
    if not isinstance(node.args[0], ast.Attribute | ast.Call | ast.Subscript):
        raise ExpressionError(f"{ast.unparse(node)}: known takes a field or a function")
    checker.type_of(node.args[0])


def _known(walk: Evaluation, node: ast.Call) -> Evaluated:
    inner = walk.visit(node.args[0])
    return Evaluated(inner.value is not None, tuple(r for r in inner.reads if r.value is not None))


def _known_condition(writer: CodeWriter, node: ast.Call, want: bool) -> str:
    guards, _ = writer.value(node.args[0])
    inner = " and ".join(guards) or "True"
    return f"({inner})" if want else f"(not ({inner}))"


def _no_code(_writer: CodeWriter, _node: ast.Call) -> Code:
    raise NoCode


def _check_several(checker: TypeCheck, node: ast.Call) -> None:
    if isinstance(node.args[0], ast.Tuple):
        for value in node.args[0].elts:
            checker.want(value, SWITCH)
    else:
        checker.want(node.args[0], TUPLE)


def _several(walk: Evaluation, node: ast.Call) -> Evaluated:
    inner, decides = node.args[0], called(node) == "any"
    if isinstance(inner, ast.Tuple):
        return walk.junction([walk.visit(part) for part in inner.elts], decides=decides)
    return walk.apply(any if decides else all, walk.visit(inner))


def _several_condition(writer: CodeWriter, node: ast.Call, want: bool) -> str:
    if not isinstance(node.args[0], ast.Tuple):
        return ""
    conjunction = (called(node) == "all") == want
    parts = [writer.condition(part, want) for part in node.args[0].elts]
    return writer.joined(parts or [str(conjunction)], conjunction=conjunction)


def _several_code(writer: CodeWriter, node: ast.Call) -> Code:
    if isinstance(node.args[0], ast.Tuple):
        raise NoCode
    guards, code = writer.value(node.args[0])
    return guards, f"{called(node)}({code})"


def _several_words(wording: Wording, node: ast.Call) -> str:
    name = called(node)
    if not isinstance(node.args[0], ast.Tuple):
        return f"{name} of {wording.phrase(node.args[0])}"
    texts = [wording.statement(one) for one in node.args[0].elts]
    return f"({listed(texts, 'or' if name == 'any' else 'and')})"


FUNCTIONS: Final = {
    "known": Function(
        (ANY,), SWITCH, check=_check_known, value=_known, code=_no_code,
        condition=_known_condition, statement=("{} known", "{} unknown"),
    ),
    **{
        name: Function(
            (ANY,), SWITCH, call=call, check=_check_several, value=_several, code=_several_code,
            condition=_several_condition, phrase=_several_words,
        )
        for name, call in (("any", any), ("all", all))
    },
}  # fmt: skip
