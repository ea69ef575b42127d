"""Stored results of trials of this user: one JSON file each, newest last; what rules learn of them.

The files are in `$XDG_STATE_HOME/nettop/results`, named by time and kind. Documents on disk may
have been written by another version: `load` checks only the fields that lists need.

Predictions of findings stand beside the rates that proofs measured: how right each rule was here. A
prediction and a proof are compared if the proof measured the predicted traffic: its baseline is
about the rate from which the prediction starts. A flow is not one of many parallel streams, and the
traffic of another program is not that of the test.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Final

from ..config import state_folder
from ..facts.limits import Interval
from ..facts.limits.following import Calibration, Prediction, expected
from ..facts.limits.words import interval
from ..facts.limits.words import prediction_data as predicted
from ..files import bounds
from ..files.draft import write
from ..terms.errors import sentence
from ..terms.units import scaled
from .result import Document
from .statistics import MATTERS


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


SAME: Final = 0.2  # of the larger rate: about the same, despite headers and noise of runs


def forecast(
    prediction: Prediction | None, before: Sequence[float], after: Sequence[float], unit: str
) -> Document:
    """The prediction beside the measured rate, as a proof stores it.

    `before` and `after` are the figures of a proof. A difference below 3 % counts as none, as in a
    verdict.
    """
    measured = median(after) if after and unit == "bit/s" else None
    inside = None
    if prediction is not None and measured is not None and before:
        inside = within(prediction.rate, median(before), measured)
    document = None if prediction is None else predicted(prediction)
    return {"predicted": document, "measured": measured, "inside": inside}


def within(rate: Interval, before: float, after: float) -> bool | None:
    """Whether a measured rate is within the prediction; None: other traffic was measured."""
    least, most = rate
    if abs(before - least) > SAME * max(before, least):
        return None
    return (1 - MATTERS) * min(least, before) <= after <= (1 + MATTERS) * most


def beside(document: Mapping[str, object]) -> str:
    """Prediction and measured rate of a stored proof in words; empty where it lacks one of both."""
    prediction, measured = document.get("predicted"), _finite(document.get("measured"))
    rate = _pair(prediction.get("rate")) if isinstance(prediction, Mapping) else None
    if rate is None or measured is None:
        return ""
    inside = document.get("inside")
    verdict = "right" if inside is True else "wrong" if inside is False else "for other traffic"
    return f"{interval(rate)}, measured {scaled(measured, 'b/s')}: {verdict}"


def calibrations(documents: Iterable[Mapping[str, object]], host: str) -> dict[str, Calibration]:
    """How right the predictions of each rule were, by rule; of stored proofs on this host only."""
    errors: dict[str, list[float]] = {}
    inside: dict[str, int] = {}
    for document in documents:
        rule, at, _ = str(document.get("finding")).partition("@")
        error, right = _error(document), document.get("inside")
        if not at or error is None or not isinstance(right, bool):
            continue
        if document.get("host", host) == host:
            errors.setdefault(rule, []).append(error)
            inside[rule] = inside.get(rule, 0) + right
    return {
        rule: Calibration(len(errors[rule]), inside[rule], median(errors[rule]))
        for rule in sorted(errors)
    }


def _error(document: Mapping[str, object]) -> float | None:
    """Expected rate / measured rate - 1; None where a stored proof does not have both."""
    prediction, measured = document.get("predicted"), _finite(document.get("measured"))
    if not isinstance(prediction, Mapping) or measured is None or measured < 1.0:
        return None
    following = prediction.get("next")
    rate = _pair(prediction.get("rate"))
    if rate is None:
        return None
    known = _pair(following.get("capacity")) if isinstance(following, Mapping) else None
    return expected(rate, known or rate) / measured - 1


def _pair(value: object) -> Interval | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    least, most = map(_finite, value)
    return None if least is None or most is None else (least, most)


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and bounds.number(value) else None


def stored(where: Path | None = None) -> dict[str, Calibration]:
    """How right the predictions of each rule were, by the stored proofs of this user."""
    return calibrations(every(where, kind="prove"), os.uname().nodename)


def earlier(rule: str) -> Calibration | None:
    """How right the predictions of a rule were; None if none was measured."""
    where = folder()
    try:
        changed = os.stat(where).st_mtime_ns
    except OSError:
        return None
    return _at(where, changed).get(rule)


@lru_cache(maxsize=1)
def _at(where: Path, changed: int) -> dict[str, Calibration]:  # noqa: ARG001
    """The stored proofs, read again once the folder has changed (ns)."""
    return stored(where)
