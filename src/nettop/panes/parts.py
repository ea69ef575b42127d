"""Parts that several panes share: headings, tables, lists that scroll, severities, loads, times."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from ..advice.rules.severity import MARKS
from ..terms.dataclass import dataclass
from ..terms.text import Line, cells, fit, fit_line, line, line_cells, over, text_of
from ..terms.units import UNKNOWN, seconds
from ..views.scene import RunningTest, Scene, Step
from ..views.view import Spot, View

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..facts.kinds.core import Core


T = TypeVar("T")

ROLES: Final = {"critical": "bad", "warning": "warn", "advice": "accent", "info": "dim"}
HARMS: Final = {  # what a change may do to traffic, also in few words; the worst first
    "link": ("the link may drop for seconds", "link may drop"),
    "queues": ("a few packets are lost", "loses a few packets"),
}
RISKS: Final = {  # of a setting: text, role
    "none": ("no interruption", "good"),
    "queues": (f"the queues restart: {HARMS['queues'][0]}", "warn"),
    "link": (f"{HARMS['link'][0]}; reverts unless confirmed", "warn"),
    "reboot": ("takes effect at the next boot", "dim"),
    "advice": ("advice only; nettop does not apply it", "dim"),
}
KINDS: Final = (  # of CPU time: fact, short name, glyph, role; interrupt work first
    ("softirq", "si", "█", "softirq"),
    ("irq", "hi", "▓", "irq"),
    ("system", "sy", "▒", "system"),
    ("user", "us", "░", "user"),
    ("steal", "st", "▚", "steal"),
)
_SHARES: Final = attrgetter(*(kind[0] for kind in KINDS))
SHARES: Final = tuple(KINDS[at] for at in (3, 2, 1, 0, 4))  # in the order of mpstat
GLYPHS: Final = " ".join(glyph + short for _, short, glyph, _ in SHARES)  # what is in the bars


@dataclass(frozen=True, slots=True)
class Column:
    """One column: heading, width, alignment; `grow` is its part of the width that is left."""

    title: str
    width: int
    align: str = "<"
    grow: int = 0


def section(title: str, right: str = "", width: int = 80) -> Line:
    """A heading with a line to the right edge and, where it has room, a remark at its end."""
    head = f" {title} "
    tail = f" {right} " if right else ""
    rule = width - cells(head) - cells(tail)
    if rule < 1:
        tail, rule = "", max(0, width - cells(head))
    return line((head, "title"), ("─" * rule, "faint"), (tail, "dim"))


def typed(view: View) -> tuple[str, str]:
    """The value that is typed, with its role: selected as a whole while it is the old one."""
    return (view.draft, "select") if view.untouched else (f"{view.draft}▏", "input")


def widths(columns: Sequence[Column], width: int) -> list[int]:
    """The width of each column; 0 for a column for which there is no room."""
    out, left = [], width
    for column in columns:
        need = column.width + 1  # the last too: its text does not touch the edge
        out.append(column.width if need <= left else 0)
        left -= need if need <= left else 0
    shares = sum(c.grow for c, w in zip(columns, out, strict=True) if w)
    if left > 0 and shares:
        for index, column in enumerate(columns):
            if out[index] and column.grow:
                out[index] += left * column.grow // shares
    return out


def heading(
    columns: Sequence[Column], sizes: Sequence[int], sort: int = -1, down: bool = True
) -> Line:
    """The column titles; the sorted one is marked."""
    parts: list[tuple[str, str]] = []
    for index, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        if size:
            title = column.title + ("▼" if down else "▲") * (index == sort)
            tight = cells(title) == size + 1 and index == sort  # the mark is in the gap
            role = "select" if index == sort else "head"
            parts.append((fit(title, size + tight, column.align), role))
            parts.append((" " * (not tight), ""))
    return tuple(parts)


Cell = str | tuple[str, str] | Line


def row(values: Sequence[Cell], columns: Sequence[Column], sizes: Sequence[int]) -> Line:
    """One line of a table; a value is text, (text, role) or a whole line."""
    parts: list[tuple[str, str]] = []
    for value, column, size in zip(values, columns, sizes, strict=True):
        if not size:
            continue
        if isinstance(value, str):
            parts.append((fit(value, size, column.align), ""))
        elif value and isinstance(value[0], str):
            text, role = value
            parts.append((fit(text, size, column.align), role))
        else:
            parts += fit_line(value, size)
        parts.append((" ", ""))
    return tuple(parts)


def apart(before: str, after: str) -> tuple[str, str]:
    """Both values from the first word that differs: `… 16384`, `… 33554432`."""
    pairs = enumerate(zip(before.split(), after.split(), strict=False))
    equal = next((at for at, (one, other) in pairs if one != other), 0)
    if not equal:
        return before, after
    short, other = ("… " + " ".join(one.split()[equal:]) for one in (before, after))
    return short, other


def altered(steps: Sequence[Step], width: int) -> str:
    """What the steps change, in at most `width` columns: of several at which objects, or how many.

    `ring.rx 256 → 512`; `irq.affinity, each its own: rx-0 → 0, rx-1 → 1`; `ring.rx eth0: 256 →
    512, 1 of 2 changes`. The value to set is not cut.
    """
    first, count = steps[0], len(steps)
    setting, _, target = first.setting.partition("@")
    objects = [re.split("[@/]", one.setting)[-1] for one in steps]
    values = {one.after for one in steps}
    told = []
    if count > 1 and all(one.setting.startswith(f"{setting}@") for one in steps):
        to = f" → {first.after}" if len(values) == 1 else ""
        each = [name if to else f"{name} → {one.after}"
                for name, one in zip(objects, steps, strict=True)]  # fmt: skip
        own = [f"{setting}, each its own: {', '.join(each)}"] if len(values) == count else []
        told = [*own, f"{setting} {', '.join(each)}{to}"]
        told += [f"{setting} {', '.join(each[:some])}{to}, … {count} changes"
                 for some in range(count - 1, 0, -1)]  # fmt: skip
    place = f" {objects[0]}:" if target and (count > 1 or "/" in target) else ""
    tail = f", 1 of {count} changes" if count > 1 else ""
    short = " → ".join(apart(first.before, first.after))
    told += [f"{setting}{place} {first.before} → {first.after}{tail}",
             f"{setting.removeprefix('sysctl.')}{place} {short}{tail}"]  # fmt: skip
    return next((text for text in told if cells(text) <= width), told[-1])


def window(count: int, cursor: int, height: int) -> range:
    """The indexes of the rows, of `count`, that are shown in `height` lines around the cursor."""
    if count <= height:
        return range(count)
    top = max(0, min(cursor - height // 2, count - height))
    return range(top, top + max(0, height))


def listing(
    rows: Sequence[Line], cursor: int, width: int, height: int, *, marked: bool = True
) -> list[Line]:
    """The rows around the cursor in at most `height` lines; the cursor's row is highlighted."""
    if height <= 0:
        return []
    span = window(len(rows), cursor, height)
    out = []
    for index in span:
        shown = fit_line(rows[index], width)
        out.append(over(shown, "select") if marked and index == cursor else shown)
    return out


