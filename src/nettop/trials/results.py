"""Stored results of the user's trials: one JSON file each, newest last.

They are in `$XDG_STATE_HOME/nettop/results`, named by time and kind.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ..config import state_folder
from ..files import bounds
from ..files.draft import write
from ..terms.errors import sentence


def folder() -> Path:
    """The folder of the results."""
    return state_folder() / "results"


def mark(guard: Mapping[str, Any], verdict: str) -> str:
    """Of a loss beside the gain: ✓ it did not grow, · it did, but little against the gain, ✗."""
    return "✓" if guard.get("ok") else "·" if verdict == "better" else "✗"


def keep(
    kind: str, document: Mapping[str, Any], where: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> str | None:  # fmt: skip
    """Store one result (`test`, `prove`, `sweep`, `tune`, `study`); its id, None if it cannot be.

    A host whose disk is full or read-only still gets its figures on the screen; `tell` (else
    stderr) gets a sentence that says why they are not stored.
    """
    where = where or folder()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(document.get("at") or time.time()))
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
        found = os.listdir(where or folder())
    except OSError:
        return ()
    every = sorted(name[:-5] for name in found if name.endswith(".json") and name[0] != ".")
    return tuple(every[-bounds.BOUNDS["results"].most :])


def load(name: str, where: Path | None = None) -> dict[str, Any]:
    """One result; LookupError when there is none of that id or it cannot be read."""
    if "/" in name or name.startswith("."):
        raise LookupError(f"{name!r} is not a result")
    try:
        found = bounds.document(bounds.read((where or folder()) / f"{name}.json", "result"))
    except OSError as error:
        raise LookupError(f"no result {name!r}: {error.strerror}") from None
    except ValueError as error:
        raise LookupError(f"no result {name!r}: {error}") from None
    if not isinstance(found, dict):
        raise LookupError(f"{name!r} is not a result")  # noqa: TRY004
    for key, fits in _KEYS.items():
        if not fits(found.get(key)):
            raise LookupError(f"{name!r} is not a result: its {key} is odd")
    return found


def _text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _figure(value: Any) -> bool:
    return value is None or bounds.number(value)


def _moment(value: Any) -> bool:
    return value is None or (bounds.number(value) and 0 <= value < _END_OF_TIME)


_END_OF_TIME: Final = 253_402_300_800  # the year 10000, which no calendar here prints
_KEYS: Final[Mapping[str, Callable[[Any], bool]]] = {
    **dict.fromkeys("id kind tool to verdict study setting finding".split(), _text),
    **dict.fromkeys(("median_difference", "bits_per_second"), _figure),
    "at": _moment,
    "latency": lambda value: not isinstance(value, dict) or _figure(value.get("p50")),
}


def every(
    where: Path | None = None, tell: Callable[[str], None] | None = None
) -> Iterator[dict[str, Any]]:
    """Every readable result, oldest first; `tell` gets a sentence for each of the others."""
    for name in names(where):
        try:
            yield load(name, where)
        except LookupError as error:
            if tell is not None:
                tell(str(error.args[0]))


def learned(setting: str, where: Path | None = None) -> list[dict[str, Any]]:
    """What experiments with this setting found on this host, oldest first."""
    return [
        found
        for found in every(where)
        if found.get("kind") in ("prove", "sweep") and setting in _settings(found)
    ]


def _settings(document: Mapping[str, Any]) -> list[str]:
    changes = document.get("changes")
    named = [c.get("setting") for c in changes if isinstance(c, dict)] if changes else []
    return [str(name) for name in [*named, document.get("setting")] if name]


def headline(document: Mapping[str, Any]) -> tuple[str, float | None, str]:
    """Subject, main figure, and unit of the figure or verdict."""
    kind = str(document.get("kind", ""))
    if kind == "prove":
        what = str(document.get("finding") or ", ".join(_settings(document)))
        return what, document.get("median_difference"), str(document.get("verdict", ""))
    if kind == "sweep":
        return str(document.get("setting", "")), None, f"best {document.get('best', '–')}"
    if kind in ("study", "tune"):
        return str(document.get("study") or document.get("to") or ""), None, ""
    what = f"{document.get('tool', '')} to {document.get('to', '')}"
    latency = document.get("latency")
    if isinstance(latency, dict) and "p50" in latency:
        return what, latency["p50"], "µs"
    return what, document.get("bits_per_second"), "bit/s"
