"""A limit as data, for --json: `limit` in schema.json."""

from __future__ import annotations

from ...terms.dataclass import picked
from . import Limit, Reading
from .prediction import Prediction


def document(limit: Limit) -> dict[str, object]:
    """One limit: the stage that limits, the one that would limit next, all stages by capacity."""
    return {
        **picked(limit, "over target direction namespace rate since"),
        "limit": {**_stage(limit.stage), "joint": list(limit.joint), **_doing(limit)},
        "next": _next(limit.next),
        "ladder": [_stage(step) for step in limit.ladder],
        **({"ended": True} if limit.ended else {}),
    }  # fmt: skip


def predicted(one: Prediction) -> dict[str, object]:
    """What a fix may bring: the predicted rates, the next limit, and earlier predictions."""
    values: dict[str, object] = {"rate": list(one.rate), "next": _next(one.next)}
    if one.earlier is not None:
        values["earlier"] = picked(one.earlier, "count inside failed")
    return values


def _doing(limit: Limit) -> dict[str, object]:
    return {} if limit.doing is None else {"doing": limit.doing}


def _next(one: Reading | None) -> dict[str, object] | None:
    return None if one is None else picked(one, "stage end name capacity")


def _stage(one: Reading) -> dict[str, object]:
    return picked(one, "stage end name utilisation capacity kind because")
