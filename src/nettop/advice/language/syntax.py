"""The syntax of expressions: paths, names of calls, constants, errors."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

Limit: TypeAlias = "float | tuple[str, ...]"  # a threshold: a number, or a list of texts
Limits: TypeAlias = Mapping[str, Limit]  # by name


class ExpressionError(ValueError):
    """One sentence: the fault in the expression, and the nearest valid name."""


class NoCode(Exception):  # noqa: N818 - not an error: `evaluate` is used instead
    """This form has no native code; `evaluate` works it out."""


@cache
def literal(node: ast.expr) -> float | str:
    """A constant that the checker accepted: a text, or a number that may have a minus.

    Cached, because `ast.literal_eval` leaves a reference cycle at each call.
    """
    value: float | str = ast.literal_eval(node)
    return value


@cache
def text_of(node: ast.expr) -> str:
    """The text of a part of a rule, worked out once: the rules are the same in each frame."""
    return ast.unparse(node)


def path_of(node: ast.expr) -> tuple[str, ...] | None:
    """`nic.ring.rx` as ("nic", "ring", "rx"); None for anything but names and dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None


def called(node: ast.Call) -> str:
    """The name of the function that is called; for anything else in its place, the text."""
    return node.func.id if isinstance(node.func, ast.Name) else text_of(node.func)
