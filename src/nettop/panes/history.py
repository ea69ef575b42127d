"""History: rates, drops and load over minutes to hours, with a ruler between two marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ..terms import braille
from ..terms.text import Line, cells, fit, line, repeats, resample
from ..terms.units import many, scaled, seconds, size
from ..views.altered import changes
from ..views.ask import Hint, Key, Next, Pointer
from ..views.past import Summary
from ..views.scene import Scene, nic_of, once
from ..views.timeline import Event, events
from ..views.view import View
from .frame import drawn_inside, inside
from .graph import SHADES, named, sign, telling, top_of
from .grid import merge
from .loads import LABEL, MARGIN, heat
from .parts import clock, flow_words, in_blank, section

TITLE = "History"
KEY = "7"
LEGEND: Final = (
    "◆ a change, ✗ ! a finding began, ○ it ended. Between the marks A and B: exact bytes and "
    "packets, average and peak rate."
)
NEEDS: tuple[str, ...] = ()
SPANS: Final = (180.0, 300.0, 900.0, 3600.0, 14400.0, 28800.0)


def span(view: View) -> float:
    """The length of the time shown, in seconds."""
    return SPANS[max(0, min(len(SPANS) - 1, view.span))]


def zoomed(view: View, by: int) -> Next:
    """Show the next shorter (-1) or longer (1) span."""
    return replace(view, span=max(0, min(len(SPANS) - 1, view.span + by))), None


KEYS: Final = (
    Key(("[",), "zoom_in", "history: shorter span", "looking", "", lambda v, _s: zoomed(v, -1)),
    Key(("]",), "zoom_out", "history: longer span", "looking", "", lambda v, _s: zoomed(v, 1)),
)
TIMELINE = True


def enter(view: View, scene: Scene, here: str) -> Next:  # noqa: ARG001
    """Set mark A, then mark B; the third Enter clears both."""
    moment = cursor_at(scene, view) or (scene.past.fine[-1].at if scene.past.fine else None)
    if moment is None:
        return view, None
    return replace(view, marks=(*view.marks, moment) if len(view.marks) < 2 else ()), None


def sideways(view: View, scene: Scene, by: int) -> View:
    """Move the cursor in time, and with it the moment that all panes show: left is older."""
    times = items(scene, view)
    at = cursor_at(scene, view)
    near = 0 if at is None else min(range(len(times)), key=lambda i: abs(float(times[i]) - at))
    near = max(0, min(len(times) - 1, near - by))
    if not times or near == 0:  # on to the present, or in a recording beyond what was played
        return view
    moment = next(m for m in visible(scene, view) if f"{m.at:.3f}" == times[near])
    return replace(view, moment=moment.wall)


def updown(view: View, scene: Scene, by: int) -> View:
    """↓ is older too."""
    return sideways(view, scene, -by)


def escape(view: View, scene: Scene) -> View:  # noqa: ARG001
    """Clear the marks."""
    return replace(view, marks=()) if view.marks else view


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:  # noqa: ARG001
    """Marks and spans, once there is a moment."""
    if len(scene.past.fine) < 2:
        return ()
    mark = "clear" if len(view.marks) == 2 else "mark B" if view.marks else "mark A"
    shorter = (Hint("[", "shorter", "zoom_in"),) if view.span else ()
    longer = (Hint("]", "longer", "zoom_out"),) if view.span < len(SPANS) - 1 else ()
    return (Hint("Enter", mark, "enter"), Hint("←", "back", "earlier"), *shorter, *longer)


def visible(scene: Scene, view: View) -> tuple[Summary, ...]:
    """The moments in the time shown."""
    return scene.past.moments(span(view))


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The moments that the cursor can be on, newest first; about 120 for every span."""
    moments = visible(scene, view)
    step = max(1, len(moments) // 120)
    return tuple(f"{m.at:.3f}" for m in moments[::-1][::step])


def cursor_at(scene: Scene, view: View) -> float | None:
    """The time of the moment under the cursor (seconds, as `at`); None in the present."""
    moments = scene.past.moments()
    if not view.moment or not moments:
        return None
    return min(moments, key=lambda m: abs(m.wall - view.moment)).at


def between(moments: Sequence[Summary], nic: str, marks: Sequence[float]) -> tuple[str, ...]:
    """Duration and traffic between two marks; bytes and packets are differences of counters."""
    start, end = min(marks), max(marks)
    inside = [m for m in moments if start - 1e-3 <= m.at <= end + 1e-3 and nic in m.ports]
    if len(inside) < 2:
        return ("the ruler needs two moments",)
    first, last = inside[0].ports[nic], inside[-1].ports[nic]
    duration = inside[-1].at - inside[0].at
    texts = [seconds(duration)]
    for name in ("rx", "tx"):
        before, after = getattr(first, f"{name}_total"), getattr(last, f"{name}_total")
        before_p, after_p = (
            getattr(first, f"{name}_packets_total"),
            getattr(last, f"{name}_packets_total"),
        )
        rates = [v for m in inside if (v := getattr(m.ports[nic], name)) is not None]
        if before is None or after is None or after < before:
            texts.append(f"{name} total not known")
            continue
        peak = f", peak {scaled(max(rates) * 8, 'b/s')}" if rates else ""
        packets = ""
        if before_p is not None and after_p is not None:
            count = after_p - before_p
            packets = f", {many(count, 'packets')} ({scaled(count / duration, 'packets/s')})"
        texts.append(
            f"{name} average {scaled((after - before) * 8 / duration, 'b/s')}{peak}, "
            f"{many(after - before, 'bytes')} ({size(after - before)}){packets}"
        )
    return tuple(texts)


def column_of(moment: float, moments: Sequence[Summary], points: int) -> int | None:
    """The column in which a moment is drawn."""
    if not moments:
        return None
    near = min(range(len(moments)), key=lambda i: abs(moments[i].at - moment))
    if len(moments) > points:
        return min(points - 1, near * points // len(moments))
    return points - (len(moments) - near) * repeats(len(moments), points)


def moment_at(scene: Scene, view: View, at: Pointer) -> float | None:
    """The moment drawn in that column of the screen; None outside the graph."""
    moments = visible(scene, view)
    framed = at.row[:1] in ((("│", "faint"),), (("|", "faint"),))
    points = max(10, inside(at.width, framed=framed) - MARGIN)
    column = at.x - LABEL - 4 - framed
    if not moments or not 0 <= column < points:
        return None
    if len(moments) > points:
        index = -(-column * len(moments) // points)
    else:
        index = len(moments) - 1 - (points - 1 - column) // repeats(len(moments), points)
    return moments[max(0, min(len(moments) - 1, index))].at


def band(
    title: str, values: list[float | None], unit: str, size: tuple[int, int], role: str, top: float
) -> list[Line]:
    """One graph of `size` columns and rows; at its left the scale, the title and the last value.

    `role` is that of its dots; `rx` and `tx` are gradients.
    """
    room, rows = size
    known = [v for v in values if v is not None]
    now = f"now {scaled(known[-1], unit)}" if known else "not known"
    labels = [(scaled(top, unit), "dim"), (title, "head"), (now, "strong")]
    if rows < 3:
        labels = [(title, "head"), (now, "strong")]
    if rows == 1:
        labels = [(f"{title} {now.removeprefix('now ')}", "head" if known and known[-1] else "dim")]
    labels += [("", "")] * rows
    if rows >= 8:
        labels[rows // 2] = (scaled(top / 2, unit), "dim")  # the top of this row, or its middle
    if rows >= 5:
        labels[rows - 1] = ("0", "dim")
    # the marks below are placed by column, so a value has whole columns, or half of one
    dots = resample(values, 2 * room)
    if len(values) < 2 * room:
        dots = [value for value in resample(values, room) for _ in range(2)]
    drawn = braille.area(dots, rows, top)
    shades = [(rows - 1 - row) * (SHADES - 1) // max(1, rows - 1) for row in range(rows)]
    roles = [f"{role}-{shade}" if role in ("rx", "tx") else role for shade in shades]
    return [
        line((fit(label, LABEL + 3, ">") + " ", kind), *braille.parts(text, shade))
        for (label, kind), text, shade in zip(labels, drawn, roles, strict=False)
    ]


def ruler(scene: Scene, view: View, moments: Sequence[Summary], room: int) -> list[Line]:
    """The time axis: the cursor, the two marks, the changes and findings with their names."""
    marks = [(" ", "")] * room
    here = cursor_at(scene, view)
    own = [("▲", room - 1 if here is None else column_of(here, moments, room))]
    own += [(name, column_of(at, moments, room))
            for name, at in zip("AB", sorted(view.marks), strict=False)]  # fmt: skip
    known = [
        (column_of(moment, moments, room), event) for moment, event in timed_events(scene, view)
    ]
    places = [column for _, column in (*own, *((event, at) for at, event in known))]
    for column, event in known:
        if column is None:
            continue
        text, role = sign(event.kind)
        after = min((at for at in places if at is not None and at > column), default=room)
        text += named(event, after - column)
        marks[column : column + len(text)] = [(char, role) for char in text]
    for name, column in own:
        if column is not None and (name != "▲" or marks[column][0] == " "):
            marks[column] = (name, "key")
    axis = line((" " * (LABEL + 4), ""), *merge(marks))
    if not moments:
        return [axis]
    begin, end = clock(moments[0].wall).removesuffix(" UTC"), clock(moments[-1].wall)
    offset = max(0, room - repeats(len(moments), room) * len(moments))
    gap = room - cells(begin) - cells(end)
    before = min(offset, max(0, gap))
    times = " " * before + begin + " " * max(1, gap - before) + end
    return [axis, line((" " * (LABEL + 4), ""), (times, "dim"))]


def reading(
    scene: Scene, view: View, moments: Sequence[Summary], nic: str, width: int
) -> list[Line]:
    """The figures between two marks; without them, those under the cursor, and a hint."""
    if len(view.marks) == 2:
        texts = between(scene.past.moments(), nic, view.marks)
        return flow_words([line(("A–B", "key")), *(line((t, "strong")) for t in texts)], width)
    here = cursor_at(scene, view)
    moment = moments[-1] if moments else None
    if moments and here is not None:
        moment = min(moments, key=lambda m: abs(m.at - here))
    hint = "Enter mark B" if view.marks else "← → move, Enter mark A"
    port = moment.ports.get(nic) if moment is not None else None
    if port is None or moment is None:
        return [line((f" {hint}", "dim"))]
    rates = f"rx {scene.units.rate(port.rx)}  tx {scene.units.rate(port.tx)}"
    if port.lost:
        rates += f"  dropped {port.lost:,.0f}/s"
    parts = [line((rates, "strong")), line((hint, "key"))]
    event = event_at(scene, view, moment)
    if event is not None:
        mark, role = sign(event.kind)
        parts.append(line((f"{mark} {words(scene, event)}", role)))
    return flow_words(parts, width)


def timed_events(scene: Scene, view: View) -> tuple[tuple[float, Event], ...]:
    """The changes and findings in the time shown, each with its time (seconds, as `at`)."""
    moments = visible(scene, view)
    return _between(scene, moments[0].at, moments[-1].at) if len(moments) > 1 else ()


@once
def _between(scene: Scene, begin: float, end: float) -> tuple[tuple[float, Event], ...]:
    return tuple((end - one.ago, one) for one in events(scene, end, end - begin))


def event_at(scene: Scene, view: View, moment: Summary) -> Event | None:
    """The event nearest to the moment, if it is within a fiftieth of the time shown."""
    moments = visible(scene, view)
    near = max(2.0, (moments[-1].at - moments[0].at) / 50)
    close = [(abs(at - moment.at), one) for at, one in timed_events(scene, view)]
    return min((pair for pair in close if pair[0] <= near), key=lambda pair: pair[0],
               default=(0.0, None))[1]  # fmt: skip


def words(scene: Scene, event: Event) -> str:
    """What happened: the change with its values, or the finding that began or ended."""
    change = next((one for one in changes(scene) if one.id == event.id), None)
    if change is not None:
        return f"{change.setting} {change.before} → {change.after}: {change.state}"
    return f"{'ended' if event.kind == 'ended' else 'began'}: {event.text}"


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """Receive rate, send rate, drops and the busiest cores over the same time; the ruler below."""
    return drawn_inside(partial(_rows, scene, view), width, height)


def _rows(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The lines of the pane, without a frame."""
    nic = nic_of(scene, view)
    name = nic.name if nic is not None else ""
    moments = visible(scene, view)
    remark = f"last {seconds(span(view))}   [ ] zoom   ◆ change  ✗ ! finding  ○ ended"
    out = [section(f"HISTORY {name}", remark, width)]
    if len(moments) < 2:
        out.append(line((" collecting the first samples …", "dim")))
        return out
    room = max(10, width - MARGIN)
    out += reading(scene, view, moments, name, width)
    tail = ruler(scene, view, moments, room)
    left = height - len(out) - len(tail)
    begins = moments[0].at == scene.past.moments()[0].at
    shown = [m.ports.get(name) for m in moments]
    rx = [None if p is None or p.rx is None else p.rx * 8 for p in shown]
    tx = [None if p is None or p.tx is None else p.tx * 8 for p in shown]
    lost = [None if p is None else p.lost for p in shown]
    top = top_of((*rx, *tx))  # one scale: they are compared
    worst = top_of(lost)
    cores = min(len(moments[-1].cpus), max(1, left // 4)) if left >= 8 else 0
    gap = 1 if left - cores >= 14 else 0
    low = max(1, min((left - cores) // 5, telling(lost, worst)))
    wanted = max(2, telling(rx, top)), max(2, telling(tx, top))
    both = max(2, min(sum(wanted), left - cores - low - 3 * gap))
    upper = max(1, min(both - 1, round(both * wanted[0] / sum(wanted))))
    cores = left - both - low - 3 * gap if cores else 0  # what rates do not need
    for each in (
        in_blank(
            band("receive", rx, "b/s", (room, upper), "rx", top),
            f"no sample before {clock(moments[0].wall)}" if begins else "",
        ),
        band("send", tx, "b/s", (room, both - upper), "tx", top),
        band("drops", lost, "pps", (room, low), "bad", worst),
    ):
        out += [*each, *([()] * gap)]
    out += heat(moments, room, cores)
    return out + tail
