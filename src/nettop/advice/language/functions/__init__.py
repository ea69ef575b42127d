"""The functions an expression may call, found by listing this folder.

Each module has `FUNCTIONS`, a table of `Function` by name. A newcomer adds a function as one new
file: the checker, the evaluation, the native code and the words take all they need from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from ....terms.modules import modules
from ..function import Function

FUNCTIONS: Final[Mapping[str, Function]] = {
    name: function
    for module in modules(__path__[0])
    for name, function in import_module(f"{__name__}.{module}").FUNCTIONS.items()
}
