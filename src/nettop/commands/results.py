"""Show stored results of tests, proofs, sweeps and studies on this host.

nettop results                       list all, newest last
nettop results show ID               show one result in full
nettop results compare ID ID         compare two results and the settings that differ
nettop results show ID --format html > report.html     one page with figures; also compare
nettop results learned SETTING       show the effect of a setting in earlier experiments
nettop results learned               show how right the predictions of each rule were: how many
                                     proofs measured a rate within the prediction, and the error
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..terms.dataclass import picked
from ..terms.errors import Refused, nearest
from . import emit, print_lines, report_faults
from ._report import format_argument, format_of, write

if TYPE_CHECKING:
    from ..facts.limits.following import Calibration

GROUP = "prove"
HELP = "show stored results of tests and experiments"
Document = Mapping[str, object]  # the JSON of one result
ACTIONS = ("list", "show", "compare", "learned")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="list")
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="result names from `list`; or a setting"
    )
    format_argument(parser)


def run(args: argparse.Namespace) -> int:
    """List, show or compare."""
    from ..trials import results

    numbers, text = {
        "list": ((0,), "takes no ID"), "show": ((1,), "needs one ID"),
        "compare": ((2,), "needs two IDs"), "learned": ((0, 1), "takes at most one setting"),
    }[args.action]  # fmt: skip
    if len(args.ids) not in numbers:
        raise Refused(f"results {args.action} {text}", 2)
    form = format_of(args)
    args.json = form == "json"
    if form in ("html", "csv") and args.action not in ("show", "compare"):
        raise Refused(f"results {args.action} is text or JSON; show and compare have reports", 2)
    if args.action == "list":
        return _list(list(results.every(tell=lambda fault: report_faults((fault,)))), args)
    if args.action == "learned":
        return _list(results.learned(args.ids[0]), args) if args.ids else _calibration(args)
    documents = [_load(name) for name in args.ids]
    if form in ("html", "csv"):
        _report(documents, form)
        return 0
    if args.action == "show":
        return _show(documents[0], args)
    return _compare(documents[0], documents[1], args)


def _report(documents: Sequence[Document], form: str) -> None:
    from ..reports import compared, report

    write(lambda: compared(*documents) if len(documents) > 1 else report(documents[0]), form)


def _load(name: str) -> Document:
    from ..trials import results

    try:
        return results.load(name)
    except LookupError as error:
        if name in results.names():
            raise Refused(str(error.args[0]), 3) from None
        raise Refused(f"no result {name!r}{nearest(name, results.names())}", 2) from None


def _list(documents: Sequence[Document], args: argparse.Namespace) -> int:

    if args.json:
        emit({"results": [_brief(document) for document in documents]})
        return 0
    if not documents:
        print("no results yet; `nettop test TOOL --to ADDRESS` stores one")
    for document in documents:
        print_lines(_line(document))
    return 0


def _calibration(args: argparse.Namespace) -> int:
    from ..trials import results

    rules = results.stored()
    if args.json:
        emit({"rules": [_row(rule, one) for rule, one in rules.items()]})
        return 0
    if not rules:
        print("no proof measured a prediction yet; `nettop prove RULE@TARGET --to ADDRESS` does")
        return 0
    wide = max(len("rule"), *map(len, rules))
    print_lines(f"{'rule':<{wide}}  proofs  within prediction  median error")
    for rule, one in rules.items():
        failed = "  fails here" if one.failed else ""
        print_lines(
            f"{rule:<{wide}}  {one.count:>6}  {one.inside:>17}  {one.error:>+12.0%}{failed}"
        )
    return 0


def _row(rule: str, one: Calibration) -> dict[str, object]:
    known = picked(one, "count inside")
    return {"rule": rule, **known, "median_error": one.error, "failed": one.failed}


def _line(document: Document) -> str:
    from ..trials import results

    what, figure, unit = results.headline(document)
    return f"{document.get('id', '')!s:<28} {_figure(figure, unit):<24} {what}"


def _brief(document: Document) -> dict[str, object]:
    from ..trials import results

    what, figure, unit = results.headline(document)
    keys = ("id", "kind", "at", "tool", "to", "verdict", "kept")
    named = {key: document[key] for key in keys if key in document}
    return {**named, "what": what, "figure": figure, "unit": unit}


def _figure(figure: float | None, unit: str) -> str:
    from ..terms.units import scaled

    if figure is None:
        return unit
    if unit == "bit/s":
        return scaled(figure, "b/s")
    if unit == "µs":
        return f"{figure:.1f} µs"
    return f"{100 * figure:+.1f} % {unit}"


def _show(document: Document, args: argparse.Namespace) -> int:
    from ..trials import prove, report

    if args.json:
        emit({"result": document})
        return 0
    kind = document.get("kind")
    try:
        if kind == "prove":
            text = prove.describe(document)
        elif kind == "sweep":
            text = prove.table(document)
        elif kind == "study":
            text = report.text(document)
        else:
            text = _flat(document)
    except (KeyError, TypeError, ValueError):
        text = _flat(document)  # written by another version: print all values without formatting
    print_lines(*text.splitlines())
    return 0


def _flat(document: Document) -> str:
    return "".join(f"{path}: {value}\n" for path, value in sorted(leaves(document).items()))


def leaves(value: object, path: str = "") -> dict[str, object]:
    """Every value of a document by its path, such as `latency.p99` or `rows[2].value`."""
    if isinstance(value, Mapping):
        parts = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{place}]", item) for place, item in enumerate(value)]
    else:
        return {path: value}
    values: dict[str, object] = {}
    for name, item in parts:
        values |= leaves(item, name)
    return values


def _compare(a: Document, b: Document, args: argparse.Namespace) -> int:
    from ..trials import results

    figures = [results.headline(document) for document in (a, b)]
    settings = [_settings(document) for document in (a, b)]
    differ = {
        name: [s.get(name) for s in settings]
        for name in sorted({*settings[0], *settings[1]})
        if settings[0].get(name) != settings[1].get(name)
    }
    ratio = _ratio(figures[0][1], figures[1][1])
    if args.json:
        emit({"a": _brief(a), "b": _brief(b), "ratio": ratio, "settings": differ})
        return 0
    print_lines(_line(a), _line(b))
    if ratio is not None:
        print(f"second / first: {ratio:.3f} (single runs; use `nettop prove` for a verdict)")
    for name, (old, new) in differ.items():
        print_lines(f"  {name}: {old} → {new}")
    return 0


def _settings(document: Document) -> Mapping[str, object]:
    """The settings in force during a test; {} where the result has none."""
    settings = document.get("settings")
    return settings if isinstance(settings, dict) else {}


def _ratio(first: float | None, second: float | None) -> float | None:
    return second / first if first and second is not None else None
