"""Tests: start a test, watch both hosts, read earlier results and studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..terms.text import Line, bar, cells, clauses, fit, fit_line, line, line_cells, wrap
from ..terms.units import percent, portion, scaled, seconds
from ..views.ask import Ask, Hint, Next, Pointer
from ..views.form import (
    CHOICES,
    KINDS,
    elsewhere,
    fields,
    kind,
    offered,
    peers,
    provable,
    values,
    wrong,
)
from ..views.scene import Paper, RunningTest, Scene, StoredResult
from ..views.view import View, under
from . import outcome
from .cursor import among, target
from .frame import abreast, enclosed, inside, roomy
from .parts import (
    Column,
    Order,
    column_of,
    heading,
    left_of,
    listing,
    marked,
    matches,
    ordered,
    row,
    section,
    typed,
    when,
    widths,
)

TITLE = "Tests"
KEY = "6"
LEGEND: Final = (
    "`peer`: command prefix that reaches the other host (ssh host2); built-in tools need only "
    "Python there. A study repeats a published table."
)
NEEDS: tuple[str, ...] = ()
LAZY = ("studies",)
BOUND = PROGRESS = FILTERED = True
START: Final = "start"
BESIDE: Final = 8  # columns of a heading beside its title and remark
LEAST_BAR: Final = 4  # columns of the bar of a running test at least
WIDE: Final = 110  # columns from which the form and its side are abreast
ORDERS: Final[Sequence[Order[StoredResult]]] = (
    Order("", lambda one: one.wall),
    Order("WHEN", lambda one: one.wall, down=False),
    Order("TOOL", lambda one: one.tool, down=False),
    Order("RATE", lambda one: one.bits_per_second),
    Order("VERDICT", lambda one: one.verdict or None, down=False),
    Order("WHAT", lambda one: one.title, down=False),
)


def rows_of(scene: Scene, view: View) -> list[StoredResult]:
    """The results that match the filter, by default newest first."""
    rows = [r for r in scene.results if matches(view.spot.filter, r.tool, r.title, r.verdict)]
    return ordered(rows, ORDERS, view.spot)


def papers_of(scene: Scene, view: View) -> list[Paper]:
    """The studies that match the filter."""
    return [p for p in scene.studies if matches(view.spot.filter, p.id, p.title, p.paper, p.tool)]


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The form's fields, the start button, the results, the studies."""
    return (
        *(f"form.{name}" for name, *_ in fields(view)),
        f"form.{START}",
        *(f"result.{r.id}" for r in rows_of(scene, view)),
        *(f"study.{p.id}" for p in papers_of(scene, view)),
    )


def details(scene: Scene, view: View) -> tuple[str, ...]:  # noqa: ARG001
    """No row opens: Enter marks a result for a comparison."""
    return ()


def choose(view: View, scene: Scene, by: int) -> View:
    """The next choice of the field under the cursor; the same view for a field of free text."""
    name = target(view, scene).removeprefix("form.")
    known = {
        "what": list(KINDS), "tool": list(scene.tools), "reverse": ["auto", "no", "yes"],
        "finding": provable(scene), "to": peers(scene),
    }.get(name)  # fmt: skip
    if not known:
        return view
    now = values(view)[name]
    index = known.index(now) + by if now in known else 0
    return replace(view, form={**view.form, name: known[index % len(known)]})


sideways = choose


def enter(view: View, scene: Scene, here: str) -> Next:
    """Edit the field, start the test, mark the result for a comparison, or repeat the study."""
    item, _, name = here.partition(".")
    if item == "result":
        return view.at(open="" if view.spot.open == here else here), None
    if item == "study":
        return view, Ask("study", name)
    if item != "form":
        return view, None
    if name == START:
        return launch(view, scene)
    if name in CHOICES:
        return choose(view, scene, 1), None
    return filled(view, scene, name), None


