"""The format of a result: text for a terminal, an HTML page, its samples as CSV, or JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..files import own
from ..terms.errors import Refused, sentence
from . import emit

if TYPE_CHECKING:
    from ..reports.figure import Report

FORMATS = ("text", "html", "csv", "json")


def format_argument(parser: argparse.ArgumentParser, *more: str) -> None:
    """--format, and --json as its short form."""
    parser.add_argument(
        "--format", choices=(*FORMATS, *more), default="text", metavar="FORMAT",
        help=f"{', '.join((*FORMATS, *more))} (text); html is one page and needs nettop[report]",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, as --format json")


def format_of(args: argparse.Namespace) -> str:
    """The wanted format; Refused before a long measurement if it cannot be written."""
    if args.json:
        return "json"
    form: str = args.format
    if form == "html":
        if find_spec("matplotlib") is None:
            cure = "this file is without it" if own.file() else "pip install 'nettop[report]'"
            raise Refused(f"matplotlib is not installed: {cure}", 3)
        if sys.stdout.isatty():
            raise Refused("--format html writes a page: send it to a file (> report.html)", 2)
    return form


def print_report(
    kind: str, document: Mapping[str, object], form: str,
    text: Callable[[Mapping[str, object]], str],
) -> None:  # fmt: skip
    """Print a result in this format; `text` writes the text of the terminal."""
    if form == "json":
        emit(document)
    elif form == "text":
        print(text(document), end="")
    else:
        from ..reports import report

        write(lambda: report({"kind": kind, **document}), form)


def write(build: Callable[[], Report], form: str) -> None:
    """Print a report as an HTML page or CSV; Refused for a result of another version."""
    try:
        built = build()
    except LookupError as error:
        raise Refused(_because(error), 3) from None
    except (TypeError, ValueError) as error:
        raise Refused(f"the result cannot be reported: {sentence(error)}", 3) from None
    if form == "csv":
        from ..reports.figure import csv_text as text

        print(text(built), end="")
        return
    from ..reports.draw import svg
    from ..reports.html import page

    print(page(built, svg), end="")


def _because(error: LookupError) -> str:
    if isinstance(error, KeyError):
        return f"the result was written by another version: it has no field {error}"
    return sentence(error)
