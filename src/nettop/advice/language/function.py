"""What a function of the rules' language declares of itself.

The protocols describe what a function's hooks may use of the part that processes the call: the
checker (`expression`), the evaluation (`evaluate`), the code writer (`native`) and the wording
(`words`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeAlias

from ...terms.dataclass import dataclass
from .moment import Scope
from .values import Evaluated, Value
from .vocabulary import Word

Code: TypeAlias = tuple[list[str], str]  # guards that must hold, and Python code of the value


class TypeCheck(Protocol):
    """Checks one expression and finds the types of its parts."""

    @property
    def facts(self) -> Mapping[str, type]:
        """The facts that the expression may name."""

    def type_of(self, node: ast.expr) -> str:
        """The type of a part; ExpressionError where the part is not allowed."""

    def want(self, node: ast.expr, *kinds: str) -> str:
        """The type of a part that must be one of `kinds`; ExpressionError otherwise."""


class Evaluation(Protocol):
    """Evaluates one expression on one target."""

    @property
    def over(self) -> str:
        """The kind of fact that the rule is over."""

    @property
    def scope(self) -> Scope:
        """What the names stand for."""

    def visit(self, node: ast.expr) -> Evaluated:
        """The result of one part."""

    def word(self, field: ast.expr) -> Word | None:
        """The vocabulary's entry of a field."""

    def read(self, field: str, value: Value | None, word: Word | None) -> Evaluated:
        """The result of reading a field."""

    def junction(self, results: Sequence[Evaluated], *, decides: bool) -> Evaluated:
        """`or` (decides True) and `and` (decides False) in three-valued logic."""

    def apply(self, call: Callable[..., Value | None], *results: Evaluated) -> Evaluated:
        """A call on known values; unknown where one is unknown."""


class CodeWriter(Protocol):
    """Writes Python code of one expression."""

    @property
    def over(self) -> str:
        """The kind of fact that the rule is over."""

    @property
    def certain(self) -> Collection[str]:
        """The facts that are never None."""

    def value(self, node: ast.expr) -> Code:
        """The guards under which a part is known, and the code of its value."""

    def condition(self, node: ast.expr, want: bool) -> str:
        """Code that is true exactly when a part is known to be `want`."""

    def joined(self, parts: Sequence[str], *, conjunction: bool) -> str:
        """The parts joined by `and` or `or`."""

    def maybe(self, guards: Sequence[str], code: str) -> str:
        """The value, or None where a guard fails."""

    def guarded(self, guards: list[str], code: str) -> Code:
        """A value that may be None, with the guard that it is not."""

    def hoisted(self, code: str) -> Code:
        """A value that is the same for all targets, computed once a frame."""


class Wording(Protocol):
    """Writes one expression in words."""

    def phrase(self, node: ast.expr) -> str:
        """A part of an expression in words."""

    def statement(self, node: ast.expr) -> str:
        """A boolean part as a statement."""


@dataclass(frozen=True, slots=True)
class Function:
    """Arguments, result and meaning of one function; None means the usual form.

    `call` never gets None: an unknown argument makes the result unknown. `call` returns None for
    "unknown" and never raises on values of the declared types. `check`, `value`, `code`,
    `condition` and `phrase` get the part that processes the call, and the call's syntax.
    """

    takes: tuple[str, ...]  # types of the arguments
    gives: str
    unknown: bool = False  # whether `call` may return None
    rest: bool = False  # the last type may repeat
    call: Callable[..., Value | None] | None = None
    moment: bool = False  # `Moment` has the method of this name
    only_to: bool = False  # only in `to`
    check: Callable[[TypeCheck, ast.Call], None] | None = None  # instead of comparing types
    value: Callable[[Evaluation, ast.Call], Evaluated] | None = None
    code: Callable[[CodeWriter, ast.Call], Code] | None = None
    condition: Callable[[CodeWriter, ast.Call, bool], str] | None = None  # code of a yes or no
    words: Callable[[list[str]], str] | None = None  # the call in words, from its arguments' words
    phrase: Callable[[Wording, ast.Call], str] | None = None  # the same from the call's syntax
    statement: tuple[str, str] | None = None  # as a statement about the last argument: yes, no
