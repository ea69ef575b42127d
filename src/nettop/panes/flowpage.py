"""One flow in full: its limit, the stages as a checklist, its process, figures and graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from ..facts.limits import Limit, Reading, words
from ..facts.limits.stages import SHORT, declared, way
from ..terms import braille
from ..terms.text import Line, bar, cells, clauses, fit, fit_line, line, line_cells, repeats, wrap
from ..terms.units import UNKNOWN, Units, amount, percent, seconds, share, size
from ..views.past import History, Trace
from ..views.scene import Scene
from ..views.timeline import traces
from . import ends
from .graph import rounded
from .grid import beside
from .limit import mark, of_flow
from .parts import flow_words, section

if TYPE_CHECKING:
    from ..facts.kinds.flow import Flow

WIDE: Final = 110  # columns from which stages and figures are side by side
CAPACITY: Final = 19  # columns of what a stage could carry
ROOMY: Final = 70  # columns from which a stage has a bar
TALL: Final = 20  # lines from which all figures are shown in fewer columns
STEP: Final = 1.0  # seconds of a dot of a graph
SCALE: Final = 11  # columns of the scale of a graph
LABEL: Final = 13  # columns of the name of a figure
LEAST: Final = 2  # rows of a graph
LEVELS: Final = ("rtt", "cwnd")  # drawn as a line: the area below it means nothing
TRACES: Final[tuple[tuple[str, str, Callable[[Trace], float | None], str], ...]] = (
    ("rate", "good", lambda t: None if t.rate is None else t.rate * 8, "bit/s"),
    ("rtt", "accent", lambda t: t.rtt, "s"),
    ("cwnd", "system", lambda t: t.cwnd, "segments"),
    ("retransmits", "bad", lambda t: t.retransmits, "segments/s"),
)


def verdict(flow: Flow, limit: Limit | None, width: int, units: Units) -> list[Line]:
    """What limits the flow, what would limit it next, and the measurement behind the limit."""
    if not flow.limit and not flow.limit_why:
        return []
    name = flow.limit or ""
    text = "not limited"
    if name in declared():
        text = f"limited by {words.known(name, flow.limit_how)}"
    role, why = "dim", flow.limit_why or ""
    if limit is not None:
        glyph, role = mark(limit)
        text = f"{glyph} {words.verdict(limit, shown=units)}"
    both = line((f" {text}", role), f"  {why}")
    if line_cells(both) <= width:
        return [both]
    return [
        line((f" {row}", kind))
        for sentence, kind in ((text, role), (why, ""))
        for row in wrap(sentence, max(20, width - 2))
    ]


def checklist(limit: Limit, width: int, units: Units, *, whole: bool = False) -> list[Line]:
    """The stages in the order in which data passes them: mark, how full, capacity, what it is.

    `whole`: what it is takes as many lines as it needs; that of the limit stands above.
    """
    order = [stage.name for stage in way(limit.direction)]
    known: dict[str, Reading] = {}
    for reading in (limit.stage, *limit.ladder):
        known.setdefault(reading.stage, reading)
    place = lambda one: order.index(one.stage) if one.stage in order else len(order)  # noqa: E731
    some = any(one.capacity is not None for one in known.values())
    sizes = width, CAPACITY if some else 2, units
    return [
        row for one in sorted(known.values(), key=place)
        for row in _stage(one, limit, *sizes, whole=whole)
    ]  # fmt: skip


def _stage(
    one: Reading, limit: Limit, width: int, wide: int, units: Units, *, whole: bool
) -> list[Line]:
    """One stage; its capacity has `wide` columns."""
    limits = one.stage in (limit.stage.stage, *limit.joint)
    known = one.utilisation is not None or one.held > 0
    glyph, role = mark(limit) if limits else ("✓", "good") if known else ("·", "dim")
    full = one.utilisation if one.utilisation is not None else one.held if known else None
    size, name = 8 if width >= ROOMY else 0, words.brief(one.stage, words.shaper(one))
    filled, rest = bar(full, size) if full is not None and size else ("", " " * size)
    capacity = words.interval(one.capacity, units) if one.capacity is not None else ""
    head = line(
        (f" {glyph} ", role), (fit(name, SHORT + 1), role if limits else ""),
        (filled, role if limits else "accent"), (rest, "idle"),
        (fit(share(full), 7, ">"), "strong" if limits else "dim"),
        (fit(f"  {capacity}", wide), "dim"),
    )  # fmt: skip
    room = max(8, width - line_cells(head) - 1)
    text = one.because or one.name
    text = "see above" if whole and one is limit.stage else text
    first, *more = wrap(text, room) if whole and text else [clauses(text, room)]
    below = " " * line_cells(head)
    return [fit_line((*head, (first, "")), width), *(line(below, row) for row in more)]


def process(flow: Flow, scene: Scene, width: int) -> list[Line]:
    """The cores of process and interrupt; the threads of the process, their cores, its cgroup."""
    entries = scene.frame.tables.get("threads", ()) if scene.frame is not None else ()
    own = [entry for entry in entries if entry.now.pid == flow.pid]
    own.sort(key=lambda entry: -(entry.rate("ran") or 0.0))
    core = own[0].now.cpu if own else flow.app_cpu  # as the thread below says: it moves meanwhile
    app = "unknown" if core is None else str(core)
    if flow.irq_cpu is None:
        why = f": {flow.queue_why}" if flow.queue_why else ""
        kinds = {nic.name: nic.kind for nic in scene.facts.nics} if scene.facts else {}
        none = kinds.get(flow.nic or "") in ("veth", "loopback", "bridge", "tunnel")
        irq = f"{flow.nic} has no interrupt" if none else f"interrupt core not known{why}"
        rows = wrap(f"program on core {app}; {irq}", max(20, width - 2))
        where = [line(f" {row}") for row in rows]
    else:
        one = line(
            f" program on core {app}, interrupt on core {flow.irq_cpu} (queue {flow.queue or '?'})",
            (f"  {flow.distance or 'distance unknown'}", "bad" if flow.far else "dim"),
            (f"  {flow.queue_why or ''}", "dim"),
        )
        where = [one]
    if not own:
        return where
    count, group = own[0].now.threads, own[0].now.cgroup
    parts = [line((f"{count} thread{'s' * (count != 1)}", "head"))]
    for entry in own[:8]:
        ran, waited, now = entry.rate("ran"), entry.rate("waited"), entry.now
        text = f"{now.name} core {UNKNOWN if now.cpu is None else now.cpu}"
        busy = UNKNOWN if ran is None else percent(100 * ran)
        waits = f" waits {percent(100 * waited)}" if waited is not None and waited >= 0.01 else ""
        parts.append(line(text, (f" {busy}", "strong"), (waits, "warn")))
    parts += [line(("cgroup ", "dim"), group.rpartition(":")[2])] if group else []
    return [*where, *flow_words(parts, width)[:2]]


def figures(flow: Flow, scene: Scene, *, staged: bool = False) -> list[tuple[str, str]]:
    """The known figures of the socket, the most useful first; `staged`: its stages say its waits.

    Those are shares of wall time, the clocks here of the time with data in flight.
    """
    speed = scene.units.speed
    facts = [
        ("rate", f"{scene.units.rate(flow.rx_per_s)} in", f"{scene.units.rate(flow.tx_per_s)} out"),
        ("rtt", seconds(flow.rtt), f"least {seconds(flow.min_rtt)}", f"± {seconds(flow.rtt_var)}"),
        ("window", f"{amount(flow.cwnd, 'segments')} of {amount(flow.mss)}",
         f"ssthresh {amount(flow.ssthresh)}"),
        ("retransmits", f"{amount(flow.retransmits_per_s)}/s",
         f"{share(flow.retransmit_ratio)} of segments",
         f"{share(flow.needless or None)} spurious"),
        ("in flight", amount(flow.unacked, "segments"), f"{size(flow.notsent)} not sent yet"),
        ("BDP", size(flow.bdp), f"windows allow {speed(flow.window_cap)}"),
        ("buffers", f"receive {size(flow.rcvbuf)}", f"{size(flow.recv_q)} unread",
         f"send {size(flow.sndbuf)}"),
        ("waited for", f"peer's window {share(flow.rwnd_limited)}",
         f"own buffer {share(flow.sndbuf_limited)}"),
        ("pacing", speed(flow.pacing_rate), f"delivery {speed(flow.delivery_rate)}"),
        ("control", flow.congestion or UNKNOWN, f"timestamps {amount(flow.timestamps)}",
         f"SACK {amount(flow.sack)}", f"scaling {amount(flow.wscale)}"),
    ]  # fmt: skip
    told = [one for one in facts if not (staged and one[0] == "waited for")]
    known = [
        (label, ", ".join(one for one in parts if UNKNOWN not in one)) for label, *parts in told
    ]
    return [one for one in known if one[1]]


def _figures(known: Sequence[tuple[str, str]], width: int) -> list[Line]:
    """The figures, each in as many lines as it needs."""
    return [
        line((fit(f" {label}" if not at else "", LABEL), "dim"), row)
        for label, text in known for at, row in enumerate(wrap(text, width - LABEL))
    ]  # fmt: skip


def lines(flow: Flow, scene: Scene, width: int, height: int, hint: str = "Esc back") -> list[Line]:
    """One flow in full; its graphs fill the height."""
    name = f"FLOW {flow.process or '?'}[{flow.pid or '?'}] · {scene.window}"
    out = [section(name, hint, width)]
    place = f"over {flow.nic or '?'}" if flow.namespace is None else f"in {flow.namespace}"
    out.append(
        line(
            f" {flow.local}:{flow.local_port}  ",
            ("←→", "accent"),
            f"  {flow.remote}:{flow.remote_port}",
            (f"   {flow.protocol} {place}", "dim"),
        )
    )
    limit = of_flow(scene, flow)
    out += verdict(flow, limit, width, scene.units)
    out += ends.of_flow(flow, scene, width)
    out += process(flow, scene, width)
    known = figures(flow, scene, staged=limit is not None)
    wide = width >= WIDE
    half = width * 3 // 5 if limit is not None else width // 2
    room = half if wide else width
    whole = wide and height >= TALL
    stages = checklist(limit, room, scene.units, whole=whole) if limit is not None else []
    if wide:
        middle = len(known) // 2
        first, second = known[:middle], known[middle:]
        sides = (stages, _figures(known, width - half))
        if not stages:
            sides = (_figures(first, half), _figures(second, width - half))
        rows = zip_longest(*sides, fillvalue=())
        out += [fit_line(a, half) + fit_line(b, width - half) for a, b in rows]
    else:
        out += stages if height >= TALL else []
        every = height >= 2 * TALL or (height >= TALL and not stages)
        out += _figures(known if every else known[:4], width)
    out += graphs(flow, scene.past, (width, height - len(out)), scene.units)
    return [fit_line(one, width) for one in out[:height]]


def graphs(
    flow: Flow, past: History, size: tuple[int, int], units: Units = words.BITS
) -> list[Line]:
    """Graphs of the last minutes that fill `size`, columns and rows; side by side if wide.

    Dots are bound to absolute time, two to a cell: a graph moves every second second only. While
    there are few samples, each has several dots, as in the graph of the overview.
    """
    width, height = size
    across = 2 if width >= WIDE else 1
    down = max(1, min(len(TRACES) // across, height // (LEAST + 1)))
    each, rows = width // across, height // down - 1
    if rows < 1:
        return []
    points = 2 * max(1, each - SCALE - 2)
    age = past.fine[-1].at - past.fine[0].at if past.fine else 0.0
    wide = repeats(int(age / STEP) + 2, points)
    steps = traces(past, flow.id, -(-points // wide), STEP)
    known = [one for one in steps for _ in range(wide)][-points:]
    span = f"last {seconds(len(steps) * STEP)}"
    latest = past.fine[-1].flows.get(flow.id) if past.fine else None
    more = height - down * (rows + 1)  # rows that do not divide among the graphs: the last ones
    blocks = [
        _graph(one, (known, latest), units, span, each, rows + more * (at // across == down - 1))
        for at, one in enumerate(TRACES[: across * down])
    ]
    deep = [beside(blocks[at : at + across], each, width) for at in range(0, len(blocks), across)]
    return [row for block in deep for row in block]


def _graph(
    one: tuple[str, str, Callable[[Trace], float | None], str],
    seen: tuple[Sequence[Trace | None], Trace | None],
    units: Units,
    span: str,
    width: int,
    rows: int,
) -> list[Line]:
    """One graph with its heading and scale. `seen` are the values drawn, and the latest one."""
    label, role, value, unit = one
    known, latest = seen
    values = [None if trace is None else value(trace) for trace in known]
    now = None if latest is None else value(latest)
    figures = [v for v in (*values, now) if v is not None]
    if not figures:
        return [section(label, "not known yet", width), *[()] * rows]
    most = max(figures)
    top = rounded(most)

    def text_of(figure: float) -> str:
        return units.speed(figure) if unit == "bit/s" else amount(figure, unit)

    current = "not known" if now is None else text_of(now)
    remark = f"now {current}, peak {text_of(most)}"
    if cells(label) + cells(span) + cells(remark) + 8 <= width:
        remark = f"{span}, {remark}"
    drawn = (braille.trace if label in LEVELS else braille.area)(values, rows, top)
    if not most and rows > 1:
        drawn = (*drawn[:-1], "⣀" * len(drawn[-1]))  # zero is known, and not a gap
    scale = text_of(top)
    if cells(scale) >= SCALE:
        scale = amount(top)
    marks = {0: scale, rows - 1: "0"} if rows > 1 else {0: scale}
    return [
        section(label, remark, width),
        *(line((fit(marks.get(at, ""), SCALE, ">"), "dim"), " ", (text, role))
          for at, text in enumerate(drawn)),
    ]  # fmt: skip