def severity(finding: Finding | None) -> tuple[str, str]:
    """The mark and role of a finding's severity; without a finding, those of `info`."""
    level = finding.severity if finding is not None else "info"
    return MARKS[level], ROLES[level]


def matches(wanted: str, *texts: str | None) -> bool:
    """Whether any of the texts contains the filter text; case is ignored."""
    if not wanted:
        return True
    low = wanted.casefold()
    return any(low in text.casefold() for text in texts if text)


def sort_rows(rows: Sequence[T], key: Callable[[T], float | str | None], *, down: bool) -> list[T]:
    """Rows sorted by a value; rows whose value is unknown (None) are last in both directions."""
    known = [r for r in rows if key(r) is not None]
    rest = [r for r in rows if key(r) is None]
    known.sort(key=cast("Callable[[T], float]", key), reverse=down)
    return known + rest


def core_load(core: Core) -> float | None:
    """The load of a core in percent; None if it is unknown."""
    return None if core.idle is None else max(0.0, 100.0 - core.idle)


def main_kind(core: Core) -> str:
    """The role of the kind of work that takes most of a core's time."""
    if core.idle is None or core.idle > 97:
        return "idle"
    shares = [share or 0.0 for share in _SHARES(core)]
    return KINDS[shares.index(max(shares))][3]


def load_role(core: Core) -> str:
    """The role of a load in figures: that of its kind, as only what limits is an alarm."""
    kind = main_kind(core)
    return "dim" if kind == "idle" else kind


def shares(core: Core) -> list[tuple[str, str]]:
    """The kinds of a core's time in percent, one cell each, in the order of mpstat (`SHARES`)."""
    known = [(getattr(core, name), role) for name, _, _, role in SHARES]
    most = max((value for value, _ in known if value is not None), default=0.0)
    return [
        (UNKNOWN, "dim") if value is None
        else (f"{value:.0f}", "dim" if value < 1 else role if value == most >= 10 else "")
        for value, role in known
    ]  # fmt: skip


def legend() -> Line:
    """The kinds of time, each in its colour: what the colours of a load over time mean."""
    return tuple((f" {short}", role) for _, short, _, role in SHARES)


def kinds(core: Core, limit: int = 2) -> str:
    """The largest kinds of a core's time, as `si 78 sy 12`."""
    known = [(getattr(core, name), short) for name, short, _, _ in KINDS]
    big = sorted(((v, s) for v, s in known if v is not None and v >= 0.5), reverse=True)[:limit]
    if big:
        return " ".join(f"{s} {v:.0f}" for v, s in big)
    return "idle" if core.idle is not None else UNKNOWN


def waiting(scene: Scene, width: int) -> list[Line]:
    """The lines to show before there are facts."""
    if scene.shortfall:
        return [fit_line(line((f" ✗ {scene.shortfall}", "bad")), width)]
    return [fit_line(line((" reading the host …", "dim")), width)]


