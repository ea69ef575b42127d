"""Options: what the screen looks like, shown at once, and written to config.toml on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..terms.text import Line, ends, fit_line, line, line_cells, wrap
from ..terms.units import Units, seconds
from ..views.ask import Ask, Hint, Key, Next
from ..views.scene import Scene, changed, document
from ..views.view import BUDGETS, INTERVALS, THEMES, Options, View, stepped, under
from . import cores, flows, nic, overview
from .cursor import bound
from .frame import enclosed, inside, roomy
from .parts import listing, names_of, section

TITLE = "Options"
KEY = "9"
LEGEND: Final = (
    "A change is in effect at once, for this run. `w` writes the options marked * to config.toml. "
    "● a column that is shown."
)
TABLES: Final = {"flows": flows, "cores": cores, "nic": nic}  # panes whose columns are chosen
NEEDS: Final = tuple(sorted({name for one in TABLES.values() for name in one.NEEDS}))
DRAWS: Final = tuple(sorted({name for one in TABLES.values() for name in one.DRAWS}))
BOUND = True
SWITCHES: Final = ("mouse", "bell", "ascii")
WORDS: Final = {  # an option: what it means
    "theme": "colours; mono has none",
    "units": "of rates",
    "prefix": "of rates: steps of 1000 (si) or 1024 (iec)",
    "interval": "between two samples",
    "budget": "percent of a core that sampling may take",
    "mouse": "off: the terminal selects text",
    "bell": "bell and notification (OSC 9) on a new critical finding",
    "ascii": "no characters beyond ASCII",
}
OTHERS: Final = {  # further keys of config.toml: default, meaning
    "interface": ("busiest", "the interface shown first"),
    "profile": ("detected", "the workload that rules assume"),
    "deep": (True, "count drops and failed calls, sample cores, shortly"),
    "drop_reasons": (False, "the same all the time"),
}
BESIDE: Final = 138  # columns from which the preview is at the right
HALF: Final = 58  # columns of the options then


def write(view: View, scene: Scene) -> Next:
    """Write the changed options."""
    return view, Ask("write", value=", ".join(changed(scene, view)))


KEYS = (Key(("w",), "write", "write options to config.toml", "nettop", press=write),)


def shown_columns(view: View, name: str) -> tuple[str, ...]:
    """The columns of a pane's table, in the order shown."""
    return view.columns.get(name) or names_of(TABLES[name].COLUMNS)


def order(view: View, name: str) -> tuple[str, ...]:
    """The columns as the list of them shows them: first those shown, then the others."""
    shown = shown_columns(view, name)
    return (*shown, *(one for one in names_of(TABLES[name].COLUMNS) if one not in shown))


def items(scene: Scene, view: View) -> tuple[str, ...]:  # noqa: ARG001
    """The options; or the columns of the table that was opened."""
    table = view.spot.open.removeprefix("columns.")
    if table in TABLES:
        return tuple(f"{view.spot.open}.{name}" for name in order(view, table))
    return (*WORDS, *(f"columns.{name}" for name in TABLES))


def details(scene: Scene, view: View) -> tuple[str, ...]:  # noqa: ARG001
    """The rows that open: the tables whose columns are chosen."""
    return tuple(f"columns.{name}" for name in TABLES)


def chosen(options: Options, name: str, by: int) -> Options:
    """The options with the next or previous value of one of them."""
    units = options.units
    if name == "theme":
        at = THEMES.index(options.theme) if options.theme in THEMES else 0
        return replace(options, theme=THEMES[(at + by) % len(THEMES)])
    if name == "units":
        return replace(options, units=Units(not units.bits, units.iec))
    if name == "prefix":
        return replace(options, units=Units(units.bits, not units.iec))
    if name == "interval":
        return replace(options, interval=stepped(INTERVALS, options.interval, by))
    if name == "budget":
        return replace(options, budget=stepped(BUDGETS, options.budget, by))
    values = {one: getattr(options, one) != (one == name) for one in SWITCHES}
    return replace(options, **values)


def sideways(view: View, scene: Scene, by: int) -> View:
    """The next value of the option under the cursor; or its column moved left or right."""
    here = _here(scene, view)
    if here in WORDS:
        return replace(view, options=chosen(view.options, here, by))
    _, _, column = here.removeprefix("columns.").partition(".")
    return moved(view, here, column, by) if column else view


def moved(view: View, here: str, column: str, by: int) -> View:
    """A shown column moved by one place."""
    table = here.split(".")[1]
    shown = list(shown_columns(view, table))
    if column not in shown:
        return view
    at = shown.index(column)
    to = max(0, min(len(shown) - 1, at + by))
    shown.insert(to, shown.pop(at))
    return replace(view, columns={**view.columns, table: tuple(shown)}).at(index=to)


def enter(view: View, scene: Scene, here: str) -> Next:
    """The next value; open the columns of a table; show or hide a column."""
    _, _, rest = here.partition(".")
    table, _, column = rest.partition(".")
    if here in WORDS:
        return sideways(view, scene, 1), None
    if not column:
        return view.at(open=here, on="", index=0) if table in TABLES else view, None
    shown = shown_columns(view, table)
    if column not in shown:
        shown = (*shown, column)
    elif len(shown) > 1:  # a table without columns shows nothing
        shown = tuple(one for one in shown if one != column)
    return replace(view, columns={**view.columns, table: shown}).at(on=here), None


def escape(view: View, scene: Scene) -> View:  # noqa: ARG001
    """Close the list of columns."""
    return view.at(open="", on=view.spot.open) if view.spot.open else view


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:
    """How the row is changed, and the key that writes the file."""
    save = (Hint("w", "write", "write"),) if changed(scene, view) else ()
    if view.spot.open:
        return (*save, Hint("Enter", "show, hide", "enter"), Hint("→", "move", "later"))
    text = "choose" if here.startswith("columns.") else "next"
    return (*save, Hint("Enter", text, "enter"))


