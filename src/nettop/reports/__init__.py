"""Reports of stored results: one HTML page without network access, or its samples as CSV.

`kinds/` has one module for each kind of result. Its `report` turns the JSON document into a Report:
figures, tables and texts as plain values. `draw` draws a figure with matplotlib, `html` writes the
page, `figure.csv_text` the samples of all figures.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from . import kinds
from .figure import Report


@cache
def names() -> tuple[str, ...]:
    """The kinds of results that have a report."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(kinds.__path__)))


def report(document: Mapping[str, object]) -> Report:
    """The report of a result by its `kind`.

    LookupError: there is no report of this kind. KeyError, TypeError, ValueError: the document was
    written by another version and lacks a field.
    """
    kind = document.get("kind")
    if kind not in names():
        raise LookupError(f"no report of a result of kind {kind!r}")
    built: Report = importlib.import_module(f"{kinds.__name__}.{kind}").report(document)
    return built
