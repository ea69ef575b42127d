"""A limit as data, for --json: `limit` in schema.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import Limit, Reading

if TYPE_CHECKING:
    from .prediction import Prediction


def document(limit: Limit) -> dict[str, object]:
    """One limit: the stage that limits, the one that would limit next, all stages by capacity."""
    return {
        "over": limit.over,
        "target": limit.target,
        "direction": limit.direction,
        "namespace": limit.namespace,
        "rate": limit.rate,
        "since": limit.since,
        "limit": {**_stage(limit.stage), "joint": list(limit.joint), **_doing(limit)},
        "next": _next(limit.next),
        "ladder": [_stage(step) for step in limit.ladder],
        **({"ended": True} if limit.ended else {}),
    }  # fmt: skip


def predicted(one: Prediction) -> dict[str, object]:
    """What a fix may bring: the predicted rates, the next limit, and earlier predictions."""
    values: dict[str, object] = {"rate": list(one.rate), "next": _next(one.next)}
    if one.earlier is not None:
        values["earlier"] = {
            "count": one.earlier.count, "inside": one.earlier.inside, "failed": one.earlier.failed,
        }  # fmt: skip
    return values


def _doing(limit: Limit) -> dict[str, object]:
    return {} if limit.doing is None else {"doing": limit.doing}


def _next(one: Reading | None) -> dict[str, object] | None:
    if one is None:
        return None
    return {
        "stage": one.stage, "end": one.end, "name": one.name, "capacity": _capacity(one),
    }  # fmt: skip


def _stage(one: Reading) -> dict[str, object]:
    return {
        "stage": one.stage, "end": one.end, "name": one.name, "utilisation": one.utilisation,
        "capacity": _capacity(one), "kind": one.kind, "because": one.because,
    }  # fmt: skip


def _capacity(one: Reading) -> list[float] | None:
    return None if one.capacity is None else list(one.capacity)
