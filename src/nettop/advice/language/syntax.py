"""The syntax of expressions: what paths and errors are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any

Limits = Mapping[str, Any]  # name → number, or tuple of texts


class ExpressionError(ValueError):
    """One sentence: what in the expression is wrong, and the nearest right word."""


class NoCode(Exception):  # noqa: N818 - a detour, not a failure
    """This form has no native code; the careful way will do."""


@cache
def literal(node: ast.expr) -> Any:
    """The value written there. Kept: `ast.literal_eval` leaves a reference cycle at each call."""
    return ast.literal_eval(node)


def path_of(node: ast.expr) -> tuple[str, ...] | None:
    """`nic.ring.rx` as ("nic", "ring", "rx"); None for anything but names and dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None