def wheel(view: View, scene: Scene, at: Pointer, by: int) -> Next:
    """The cursor among the rows of the list under the mouse."""
    every = items(scene, view)
    kinds = {"RESULTS": "result.", "STUDIES": "study.", "TEST": "form."}
    kind = kinds.get(at.part.partition(" ")[0], "")
    return among(view, every, [one for one in every if one.startswith(kind)], by), None


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:  # noqa: ARG001
    """What Enter does with the row; nothing is run from another host or a recording."""
    group, _, name = here.partition(".")
    text = {"result": "compare", "study": "repeat"}.get(group, "edit")
    if elsewhere(scene) and not scene.distant and (name == START or group == "study"):
        return ()
    if "test" in scene.barred and group != "result":
        return ()
    return (Hint("Enter", "start" if name == START else text, "enter"),)


def filled(view: View, scene: Scene, name: str) -> View:
    """Open the editor of a field; an empty one has the offered text, which a key replaces."""
    now = values(view)[name] or offered(scene, name)
    return replace(view, editing=f"form.{name}", draft=now, untouched=bool(now))


def launch(view: View, scene: Scene) -> Next:
    """Run what the form says; without an address, fill it in or ask for it first."""
    now = values(view)
    if not now["to"] and not scene.origin:
        return filled(view, scene, "to"), None
    if field := wrong(view)[0]:  # its hint says why
        return view.at(on=f"form.{field}"), None
    return view, Ask(kind(view), now["finding"] if kind(view) == "prove" else "")


def form(view: View, scene: Scene, cursor: str, width: int) -> list[Line]:
    """The form; below it the hint of the field under the cursor, and what the tool measures."""
    where = elsewhere(scene)
    out = [section("TEST" if where else "TEST THIS HOST", where, width)]
    now = values(view)
    for name, label, _, _ in fields(view):
        here = cursor == f"form.{name}"
        known = f"Enter: {offer}" if (offer := offered(scene, name)) else "–"
        value = (now[name], "strong") if now[name] else (known, "dim")
        if view.editing == f"form.{name}":
            value = typed(view)
        mark, role = ("▸", "select") if here else (" ", "head")
        out.append(line((f" {mark} {label:<8} ", role), value))
    needed = f"needs {lacking}" if (lacking := missing(view)) else ""
    field, because = wrong(view)
    label = next((label for name, label, *_ in fields(view) if name == field), "")
    needed = where or (f"check {label}" if label else needed)
    here = cursor == f"form.{START}"
    proofs = {"tune": "prove all findings", "prove": "prove the finding"}
    button = proofs.get(kind(view), f"start the {kind(view)}")
    text = f" {'▸' if here else ' '} [ {button}{f' ({needed})' if needed else ''} ]"
    out.append(line((text, "select" if here else "dim" if needed else "good")))
    hint = next((h for n, _, _, h in fields(view) if cursor == f"form.{n}"), "")
    if cursor == "form.tool" and now["tool"] in scene.about:
        hint = f"{scene.about[now['tool']]}   {hint}"
    if field and cursor == f"form.{field}":
        hint = because
    role = "bad" if hint == because else "dim"
    told = [hint] if cells(hint) < width - 3 else wrap(hint, width - 4)
    out += [line((f"   {row}", role)) for row in told]
    return [fit_line(one, width) for one in out]


def missing(view: View) -> str:
    """What the form still needs; empty if it can start."""
    now = values(view)
    names = {"setting": "a setting", "values": "values", "finding": "a finding", "to": "an address"}
    lacking = (names[name] for name, *_ in fields(view) if name in names and not now[name])
    return next(lacking, "")