def join(parts: Sequence[Line], gap: str = "  ") -> Line:
    """Lines one after another with a gap."""
    out: list[tuple[str, str]] = []
    for part in parts:
        if out:
            out.append((gap, ""))
        out.extend(part)
    return tuple(out)


def flow_words(parts: Sequence[Line], width: int, gap: str = "   ", indent: int = 1) -> list[Line]:
    """Parts filled like words of a paragraph: as many per line as fit."""
    out: list[Line] = []
    current: list[Line] = []
    used = indent
    for part in parts:
        wide = line_cells(part)
        if current and used + len(gap) + wide > width:
            out.append(line(" " * indent) + join(current, gap))
            current, used = [], indent
        used += wide + (len(gap) if current else 0)
        current.append(part)
    if current:
        out.append(line(" " * indent) + join(current, gap))
    return out


def in_blank(rows: list[Line], text: str) -> list[Line]:
    """The graph `rows` with `text` in its empty left part, if the text fits there."""
    at = len(rows) // 2
    label, *drawn = rows[at]
    blank = drawn[0][0] if drawn else ""
    spare = cells(blank) - cells(text)
    if blank.strip() or spare < 4:
        return rows
    left = spare // 2
    middle = line(label, " " * left, (text, "dim"), " " * (spare - left), *drawn[1:])
    return [*rows[:at], middle, *rows[at + 1 :]]


def when(wall: float) -> str:
    """Date and time in UTC, which is the same on all hosts; empty for 0 (unknown)."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if wall else ""


def clock(wall: float) -> str:
    """The time of day in UTC; empty for 0 (unknown)."""
    return when(wall)[11:]


def left_of(test: RunningTest) -> str:
    """The time that the running test still takes, in whole seconds; empty if it is not known."""
    if not test.seconds:
        return ""
    least = "≥ " if test.open_ended else ""
    return f"{least}{seconds(max(1, round(test.seconds - test.elapsed)))} left"


_EDGE: Final[Line] = ((" ", ""),)  # before the first column


def names_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """The names of the columns in the configuration."""
    return tuple(column.title.lower() for column in columns)


@dataclass(frozen=True, slots=True)
class Table:
    """The columns in the order shown; the size of a column without room is 0."""

    order: tuple[int, ...]  # index of each column in the pane's own list
    columns: tuple[Column, ...]
    sizes: tuple[int, ...]

    def heading(self, sort: str = "", *, down: bool = True) -> Line:
        """The titles; `sort` is that of the sorted column."""
        at = column_of(self.columns, sort)
        return (*_EDGE, *heading(self.columns, self.sizes, at, down))

    def has(self, title: str) -> bool:
        """Whether there is room for the column of that title."""
        at = column_of(self.columns, title)
        return at >= 0 and self.sizes[at] > 0

    def row(self, values: Sequence[Cell]) -> Line:
        """One line from a value for each of the pane's own columns."""
        text = row([values[index] for index in self.order], self.columns, self.sizes)
        return (*_EDGE, *text)


def fitted(columns: Sequence[Column], width: int, chosen: Sequence[str] = ()) -> Table:
    """The chosen columns (by default all) in `width` cells."""
    known = names_of(columns)
    order = tuple(known.index(name) for name in chosen if name in known) or range(len(columns))
    shown = tuple(columns[index] for index in order)
    return Table(tuple(order), shown, tuple(widths(shown, width - len(_EDGE))))


def telling(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], names: Sequence[str] = ()
) -> tuple[str, ...]:
    """Those of the names, by default all, of columns that have more to tell than dashes."""
    dashes = {
        name
        for name, cells in zip(names_of(columns), zip(*rows, strict=True), strict=False)
        if {*map(_told, cells)} == {UNKNOWN}
    }
    return tuple(name for name in names or names_of(columns) if name not in dashes)


def _told(cell: Cell) -> str:
    """The text of a cell; `– ← –` and `– / –` are one dash."""
    if isinstance(cell, str):
        text = cell
    else:
        text = cell[0] if cell and isinstance(cell[0], str) else text_of(cell)
    return UNKNOWN if UNKNOWN in text and not text.strip(f"{UNKNOWN}← /") else text


@dataclass(frozen=True, slots=True)
class Order(Generic[T]):
    """A sort order: the title of its column, "" for none, and the value of a row."""

    title: str
    value: Callable[[T], float | str | None]
    down: bool = True  # the largest first


def ordered(rows: Sequence[T], orders: Sequence[Order[T]], spot: Spot) -> list[T]:
    """The rows in the chosen order."""
    one = orders[spot.sort % len(orders)]
    return sort_rows(rows, one.value, down=one.down != spot.invert)


def marked(orders: Sequence[Order[T]], spot: Spot) -> tuple[str, bool]:
    """The title of the sorted column, and whether the largest value is first."""
    one = orders[spot.sort % len(orders)]
    return one.title, one.down != spot.invert


def column_of(columns: Sequence[Column], title: str) -> int:
    """The index of the column with that title; -1 if there is none."""
    titles = [column.title.strip() for column in columns]
    return titles.index(title) if title in titles else -1
