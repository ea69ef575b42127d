"""Predictions of findings beside the rates that proofs measured: how right each rule was here.

A prediction and a proof are compared if the proof measured the predicted traffic: its baseline is
about the rate from which the prediction starts. A flow is not one of many parallel streams, and the
traffic of another program is not that of the test.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Final

from ..facts.limits import Interval
from ..facts.limits.prediction import Calibration, Prediction, expected
from ..facts.limits.words import interval
from ..facts.limits.words import prediction_data as predicted
from ..files import bounds
from ..terms.units import scaled
from . import results
from .result import Document
from .statistics import MATTERS

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
    prediction, measured = document.get("predicted"), _number(document.get("measured"))
    rate = _pair(prediction.get("rate")) if isinstance(prediction, Mapping) else None
    if rate is None or measured is None:
        return ""
    inside = document.get("inside")
    verdict = "right" if inside is True else "wrong" if inside is False else "for other traffic"
    return f"{interval(rate)}, measured {scaled(measured, 'b/s')}: {verdict}"


def learned(documents: Iterable[Mapping[str, object]], host: str) -> dict[str, Calibration]:
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
    prediction, measured = document.get("predicted"), _number(document.get("measured"))
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
    least, most = map(_number, value)
    return None if least is None or most is None else (least, most)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and bounds.number(value) else None


def stored(where: Path | None = None) -> dict[str, Calibration]:
    """How right the predictions of each rule were, by the stored proofs of this user."""
    return learned(results.every(where, kind="prove"), os.uname().nodename)


def earlier(rule: str) -> Calibration | None:
    """How right the predictions of a rule were; None if none was measured."""
    where = results.folder()
    try:
        changed = os.stat(where).st_mtime_ns
    except OSError:
        return None
    return _at(where, changed).get(rule)


@lru_cache(maxsize=1)
def _at(where: Path, changed: int) -> dict[str, Calibration]:  # noqa: ARG001
    """The stored proofs, read again once the folder has changed (ns)."""
    return stored(where)