def loads(name: str, cores: Mapping[int, float], width: int) -> Line:
    """The busiest cores of one host."""
    busiest = sorted(cores.items(), key=lambda pair: -pair[1])[: max(1, (width - 8) // 18)]
    parts: list[tuple[str, str]] = [(f" {name:<6}", "head")]
    for cpu, load in busiest:
        filled, rest = bar(load / 100, 6)
        parts += [
            (f" {cpu:>3} ", "dim"),
            (filled, "accent"),
            (rest, "faint"),
            (f"{percent(load):>5}", ""),
        ]
    return tuple(parts)


def running(progress: RunningTest, width: int, height: int) -> list[Line]:
    """The running test: its stage, the rates so far, the cores of both hosts."""
    remark = f"{seconds(progress.elapsed)} of {seconds(progress.seconds)} {progress.stage}"
    remark = progress.stage if progress.open_ended else remark  # its name leaves little room
    left = f"  {left_of(progress)}" if progress.open_ended else ""
    title = f"RUNNING {progress.title}"
    out = [section(title, clauses(remark, max(0, width - cells(title) - BESIDE)), width)]
    last = next(reversed(progress.intervals), None)
    done = progress.elapsed / progress.seconds if progress.seconds else None
    retransmits, resent = progress.retransmits, progress.resent
    word = "retransmits" if not left and resent is None else "retr"
    retr = "" if retransmits is None else f"   {retransmits:,.0f} {word}"
    again = f" ({portion(resent)})" if retr and resent is not None else ""
    rate, stops = scaled(last, "b/s"), "   Ctrl-X stops"
    words = " NIC now ", " wire  "
    if cells("".join((*words, rate, left, retr, again, stops))) >= width - LEAST_BAR:
        words, again = (" NIC ", "  "), ""
    begin = line((words[0], "dim"), (rate, "strong"), (words[1], "dim"))
    end = line((left, "strong"), (retr + again, "warn" if retransmits else "dim"), (stops, "key"))
    room = width - line_cells(begin + end) - 1  # for the bar
    filled, rest = bar(done, max(0, min(8 if left else 20, room)))
    out.append((*begin, (filled, "accent"), (rest, "faint"), *end))
    if progress.proof is not None and progress.proof.after:
        out += outcome.so_far(progress.proof, width, height - 3)
    out += outcome.rates(progress.intervals, width, max(1, min(6, height - len(out) - 2)))
    for name, cores in (("here", progress.here), ("there", progress.there)):
        if cores:
            out.append(loads(name, cores, width))
    return [fit_line(one, width) for one in out[:height]]


def side(scene: Scene, view: View, cursor: str, width: int, height: int) -> list[Line]:
    """The part beside the form: the running test, a comparison, a study or a result."""
    if scene.progress is not None:
        return running(scene.progress, width, height)
    known = {f"result.{r.id}": r for r in scene.results}
    here = known.get(cursor)
    if (first := known.get(view.spot.open)) is not None and here is not None and here is not first:
        return outcome.compare(first, here, width, height)
    study = next((p for p in scene.studies if cursor == f"study.{p.id}"), None)
    if study is not None:
        ran = [r for r in scene.results if r.study == study.id]
        last = max(ran, key=lambda r: r.wall, default=None)
        return outcome.paper(study, last, width, height)
    shown = here or max(rows_of(scene, view), key=lambda r: r.wall, default=None)
    if shown is None:
        return outcome.proposed(scene, width)[: max(0, height)]
    return outcome.result(shown, width, height)


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The form, the running test or the row under the cursor, the lists of results and studies."""
    every = items(scene, view)
    cursor = every[at] if (at := under(every, view.spot)) >= 0 else ""
    if not roomy(width, height):
        return _rows(scene, view, cursor, width, height)
    if width >= WIDE:
        return framed(scene, view, cursor, width, height)
    inner = inside(width, framed=True)
    return enclosed(_rows(scene, view, cursor, inner, height - 1), width, height)


def _rows(scene: Scene, view: View, cursor: str, width: int, height: int) -> list[Line]:
    """The lines of the pane, without frames."""
    wide = width >= WIDE
    half = width * 2 // 5 if wide else width
    head = form(view, scene, cursor, half)
    if height < 12 and scene.progress is not None:
        out = running(scene.progress, width, height)
    elif wide:
        room = max(len(head), min(height * 3 // 5, 24))
        right = side(scene, view, cursor, width - half - 2, room)
        deep = max(len(head), len(right))
        both = zip(padded(head, deep), padded(right, deep), strict=True)
        out = [(*fit_line(left, half), ("  ", ""), *line_) for left, line_ in both]
    elif cursor.startswith(("result.", "study.")):  # the form is not in use
        out = side(scene, view, cursor, width, height * 3 // 5)
    else:
        left = max(0, min(12, height - len(head) - 3))
        out = head + side(scene, view, cursor, width, left)
    out += index(scene, view, cursor, width, height - len(out))
    return [fit_line(one, width) for one in out[:height]]


def framed(scene: Scene, view: View, cursor: str, width: int, height: int) -> list[Line]:
    """The form, beside it the running test or the row under the cursor, the lists; in frames."""
    half = width * 2 // 5
    left = form(view, scene, cursor, half - 2)
    room = max(len(left), min(height * 3 // 5, 24))
    right = side(scene, view, cursor, width - half - 2, room)
    deep = max(len(left), len(right)) + 1
    lists = index(scene, view, cursor, inside(width, framed=True), height - deep - 1)
    upper = abreast(enclosed(left, half, deep), enclosed(right, width - half, deep))
    return [*upper, *enclosed(lists, width, height - deep)]


def padded(rows: list[Line], count: int) -> list[Line]:
    """The rows, with empty lines at the end up to `count`."""
    return rows + [()] * (count - len(rows))


def index(scene: Scene, view: View, cursor: str, width: int, height: int) -> list[Line]:
    """The results, newest first, then the studies: the rows around the cursor."""
    shown, papers = rows_of(scene, view), papers_of(scene, view)
    out = [section(f"RESULTS {len(shown)}", "Enter marks one to compare", width)]
    columns = (
        Column(" WHEN", 20), Column("TOOL", 12), Column("RATE", 11, ">"), Column("VERDICT", 13),
        Column("WHAT", 26, grow=2), Column("FIGURES", 26, grow=2),
    )  # fmt: skip
    sizes = widths(columns, width)
    rows: list[Line] = []
    if not shown:
        text = "none yet: enter an address and start a test"
        if scene.progress is not None:
            text = f"none yet: {scene.progress.title} is being measured"
        if scene.origin is not None:
            text = f"none of this machine; those of that host are not in a {scene.origin.kind}"
        if scene.distant:
            text = "none of this machine; nettop results list, on that host, has those made there"
        rows.append(line((f" {text}", "dim")))
    for r in shown:
        rate = scaled(r.bits_per_second, "b/s") if r.bits_per_second is not None else ""
        mark = "A" if view.spot.open == f"result.{r.id}" else " "
        figures = "  ".join(f"{a} {b}" for a, b in r.figures)
        values = (
            (f"{mark}{when(r.wall)[:19]}", "key" if mark == "A" else "dim"), r.tool,
            (rate, "strong"), (r.verdict, outcome.verdict_role(r.verdict)), r.title,
            (figures, "dim"),
        )  # fmt: skip
        rows.append(row(values, columns, sizes))
    at = next((i for i, r in enumerate(shown) if cursor == f"result.{r.id}"), -1)
    title = section(
        f"STUDIES {len(papers)}", "published tables: Enter repeats one  ● measured here", width
    )
    if papers and not cursor.startswith("study."):
        rows = listing(rows, at, width, height - 4, marked=at >= 0) if height >= 7 else rows
        at = at if height < 7 else -1
    elif papers:
        rows, at = [], next(i for i, p in enumerate(papers) if cursor == f"study.{p.id}")
        out = []
    else:
        rows, at = listing(rows, at, width, height - 2, marked=at >= 0), -1
    table = [study_row(paper, scene, width) for paper in papers]
    if out:
        title_, down = marked(ORDERS, view.spot)
        out += [heading(columns, sizes, column_of(columns, title_), down), *rows]
        if papers and height - len(out) >= 2:
            out.append(title)
            out += listing(table, -1, width, height - len(out), marked=False)
        return out[:height]
    return [title, *listing(table, at, width, height - 1)]


def study_row(paper: Paper, scene: Scene, width: int) -> Line:
    """One study in a line."""
    ran = sum(r.study == paper.id for r in scene.results)
    return fit_line(
        line(
            (fit(f" {paper.id}", 16), "accent"),
            (fit("●" if ran else "", 2), "good"),
            fit(paper.title, max(34, width - 64)),
            (f"  {paper.paper}, {paper.place}", "dim"),
        ),
        width,
    )
