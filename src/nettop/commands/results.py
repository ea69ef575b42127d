"""Show stored results of tests, proofs, sweeps and studies on this host.

nettop results                       list all, newest last
nettop results show ID               show one result in full
nettop results compare ID ID         compare two results and the settings that differ
nettop results learned SETTING       show the effect of a setting in earlier experiments
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ..terms.errors import Refused, nearest
from . import emit, json_argument, tell_faults

GROUP = "prove"
HELP = "show stored results of tests and experiments"
DOINGS = ("list", "show", "compare", "learned")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("doing", nargs="?", choices=DOINGS, default="list")
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="result names from `list`; or a setting"
    )
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """List, show or compare."""
    from ..trials import results

    need = {"list": 0, "show": 1, "compare": 2, "learned": 1}[args.doing]
    if len(args.ids) != need:
        raise Refused(f"results {args.doing} takes {need} of ID", 2)
    if args.doing == "list":
        return _list(list(results.every(tell=lambda fault: tell_faults((fault,)))), args)
    if args.doing == "learned":
        return _list(results.learned(args.ids[0]), args)
    found = [_load(name) for name in args.ids]
    if args.doing == "show":
        return _show(found[0], args)
    return _compare(found[0], found[1], args)


def _load(name: str) -> dict[str, Any]:
    from ..trials import results

    try:
        return results.load(name)
    except LookupError as error:
        if name in results.names():
            raise Refused(str(error.args[0]), 3) from None
        raise Refused(f"no result {name!r}{nearest(name, results.names())}", 2) from None


def _list(found: list[dict[str, Any]], args: argparse.Namespace) -> int:
    from ..trials import results

    if args.json:
        emit({"results": [_brief(document) for document in found]})
        return 0
    if not found:
        print("no results yet; `nettop test TOOL --to ADDRESS` stores one")
    for document in found:
        what, figure, unit = results.headline(document)
        print(f"{document.get('id', ''):<28} {_figure(figure, unit):<24} {_safe(what)}")
    return 0


def _brief(document: Mapping[str, Any]) -> dict[str, Any]:
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


def _safe(text: str) -> str:
    from ..terms.text import safe

    return safe(text)


def _show(document: dict[str, Any], args: argparse.Namespace) -> int:
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
    print(_lines(text), end="")
    return 0


def _lines(text: str) -> str:
    return "".join(_safe(line) + "\n" for line in text.splitlines())


def _flat(document: Mapping[str, Any]) -> str:
    return "".join(f"{path}: {value}\n" for path, value in sorted(leaves(document).items()))


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Every value of a document with its dotted path."""
    if isinstance(value, Mapping):
        parts = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{place}]", item) for place, item in enumerate(value)]
    else:
        return {path: value}
    found: dict[str, Any] = {}
    for name, item in parts:
        found |= leaves(item, name)
    return found


def _compare(a: dict[str, Any], b: dict[str, Any], args: argparse.Namespace) -> int:
    from ..trials import results

    figures = [results.headline(document) for document in (a, b)]
    settings = [document.get("settings") or {} for document in (a, b)]
    differ = {
        name: [s.get(name) for s in settings]
        for name in sorted({*settings[0], *settings[1]})
        if settings[0].get(name) != settings[1].get(name)
    }
    ratio = _ratio(figures[0][1], figures[1][1])
    if args.json:
        emit({"a": _brief(a), "b": _brief(b), "ratio": ratio, "settings": differ})
        return 0
    for document, (what, figure, unit) in zip((a, b), figures, strict=True):
        print(f"{document.get('id', ''):<28} {_figure(figure, unit):<24} {_safe(what)}")
    if ratio is not None:
        print(f"second / first: {ratio:.3f} (single runs; use `nettop prove` for a verdict)")
    for name, (old, new) in differ.items():
        print(_safe(f"  {name}: {old} → {new}"))
    return 0


def _ratio(first: float | None, second: float | None) -> float | None:
    return second / first if first and second is not None else None
