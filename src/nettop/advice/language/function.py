"""What a function of the rules' language declares of itself."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Function:
    """Arguments, result and meaning of one function; what is None has the usual form.

    A None never reaches `call`: it made the result unknown. `call` returns None for "unknown" and
    never raises on a value of the declared type. `value`, `code`, `condition` and `say` are given
    the walk, writer or speaker that meets the call, and the call itself.
    """

    takes: tuple[str, ...]  # types of the arguments
    gives: str
    unknown: bool = False  # whether the result may be unknown though the arguments are known
    rest: bool = False  # the last type may repeat
    call: Callable[..., Any] | None = None
    moment: bool = False  # a method of `Moment` of the same name does it
    only_to: bool = False  # only in `to`
    check: Callable[[Any, ast.Call], None] | None = None  # instead of comparing types
    value: Callable[[Any, ast.Call], Any] | None = None  # its `Result`, with what was read
    code: Callable[[Any, ast.Call], tuple[list[str], str]] | None = None  # guards and Python code
    condition: Callable[[Any, ast.Call, bool], str] | None = None  # code where it is yes or no
    words: Callable[[list[str]], str] | None = None  # the call in words, from its arguments' words
    say: Callable[[Any, ast.Call], str] | None = None  # the same from the call itself
    statement: tuple[str, str] | None = None  # as a statement about the last argument: yes, no
