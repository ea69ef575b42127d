"""The report of a tuning: the gain of each step, and what was kept or not tested, with reasons."""

from ...terms.units import many
from ...trials.tune import NO_STEPS
from .. import reading
from ..figure import Figure, Point, Report, Series, Table
from ..reading import Document, conditions, mapping, number, pair, rows, share, span


def report(document: Document) -> Report:
    """The report of a `nettop tune` document."""
    steps = rows(document["steps"])
    total = mapping(document.get("total"))
    kept = sum(step["state"] == "kept" for step in steps)
    answer = f"{kept} of {many(len(steps), 'findings')} kept in {number(document['seconds']):.0f} s"
    if not steps:
        answer = NO_STEPS
    if total:
        answer += f"; total {share(total['median_difference'])} ({span(total['interval'])})"
    notes = []
    if document.get("undo"):
        notes.append(f"Revert everything with: {document['undo']}")
    if document.get("cancelled"):
        notes.append("The tuning was cancelled.")
    if total.get("by") == "product":
        notes.append("The total is the product of the steps; each step builds on the ones before.")
    return Report(
        title=f"Tuning towards {document['to']}",
        answer=answer,
        good=True if kept else None,
        facts=conditions(document),
        figures=(_gains(steps, total),) if any("interval" in step for step in steps) else (),
        tables=(_table(steps),) if steps else (),
        notes=tuple(notes),
        commands=(
            reading.again_experiment(document, ["tune", "--budget", f"{document['budget']:g}s"]),
        ),
    )


def _gains(steps: list[Document], total: Document) -> Figure:
    tested = [step for step in steps if "interval" in step]
    named = [(str(step["finding"]), str(step["state"]), step) for step in tested]
    if total:
        named.append(("total", "kept", total))
    series = []
    for state in dict.fromkeys(state for _, state, _ in named):
        points = []
        for name, of, step in named:
            if of == state:
                low, high = pair(step["interval"])
                middle = 100 * number(step["median_difference"])
                points.append(Point(name, middle, 100 * low, 100 * high))
        series.append(Series(state, tuple(points)))
    return Figure("Gain of each step", "", "%", "dots", tuple(series), rule=(0.0, "no change"))


def _table(steps: list[Document]) -> Table:
    head = ("finding", "state", "difference", "interval", "because")
    return Table("Steps", head, tuple(
        (
            str(step["finding"]), str(step["state"]),
            share(step["median_difference"]) if "median_difference" in step else "",
            span(step["interval"]) if "interval" in step else "",
            str(step["because"]),
        )
        for step in steps
    ), frozenset({2, 3}))  # fmt: skip
