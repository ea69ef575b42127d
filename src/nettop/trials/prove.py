"""Proofs and sweeps: switch settings of this host through the journal, run trials to another host.

Both return their document and store it under `results`.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Any

from .. import settings
from ..changes import Result, text
from ..facts.limits.following import Prediction
from ..files import own
from ..host.source import Live
from ..terms.dataclass import dataclass, picked
from ..terms.units import scaled
from . import ends, experiment, results
from . import lever as ways
from . import run as runner
from .experiment import Metric, Sample
from .lever import Proved, Switch
from .result import Document, Options, Progress, TrialResult, given
from .results import beside, forecast
from .run import Watch, nobody
from .statistics import QUICK, USUAL, ExperimentPlan, settles
from .unfinished import Unfinished

Wanted = Sequence[tuple[str, str]]


@dataclass
class Bench:
    """What to measure with: tool, options, metric and limits."""

    tool: str
    options: Options
    metric: Metric
    plan: ExperimentPlan
    watch: Watch = nobody
    cancel: threading.Event = field(default_factory=threading.Event)
    last: TrialResult | None = None  # of the last run
    progress: Progress | None = None  # of the experiment
    seen: list[Document] = field(default_factory=list)  # both ends in each run
    settled: dict[int, bool] = field(default_factory=dict)  # whether the first run of a state did

    def take(self, state: int) -> Sample:
        """One run as a sample; a short one after first runs of which none had to grow."""
        options = self.options
        if self.plan.shorter and state in self.settled and all(self.settled.values()):
            options = replace(options, seconds=QUICK)
        self.last = runner.run(self.tool, options, self._inner, self.cancel)
        self.settled.setdefault(state, settles(self.last.measured.intervals))
        if self.last.ends is not None:
            self.seen.append(self.last.ends)
        return experiment.sample(self.last, self.metric)

    def outer(self, progress: Progress) -> None:
        """Report the progress of the experiment."""
        self.progress = progress
        self.watch(progress)

    def _inner(self, progress: Progress) -> None:
        """Report the progress of a run as progress of the experiment."""
        whole = self.progress
        if whole is None:
            self.watch(progress)
            return
        own = min(progress.second, progress.of)  # its samples may arrive late
        second = min(whole.of, whole.second + own)
        self.watch(
            replace(progress, what=whole.what, second=second, of=whole.of, note=whole.note,
                    standing=whole.standing)
        )  # fmt: skip

    def about(self, first: int = 0) -> Document:
        """The conditions of the measurement; those of the host after a first run.

        `first`: number of runs of earlier experiments, whose limits are left out.
        """
        conditions: Document = {
            "at": time.time(),
            "host": os.uname().nodename,
            "tool": self.tool,
            "to": self.options.to,
            "peer": self.options.peer,
            "streams": self.options.streams,
            "run_seconds": self.options.seconds,
            "options": given(self.options),
            "kernel": os.uname().release,
        }
        if self.options.no_ends:
            conditions["no_ends"] = True
        if self.last is not None:
            if self.options.host:
                conditions |= {"host": self.last.here.host, "kernel": self.last.here.kernel}
            conditions["version"] = self.last.measured.version
            conditions["drivers"] = {
                name: interface.get("driver") or "virtual"
                for name, interface in self.last.here.interfaces.items()
            }
            conditions["settings"] = dict(self.last.settings)
        if self.seen[first:]:
            conditions["ends"] = ends.rows(self.seen[first:])
        return conditions


def bench(
    tool: str,
    options: Options,
    *,
    metric: str | None = None,
    pairs: int | None = None,
    most: int | None = None,
    budget: float | None = None,
    watch: Watch = nobody,
    cancel: threading.Event | None = None,
) -> Bench:
    """A bench with defaults; `pairs` and `most` limit the pairs of runs, `budget` the seconds.

    KeyError for an unknown metric.
    """
    shorter = USUAL - QUICK if options.seconds == USUAL else 0.0
    run_seconds = options.seconds + options.warmup + 0.5
    plan = ExperimentPlan(run_seconds=run_seconds, budget=budget, shorter=shorter)
    if pairs is not None:
        plan = replace(plan, least=pairs, most=max(pairs, plan.most), early=0)
    if most is not None:
        plan = replace(plan, most=max(plan.least, most))
    chosen = experiment.metric(tool, metric)
    return Bench(tool, options, chosen, plan, watch, cancel or threading.Event())


def fitting(finding: str) -> str:
    """The built-in tool that measures what a finding is about."""
    return "capture" if finding.startswith("capture-") else "bulk"


def facing(on: Bench, names: Iterable[str], *, away: bool = False) -> Bench:
    """The bench whose tests pass the settings, unless its options say a direction."""
    return replace(on, options=ways.facing(on.tool, on.options, names, away=away))


def watching(on: Bench, wanted: Wanted) -> Bench:
    """The bench; for a change that moves a running capture, it measures that capture."""
    prefix = "process.affinity@"
    moved = [setting.removeprefix(prefix) for setting, _ in wanted if setting.startswith(prefix)]
    if on.tool != "capture" or on.options.pid is not None or not (moved and moved[0].isdigit()):
        return on
    return replace(on, options=replace(on.options, pid=int(moved[0])))


def prove(
    finding: str, wanted: Wanted, on: Bench, *, keep: bool = True,
    predicted: Prediction | None = None, lever: Proved | None = None,
) -> Document:  # fmt: skip
    """Compare the wanted settings with the current ones; keep them only if they are better.

    `predicted`, the prediction of the finding, is stored beside the measured rate. `lever` changes
    the settings of another host; None: those of this host.

    ValueError, LookupError, OSError: they cannot be tested, and nothing was changed. LeverError: a
    write failed. Cancelled, TrialError, PeerError: all changes are reverted.
    """
    on, earlier = watching(on, wanted), len(on.seen)
    on = facing(on, (setting for setting, _ in wanted), away=lever is not None)
    on.settled = {}
    with lever or Switch([wanted], finding) as switch:
        if not switch.rows:
            raise ValueError("nothing to test: the host already has these settings")
        outcome = experiment.compare(switch, on.take, on.metric, on.plan, on.outer, on.cancel)
        kept: tuple[Result, ...] = ()
        if keep and outcome.comparison.verdict == "better":
            kept = switch.keep(1)
            outcome = replace(outcome, kept=True)
        changes, conditions = switch.rows, on.about(earlier)
        if switch.where:
            conditions |= {"changed_at": switch.where, "changed_by": switch.way}
    document: Document = {
        "finding": finding,
        **outcome.document(),
        **forecast(predicted, outcome.a, outcome.b, on.metric.unit),
        "changes": changes,
        "ids": [r.id for r in kept if r.id is not None],
        **conditions,
    }
    results.keep("prove", document)
    return document


def sweep(
    grid: Sequence[tuple[str, Sequence[str]]], on: Bench, *, keep: bool = False,
    resume: bool = False,
) -> Document:  # fmt: skip
    """Test each value, or each combination of values of several settings; errors as `prove`.

    `grid` holds settings and their values. The best value is kept only with `keep`. With `resume`,
    the runs of an interrupted sweep of the same measurement count.
    """
    names, states = combinations(
        grid, lambda setting: settings.read(Live(), settings.parse(setting))
    )
    label = " × ".join(setting for setting, _ in grid)
    on = facing(on, (setting for setting, _ in grid))
    if not states:
        raise ValueError(f"nothing to test: {label} already has that value")
    file = Unfinished.of(
        {"setting": label, "states": names, "tool": on.tool, "options": on.options,
         "metric": on.metric.name, "kernel": os.uname().release}
    )  # fmt: skip
    if resume:
        file.cut()
        if not file.samples():
            raise LookupError(f"no interrupted sweep of {label} with these values and options")
    else:
        file.forget()
    with Switch(states, f"sweep of {label}") as lever:
        rows = experiment.sweep(
            lever, names, on.take, on.metric, on.plan, on.outer, on.cancel, file
        )
        winner = experiment.best(rows, higher=on.metric.higher)
        kept: tuple[Result, ...] = ()
        if keep and winner.comparison is not None and winner.comparison.verdict == "better":
            kept = lever.keep(names.index(winner.name))
    document: Document = {
        "setting": label,
        "metric": on.metric.name,
        "unit": on.metric.unit,
        "rows": [_row(row) for row in rows],
        "best": winner.name,
        "margin": winner.comparison.median_difference if winner.comparison else 0.0,
        "verdict": winner.comparison.verdict if winner.comparison else "no difference",
        "kept": bool(kept),
        "ids": [r.id for r in kept if r.id is not None],
        **on.about(),
    }
    results.keep("sweep", document)
    file.forget()
    return document


def combinations(
    grid: Sequence[tuple[str, Sequence[str]]], read: Callable[[str], str]
) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """The names of the states, state 0 first, and the wanted settings of the others."""
    now = {setting: read(setting) for setting, _ in grid}
    names = [" × ".join(now.values())]
    states = []
    for values in product(*(values for _, values in grid)):
        wanted = [
            (setting, settings.normal(settings.parse(setting), value))
            for (setting, _), value in zip(grid, values, strict=True)
        ]
        name = " × ".join(value for _, value in wanted)
        if name not in names:
            names.append(name)
            states.append(wanted)
    return names, states


def _row(row: experiment.Row) -> Document:
    document: Document = {"value": row.name, "figures": list(row.figures), "median": row.median}
    c = row.comparison
    if c is not None:
        document |= picked(c, "median_difference interval confidence verdict because")
    return document


def describe(document: Mapping[str, Any]) -> str:
    """A proof as text: figures of both states, verdict, and what became of the change.

    KeyError, TypeError, ValueError: a document of another version lacks a field.
    """
    unit = document.get("unit", "")
    low, high = document["interval"]
    span = f"{100 * low:+.1f} to {100 * high:+.1f} %"
    middle = f"{100 * document['median_difference']:+.1f} %"
    sent = ", the other host sends" if document.get("options", {}).get("reverse") else ""
    lines = [
        f"{document['finding']}: {document['verdict']}  ({document['because']})",
        f"  before  {_figures(document['a'], unit)}",
        f"  after   {_figures(document['b'], unit)}",
        f"  median difference {middle}, {100 * document['confidence']:.0f} % interval {span}",
        f"  {len(document['a'])} pairs in {document['seconds']:.0f} s{sent}",
    ]
    if words := beside(document):
        lines.append(f"  predicted {words}")
    if limits := ends.summary(document.get("ends", ())):
        lines.append(f"  limited by {limits}")
    for guard in document["guards"]:
        mark = results.mark(guard, document["verdict"])
        old, new = 100 * guard["a"], 100 * guard["b"]
        note = ": higher, but small compared to the gain" if mark == "·" else ""
        lines.append(f"  {mark} {guard['name']}: {old:.4f} → {new:.4f} % of packets{note}")
    if not document["steady_baseline"]:
        lines.append("  the baseline was not stable before the first run")
    there = document.get("changed_at", "")
    for change in document["changes"]:
        state = ("kept" if document["kept"] else "undone") + (f" ({there})" if there else "")
        before, after = text(change["before"]), text(change["after"])
        lines.append(f"  {state}: {change['setting']} {before} → {after}")
    if document.get("ids"):
        ids = " ".join(map(str, document["ids"]))
        lines.append(f"  revert it with: {undoes(document)} undo {ids}")
    return "\n".join(lines) + "\n"


def undoes(proof: Mapping[str, Any]) -> str:
    """The words that run the nettop whose journal has what a proof kept."""
    there = proof.get("changed_at", "")
    return proof.get("changed_by") or (f"{there} nettop" if there else own.called())


def _figures(values: Sequence[float], unit: str) -> str:
    if unit.startswith("bit/s"):
        return "  ".join(scaled(value, "b/s") for value in values)
    return "  ".join(f"{value:.4g}" for value in values) + f" {unit}"


def table(document: Mapping[str, Any]) -> str:
    """A sweep as text: a row and a bar for each value; errors as `describe`."""
    rows = document["rows"]
    top = max((row["median"] for row in rows), default=0.0) or 1.0
    width = max(len(row["value"]) for row in rows)
    lines = [f"{document['setting']}: {document['metric']} in {document['unit']}"]
    for row in rows:
        filled = "█" * round(24 * row["median"] / top)
        change = (
            f"{100 * row['median_difference']:+6.1f} %  {row['verdict']}"
            if "verdict" in row
            else "        original"
        )
        figure = _figures([row["median"]], document["unit"])
        lines.append(f"  {row['value']:<{width}}  {filled:<24}  {figure}  {change}")
    return "\n".join([*lines, best(document)]) + "\n"


def best(document: Mapping[str, Any]) -> str:
    """The best value of a sweep, its gain and what is in force now; errors as `describe`."""
    state = "kept" if document["kept"] else "all changes are reverted"
    if document["best"] == document["rows"][0]["value"]:
        return f"no value is better than the original one, {document['best']}; {state}"
    gain = f"{100 * float(document['margin']):+.1f} %"
    return f"best: {document['best']} ({gain}, {document['verdict']}); {state}"