def printed(view: View, usual: View, values: Mapping[str, object], width: int) -> list[Line]:
    """Every option in effect beside its default and its meaning, for `nettop show`.

    `usual` has the options without a configuration, `values` the configuration: it has options
    that the screen does not change.
    """
    now, default = (
        {**document(one), "interval": seconds(one.options.interval)} for one in (view, usual)
    )
    rows = [(name, _plain(now[name]), _plain(default[name]), text) for name, text in WORDS.items()]
    rows += [(name, _plain(values.get(name, usually)), _plain(usually), text)
             for name, (usually, text) in OTHERS.items()]  # fmt: skip
    for name in TABLES:
        chosen = "chosen" if name in view.columns else "all"
        rows.append((f"columns.{name}", chosen, "all", ", ".join(shown_columns(view, name))))
    out = [section("OPTIONS", "* differs from the default", width)]
    out.append(line((f"   {'OPTION':<14} {'NOW':<12} {'DEFAULT':<12} MEANING", "head")))
    for name, value, common, text in rows:
        mark, role = ("*", "key") if value != common else (" ", "")
        lead = line((f" {mark} {name:<14} ", role), (f"{value:<12} ", "strong"), f"{common:<12} ")
        before = line(" " * line_cells(lead))
        for at, part in enumerate(wrap(text, max(8, width - line_cells(lead)))):
            out.append(line(*(before if at else lead), (part, "dim")))
    return [fit_line(one, width) for one in out]


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _here(scene: Scene, view: View) -> str:
    every = items(scene, view)
    return every[at] if (at := under(every, view.spot)) >= 0 else ""


def _value(view: View, name: str) -> Line:
    """The value of an option, with the other values where there are few."""
    now = view.options
    if name == "interval":
        return _choice(seconds(now.interval), [seconds(one) for one in INTERVALS])
    if name == "budget":
        return _choice(f"{now.budget:g} %", [f"{one:g} %" for one in BUDGETS])
    if name in SWITCHES:
        return _choice("on" if getattr(now, name) else "off", ["on", "off"])
    every = {"theme": THEMES, "units": ("bits", "bytes"), "prefix": ("si", "iec")}[name]
    return _choice(str(document(view)[name]), list(every))


def _choice(value: str, every: list[str]) -> Line:
    known = every if value in every else [value, *every]
    return tuple((f"[{one}]", "strong") if one == value else (f" {one} ", "dim") for one in known)


def listed(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The options, or the columns of a table, around the cursor."""
    every = items(scene, view)
    new = changed(scene, view)
    note = "← → change" if not new else f"{len(new)} not written: w writes them"
    table = view.spot.open.removeprefix("columns.")
    out = [section(f"COLUMNS OF {TABLES[table].TITLE}" if table else "OPTIONS", note, width)]
    rows = []
    for name in every:
        mark = "*" if name in new else " "
        label, value = f"{mark} {name:<9}", line()
        if name in WORDS:
            value = _value(view, name)
        elif table:
            on = name.rpartition(".")[2] in shown_columns(view, table)
            label = f" {'●' if on else ' '} {name.rpartition('.')[2]}"
        else:
            name_ = name.partition(".")[2]
            label = f"{mark} columns of {TABLES[name_].TITLE}: "
            value = line((" ".join(shown_columns(view, name_)), "dim"))
        rows.append(line((label, "key" if mark == "*" else "head"), *value))
    here = _here(scene, view)
    out += listing(rows, every.index(here) if here in every else -1, width, height - 2)
    text = WORDS.get(here, "Enter: choose the columns and their order")
    if table:
        text = "Enter: show or hide   ← →: move   Esc: back"
    out.append(line((f"  {text}", "dim")))
    return [fit_line(one, width) for one in out[:height]]


def further(width: int, height: int) -> list[Line]:
    """The keys of config.toml that the screen does not change, in at most `height` lines."""
    out = [(), section("MORE KEYS OF CONFIG.TOML", "default", width)]
    for name, (usual, text) in OTHERS.items():
        out.append(ends(line((f"   {name}", "head")), line((f"{_plain(usual)} ", "strong")), width))
        out += [line((f"     {row}", "dim")) for row in wrap(text, width - 6)]
    return out[: max(0, height)]


def preview(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The pane that the option under the cursor changes, as it looks with it."""
    here = _here(scene, view)
    name = here.split(".")[1] if here.startswith("columns.") else "overview"
    draw = TABLES[name].lines if name in TABLES else overview.lines
    return draw(scene, bound(replace(view, pane=name), scene), width, height)


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The options, and a preview beside them or below."""
    if width >= BESIDE:
        framed = roomy(width, height)
        left = listed(scene, view, inside(HALF, framed=framed), height - framed)
        if framed:
            left = enclosed([*left, *further(HALF - 2, height - 1 - len(left))], HALF, height)
        right = preview(scene, view, width - HALF - 1, height)
        deep = max(len(left), len(right))
        left, right = ([*rows, *[()] * (deep - len(rows))] for rows in (left, right))
        both = zip(left, right, strict=True)
        return [fit_line((*fit_line(a, HALF), (" ", ""), *b), width) for a, b in both][:height]
    framed = roomy(width, height)
    rows = min(height, len(items(scene, view)) + 2)
    out = listed(scene, view, inside(width, framed=framed), rows)
    out = enclosed(out, width, rows + 1) if framed else out
    if height - len(out) >= 4:
        out += preview(scene, view, width, height - len(out))
    return [fit_line(one, width) for one in out[:height]]
