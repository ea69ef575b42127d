"""Tuning: prove the fix of each finding in turn, the largest expected gain first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ..terms.errors import sentence
from . import prove, results
from .lever import LeverError
from .peer import Cancelled
from .prove import Bench
from .run import TrialError

UNPROVEN: Final = "not about speed: a measurement cannot prove it"


@dataclass(frozen=True, slots=True)
class Offer:
    """A finding with a setting to test, or one for `nettop apply` only."""

    finding: str
    title: str
    wanted: list[tuple[str, str]]
    safety: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The result for one finding."""

    finding: str
    title: str
    state: str  # kept, not kept, skipped
    because: str
    document: dict[str, Any] | None = None


def tune(
    offers: Sequence[Offer], on: Bench, budget: float, clock: Callable[[], float] = time.monotonic
) -> dict[str, Any]:
    """Prove each offer within the budget; compare the final state with the original one.

    If cancelled, changes already kept stay; the current step is reverted.
    """
    begun = clock()
    steps: list[Step] = []
    cancelled = False
    need = on.plan.minimum(2, 1.0)
    for offer in offers:
        finding, title, wanted = offer.finding, offer.title, offer.wanted
        if offer.safety:
            why = f"{UNPROVEN}; nettop apply {finding}"
            steps.append(Step(finding, title, "skipped", why))
            continue
        left = budget - (clock() - begun)
        reserve = need if any(step.state == "kept" for step in steps) else 0.0
        if cancelled or left < need + reserve:
            why = "cancelled" if cancelled else f"no time left: a proof takes at least {need:.0f} s"
            steps.append(Step(finding, title, "skipped", why))
            continue
        try:
            steps.append(_step(finding, title, wanted, _within(on, left - reserve)))
        except Cancelled:
            steps.append(Step(finding, title, "skipped", "cancelled"))
            cancelled = True
    kept = [step for step in steps if step.state == "kept"]
    ids = [number for step in kept if step.document for number in step.document["ids"]]
    total = None
    if len(kept) == 1 and kept[0].document:
        d = kept[0].document
        total = {key: d[key] for key in ("median_difference", "interval", "confidence")}
    document: dict[str, Any] = {
        "to": on.options.to,
        "budget": budget,
        "seconds": clock() - begun,
        "steps": [
            {"finding": s.finding, "title": s.title, "state": s.state, "because": s.because}
            | ({"median_difference": s.document["median_difference"],
                "interval": s.document["interval"], "verdict": s.document["verdict"]}
               if s.document else {})
            for s in steps
        ],
        "total": total,
        "gains": [s.document["median_difference"] for s in kept if s.document],
        "ids": ids,
        "undo": "nettop undo " + " ".join(map(str, ids)) if ids else None,
        "cancelled": cancelled,
        **on.about(),
    }  # fmt: skip
    if total is None and len(kept) > 1 and not cancelled:
        document["total"] = together(kept)
    results.keep("tune", document)
    return document


def together(kept: Sequence[Step]) -> dict[str, Any]:
    """The total gain of several steps: the first baseline against the last state.

    Each step builds on the previous ones, so gains multiply. The interval multiplies the ends of
    the steps' intervals; it is wider than the interval of one joint experiment.
    """
    middle = low = high = 1.0
    for step in kept:
        if step.document is None:
            continue
        middle *= 1 + step.document["median_difference"]
        low *= 1 + step.document["interval"][0]
        high *= 1 + step.document["interval"][1]
    return {"median_difference": middle - 1, "interval": [low - 1, high - 1], "by": "product"}


def _within(on: Bench, seconds: float) -> Bench:
    return replace(on, plan=replace(on.plan, budget=seconds))


def _step(finding: str, title: str, wanted: list[tuple[str, str]], on: Bench) -> Step:
    if not wanted:
        return Step(finding, title, "skipped", "no setting to test")
    try:
        document = prove.prove(finding, wanted, on)
    except (TrialError, LeverError, OSError, ValueError, LookupError) as error:
        return Step(finding, title, "skipped", sentence(error))
    state = "kept" if document["kept"] else "not kept"
    return Step(finding, title, state, document["because"], document)


def text(document: dict[str, Any]) -> str:
    """The report as text."""
    marks = {"kept": "✓", "not kept": "–", "skipped": " "}
    lines = [f"tuned towards {document['to']} in {document['seconds']:.0f} s"]
    lines += [
        f"  {marks[s['state']]} {s['state']:<9} {s['finding']}: {s['because']}"
        for s in document["steps"]
    ]
    total = document["total"]
    if total:
        low, high = total["interval"]
        middle = f"{100 * total['median_difference']:+.1f} %"
        lines.append(f"  total {middle} ({100 * low:+.1f} to {100 * high:+.1f} %)")
    lines.append(
        f"  revert everything with: {document['undo']}"
        if document["undo"]
        else "  nothing was kept; all changes are reverted"
    )
    return "\n".join(lines) + "\n"
