"""Tuning: prove the fix of each finding in turn, the largest predicted gain first."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..facts.limits.following import Prediction
from ..files import own
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from . import ends, prove, results
from .end import Cancelled
from .lever import LeverError, Proved
from .prove import Bench
from .result import Document, Progress
from .results import beside
from .run import TrialError

NO_STEPS: Final = "no finding advises a change that a measurement could prove: nothing was tested"
UNPROVEN: Final = "not about speed: a measurement cannot prove it"
NO_SETTING: Final = "no setting of a host cures it"


@dataclass(frozen=True, slots=True)
class Offer:
    """A finding with the settings to test; with `safety` it is not about speed and not tested.

    Without settings it is not tested either, and its `advice` says who must do what.
    """

    finding: str
    title: str
    wanted: list[tuple[str, str]]
    safety: bool = False
    predicted: Prediction | None = None
    lever: Callable[[], Proved] | None = None  # at the other end; None: settings of this host
    advice: str = ""


def proof(offer: Offer, on: Bench, *, keep: bool = True) -> Document:
    """Prove an offer at the end whose settings it has; errors as `prove.prove`."""
    lever = None if offer.lever is None else offer.lever()
    return prove.prove(
        offer.finding, offer.wanted, on, keep=keep, predicted=offer.predicted, lever=lever
    )


@dataclass(frozen=True, slots=True)
class TuneOutcome:
    """The result for one finding."""

    finding: str
    title: str
    state: str  # kept, not kept, skipped
    because: str
    document: Document | None = None

    def row(self) -> Document:
        """The JSON of this step."""
        row: Document = {
            "finding": self.finding, "title": self.title, "state": self.state,
            "because": self.because,
        }  # fmt: skip
        if self.document is not None:
            row["median_difference"] = self.document["median_difference"]
            row["interval"] = self.document["interval"]
            row["verdict"] = self.document["verdict"]
            row["predicted"] = self.document["predicted"]
            row["measured"] = self.document["measured"]
            row["inside"] = self.document["inside"]
        return row


def tune(
    offers: Sequence[Offer], on: Bench, budget: float, clock: Callable[[], float] = time.monotonic
) -> Document:
    """Prove each offer within the budget (seconds); add up the gains of the kept changes.

    If cancelled, changes that are already kept stay, and the current step is reverted.
    """
    begun = clock()
    steps: list[TuneOutcome] = []
    cancelled = False
    need = on.plan.minimum(2, 1.0)
    for offer in offers:
        finding, title = offer.finding, offer.title
        if offer.safety:
            why = f"{UNPROVEN}; {own.called()} apply {finding}"
            steps.append(TuneOutcome(finding, title, "skipped", why))
            continue
        if not offer.wanted:
            why = f"{NO_SETTING}{offer.advice and f': {offer.advice}'}"
            steps.append(TuneOutcome(finding, title, "skipped", why))
            continue
        left = budget - (clock() - begun)
        reserve = need if any(step.state == "kept" for step in steps) else 0.0
        if cancelled or left < need + reserve:
            why = "cancelled" if cancelled else f"no time left: a proof takes at least {need:.0f} s"
            steps.append(TuneOutcome(finding, title, "skipped", why))
            continue
        try:
            steps.append(_step(offer, _within(on, left - reserve, finding)))
        except Cancelled:
            steps.append(TuneOutcome(finding, title, "skipped", "cancelled"))
            cancelled = True
    kept = [step.document for step in steps if step.state == "kept" and step.document]
    ids = [number for proof in kept for number in proof["ids"]]
    document: Document = {
        "to": on.options.to,
        "budget": budget,
        "seconds": clock() - begun,
        "steps": [step.row() for step in steps],
        "total": _total(kept, cancelled=cancelled),
        "gains": [proof["median_difference"] for proof in kept],
        "ids": ids,
        "undo": _undo(kept),
        "cancelled": cancelled,
        **on.about(),
    }  # fmt: skip
    results.keep("tune", document)
    return document


def _undo(kept: Sequence[Document]) -> str | None:
    """The commands that revert what was kept, one for each host; None if nothing was."""
    numbers: dict[str, list[int]] = {}
    for proof in kept:
        numbers.setdefault(prove.undoes(proof), []).extend(proof["ids"])
    words = [f"{way} undo {' '.join(map(str, ids))}" for way, ids in numbers.items() if ids]
    return "; ".join(words) or None


def _total(kept: Sequence[Document], *, cancelled: bool) -> Document | None:
    """The gain of the final state compared with the original one; None if nothing was kept."""
    if len(kept) == 1:
        return {
            "median_difference": kept[0]["median_difference"],
            "interval": kept[0]["interval"],
            "confidence": kept[0]["confidence"],
        }
    return together(kept) if kept and not cancelled else None


def together(kept: Sequence[Document]) -> Document:
    """The total gain of several kept changes.

    Each change builds on the previous ones, so gains multiply. The interval multiplies the ends of
    their intervals; it is wider than the interval of one joint experiment.
    """
    middle = low = high = 1.0
    for proof in kept:
        middle *= 1 + proof["median_difference"]
        low *= 1 + proof["interval"][0]
        high *= 1 + proof["interval"][1]
    return {"median_difference": middle - 1, "interval": [low - 1, high - 1], "by": "product"}


def _within(on: Bench, seconds: float, finding: str) -> Bench:
    """The bench of one proof: its budget in seconds; its progress names the finding."""

    def watch(progress: Progress) -> None:
        on.watch(replace(progress, note=", ".join(filter(None, (finding, progress.note)))))

    return replace(on, plan=replace(on.plan, budget=seconds), watch=watch)


def _step(offer: Offer, on: Bench) -> TuneOutcome:
    finding, title = offer.finding, offer.title
    try:
        document = proof(offer, on)
    except (TrialError, LeverError, OSError, ValueError, LookupError) as error:
        return TuneOutcome(finding, title, "skipped", sentence(error))
    state = "kept" if document["kept"] else "not kept"
    return TuneOutcome(finding, title, state, document["because"], document)


def text(document: Mapping[str, Any]) -> str:
    """The report as text; KeyError, TypeError: a document of another version lacks a field."""
    marks = {"kept": "✓", "not kept": "–", "skipped": " "}
    lines = [f"tuned towards {document['to']} in {document['seconds']:.0f} s"]
    for step in document["steps"]:
        lines.append(
            f"  {marks[step['state']]} {step['state']:<9} {step['finding']}: {step['because']}"
        )
        if words := beside(step):
            lines.append(f"              predicted {words}")
    if limits := ends.summary(document.get("ends", ())):
        lines.append(f"  limited by {limits}")
    total = document["total"]
    if total:
        low, high = total["interval"]
        middle = f"{100 * total['median_difference']:+.1f} %"
        lines.append(f"  total {middle} ({100 * low:+.1f} to {100 * high:+.1f} %)")
    if document["undo"]:
        lines.append(f"  revert everything with: {document['undo']}")
    elif document["steps"]:
        lines.append("  nothing was kept; all changes are reverted")
    else:
        lines.append(f"  {NO_STEPS}")
    return "\n".join(lines) + "\n"
