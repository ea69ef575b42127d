"""The report of a proof: the samples of both states, the difference with its interval."""

from ...trials import statistics
from ...trials.experiment import METRICS
from .. import reading
from ..figure import Figure, Point, Report, Series, Table
from ..reading import (
    Document,
    conditions,
    headed,
    mapping,
    number,
    numbers,
    pair,
    rows,
    share,
    span,
    unit_of,
)


def report(document: Document) -> Report:
    """The report of a `nettop prove` document."""
    verdict = str(document["verdict"])
    changes = rows(document.get("changes"))
    state = "kept" if document.get("kept") else "reverted"
    gain, reach = share(document["median_difference"]), span(document["interval"])
    because = str(document["because"])
    reason = "" if because == f"{gain} ({reach})" else f"; {because}"
    changed = {str(change["setting"]) for change in changes}
    return Report(
        title=f"Proof: {document['finding']}",
        answer=f"{verdict}: {gain} ({_confidence(document)} interval {reach}){reason}; "
        f"the change is {state}",
        good={"better": True, "worse": False}.get(verdict),
        facts=conditions(document, changed),
        figures=(samples(document), difference(document)),
        tables=(*_changes(changes), *_guards(document)),
        notes=tuple(_notes(document)),
        commands=_commands(document, changes),
    )


def samples(document: Document) -> Figure:
    """Every run of both states, in the order of the pairs."""
    a, b = numbers(document["a"]), numbers(document["b"])
    unit, factor = unit_of(str(document["unit"]), [*a, *b])
    return Figure(
        headed(f"{document['metric']} of each run"), "pair", unit, "dots",
        tuple(
            Series(name, tuple(Point(place + 1, y * factor) for place, y in enumerate(values)))
            for name, values in (("before", a), ("after", b))
        ),
        note="both runs of a pair follow each other; the order within a pair changes",
    )  # fmt: skip


def difference(document: Document) -> Figure:
    """The gain of each pair, and the median with its interval."""
    metric = METRICS.get(str(document["metric"]))
    gains = statistics.gains(
        numbers(document["a"]), numbers(document["b"]), higher=metric is None or metric.higher
    )
    low, high = pair(document["interval"])
    pairs = tuple(Point(f"pair {place}", 100 * gain) for place, gain in enumerate(gains, 1))
    median = Point("median", 100 * number(document["median_difference"]), 100 * low, 100 * high)
    return Figure(
        "Gain of each pair", "", "% of the median before", "dots",
        (Series("pair", pairs), Series("median and interval", (median,))), rule=(0.0, "no change"),
        note="the interval holds the median difference with "
        f"{_confidence(document)} confidence (order statistics of the pairs)",
    )  # fmt: skip


def _confidence(document: Document) -> str:
    return f"{100 * number(document['confidence']):.1f} %"


def _changes(changes: list[Document]) -> tuple[Table, ...]:
    if not changes:
        return ()
    return (Table("Change", ("setting", "before", "after", "risk", "command"), tuple(
        tuple(_text(change.get(key)) for key in ("setting", "before", "after", "risk", "shell"))
        for change in changes
    )),)  # fmt: skip


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _guards(document: Document) -> tuple[Table, ...]:
    guards = rows(document.get("guards"))
    if not guards:
        return ()
    head = ("losses", "before, % of packets", "after, % of packets", "")
    return (Table("Guards", head, tuple(
        (str(guard["name"]), f"{100 * number(guard['a']):.4f}", f"{100 * number(guard['b']):.4f}",
         "not higher" if guard["ok"] else "higher")
        for guard in guards
    ), frozenset({1, 2})),)  # fmt: skip


def _notes(document: Document) -> list[str]:
    notes = []
    if not document.get("steady_baseline", True):
        notes.append("The baseline was not stable before the first run.")
    predicted = mapping(document.get("predicted"))
    if predicted.get("rate"):
        low, high = pair(predicted["rate"])
        unit, factor = unit_of("bit/s", [low, high])
        notes.append(f"Predicted: {low * factor:.4g} to {high * factor:.4g} {unit}.")
        if document.get("inside") is not None:
            where = "within" if document["inside"] else "outside"
            notes.append(f"The measured rate is {where} the prediction.")
    return notes


def _commands(document: Document, changes: list[Document]) -> tuple[str, ...]:
    wanted = [f"{change['setting']}={_text(change['after'])}" for change in changes]
    return (reading.again_experiment(document, ["prove", *wanted]),) if wanted else ()
