"""Stored results of trials of this user: one JSON file each, newest last.

The files are in `$XDG_STATE_HOME/nettop/results`, named by time and kind. Documents on disk may
have been written by another version: `load` checks only the fields that lists need.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from ..config import state_folder
from ..files import bounds
from ..files.draft import write
from ..terms.errors import sentence


def folder() -> Path:
    """The folder of the results."""
    return state_folder() / "results"


def mark(guard: Mapping[str, object], verdict: str) -> str:
    """Of a loss rate: ✓ not higher, · higher but small compared to the gain, ✗ higher."""
    return "✓" if guard.get("ok") else "·" if verdict == "better" else "✗"


def keep(
    kind: str, document: Mapping[str, object], where: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> str | None:  # fmt: skip
    """Store one result (`test`, `prove`, `sweep`, `tune`, `study`); its id.

    None if it cannot be stored: a full or read-only disk does not fail a test. Then `tell`, or
    stderr without it, gets one sentence.
    """
    where = where or folder()
    at = document.get("at")
    seconds = at if at and isinstance(at, int | float) else time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    try:
        where.mkdir(parents=True, exist_ok=True, mode=0o700)
        for number in range(1000):
            name = f"{stamp}-{kind}" + (f"-{number}" if number else "")
            try:
                text = json.dumps({"id": name, "kind": kind, **document}, default=str)
                write(where / f"{name}.json", text, 0o600, over=False)
            except FileExistsError:
                continue
            return name
    except OSError as error:
        (tell or _warn)(f"the result is not stored: {sentence(error)}")
    return None


def _warn(text: str) -> None:
    print(f"nettop: {text}", file=sys.stderr)


def names(where: Path | None = None) -> tuple[str, ...]:
    """The ids of the newest results, as many as the bound allows, oldest first."""
    try:
        files = os.listdir(where or folder())
    except OSError:
        return ()
    every = sorted(name[:-5] for name in files if name.endswith(".json") and name[0] != ".")
    return tuple(every[-bounds.BOUNDS["results"].most :])


def load(name: str, where: Path | None = None) -> dict[str, object]:
    """One result; LookupError if there is no result of that id or it is not valid."""
    if "/" in name or name.startswith("."):
        raise LookupError(f"{name!r} is not a result")
    try:
        document = bounds.document(bounds.read((where or folder()) / f"{name}.json", "result"))
    except OSError as error:
        raise LookupError(f"no result {name!r}: {error.strerror}") from None
    except ValueError as error:
        raise LookupError(f"no result {name!r}: {error}") from None
    if not isinstance(document, dict):
        raise LookupError(f"{name!r} is not a result")  # noqa: TRY004
    for key, valid in _KEYS.items():
        if not valid(document.get(key)):
            raise LookupError(f"{name!r} is not a result: its {key} is not valid")
    return document


def _text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _figure(value: object) -> bool:
    return value is None or bounds.number(value)


def _time(value: object) -> bool:
    return value is None or (
        isinstance(value, int | float) and bounds.number(value) and 0 <= value < _END_OF_TIME
    )


_END_OF_TIME: Final = 253_402_300_800  # the year 10000: a date has four digits
_KEYS: Final[Mapping[str, Callable[[object], bool]]] = {
    **dict.fromkeys("id kind tool to verdict study setting finding".split(), _text),
    **dict.fromkeys(("median_difference", "bits_per_second"), _figure),
    "at": _time,
    "latency": lambda value: not isinstance(value, dict) or _figure(value.get("p50")),
}


def every(
    where: Path | None = None, tell: Callable[[str], None] | None = None, kind: str | None = None
) -> Iterator[dict[str, object]]:
    """Every valid result, or those of a kind, oldest first.

    `tell` gets a sentence for each result that is not valid.
    """
    for name in names(where):
        if kind is not None and name.split("-")[2:3] != [kind]:
            continue
        try:
            yield load(name, where)
        except LookupError as error:
            if tell is not None:
                tell(str(error.args[0]))


def learned(setting: str, where: Path | None = None) -> list[dict[str, object]]:
    """The proofs and sweeps with this setting on this host, oldest first."""
    return [
        document
        for document in every(where)
        if document.get("kind") in ("prove", "sweep") and setting in _settings(document)
    ]


def _settings(document: Mapping[str, object]) -> list[str]:
    changes = document.get("changes")
    rows = changes if isinstance(changes, list) else []
    named = [row.get("setting") for row in rows if isinstance(row, dict)]
    return [str(name) for name in [*named, document.get("setting")] if name]


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def headline(document: Mapping[str, object]) -> tuple[str, float | None, str]:
    """Subject, main figure, and unit of the figure; or the verdict where there is no figure."""
    kind = str(document.get("kind", ""))
    if kind == "prove":
        what = str(document.get("finding") or ", ".join(_settings(document)))
        return what, _number(document.get("median_difference")), str(document.get("verdict", ""))
    if kind == "sweep":
        return str(document.get("setting", "")), None, f"best {document.get('best', '–')}"
    if kind in ("study", "tune"):
        return str(document.get("study") or document.get("to") or ""), None, ""
    what = f"{document.get('tool', '')} to {document.get('to', '')}"
    latency = document.get("latency")
    if isinstance(latency, dict) and "p50" in latency:
        return what, _number(latency["p50"]), "µs"
    return what, _number(document.get("bits_per_second")), "bit/s"
