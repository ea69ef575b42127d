"""The report of one test: rate over time, latency distribution, curves of a sweep, busy cores."""

from collections.abc import Iterator
from itertools import pairwise

from ...terms.units import many, scaled
from .. import reading
from ..figure import Figure, Point, Report, Series, Table
from ..reading import Document, mapping, number, pair, rows, sequence, unit_of, when

MODES = ("user", "nice", "system", "irq", "softirq", "steal")  # busy time in percent of a core


def report(document: Document) -> Report:
    """The report of a `nettop test` document."""
    checks = rows(document.get("checks"))
    failed = [check for check in checks if not check["ok"]]
    return Report(
        title=f"{document['tool']} to {document['to']}",
        answer=_answer(document, failed),
        good=False if failed else None,
        facts=tuple(_facts(document)),
        figures=tuple(figures(document)),
        tables=tuple(_tables(document, checks)),
        commands=(reading.again_trial(document),),
    )


def _answer(document: Document, failed: list[Document]) -> str:
    parts = []
    if document.get("bits_per_second") is not None:
        parts.append(f"{scaled(number(document['bits_per_second']), 'b/s')} received")
    if latency := mapping(document.get("latency")):
        parts.append(
            f"median {number(latency['p50']):.1f} µs, p99 {number(latency['p99']):.1f} µs, "
            f"width at half maximum {number(latency['fwhm']):.1f} µs"
        )
    if loss := mapping(document.get("loss")):
        parts.append(f"{number(loss['percent']):.3f} % of {number(loss['sent']):,.0f} lost")
    if document.get("retransmits") is not None:
        parts.append(f"{many(number(document['retransmits']), 'segments')} sent again")
    parts += [f"not plausible: {check['because']}" for check in failed]
    return "; ".join(parts) or "no figure"


def _facts(document: Document) -> Iterator[tuple[str, str]]:
    yield "measured", when(document)
    yield "seconds", f"{number(document['seconds']):g}"
    yield "streams", str(document["streams"])
    yield "direction", str(document["direction"])
    for end in ("here", "there"):
        host = mapping(mapping(document.get("hosts")).get(end))
        yield end, f"{host.get('host', '')}, Linux {host.get('kernel', '')}"
        for name, nic in mapping(mapping(document.get("interfaces")).get(end)).items():
            values = mapping(nic)
            wire = values.get("counts") != "super-packets"  # a virtual device enforces no speed
            speed = f", {values['speed']} Mbit/s" if wire and values.get("speed") else ""
            driver = values.get("driver") or "virtual"
            yield f"{end}: {name}", f"{driver}, MTU {values.get('mtu', '?')}{speed}"
    yield from ((name, str(value)) for name, value in mapping(document.get("settings")).items())


def figures(document: Document) -> Iterator[Figure]:
    """The figures of a test, those that it has samples for."""
    intervals = rows(document.get("intervals"))
    if len(intervals) > 1:
        yield _rate(intervals)
    if latency := mapping(document.get("latency")):
        yield _latency(latency)
    points = rows(mapping(document.get("details")).get("points"))
    if points and "spacing_us" in points[0]:
        yield from _sweep(points)
    elif points and "offered_pps" in points[0]:
        yield from _capture(points)
    for end in ("here", "there"):
        if cores := rows(mapping(document.get("cores")).get(end)):
            yield _cores(cores, end)


def _rate(intervals: list[Document]) -> Figure:
    rates = [number(one["bits_per_second"]) for one in intervals]
    unit, factor = unit_of("bit/s", rates)
    return Figure(
        "Rate of the receiver", "seconds", unit, "line",
        (Series("received", tuple(
            Point(number(one["start"]), rate * factor)
            for one, rate in zip(intervals, rates, strict=True)
        )),),
    )  # fmt: skip


def _latency(latency: Document) -> Figure:
    bins = [pair(one) for one in sequence(latency["histogram"])]
    wide = bins[-1][0] / bins[0][0] > 100 if bins and bins[0][0] > 0 else False
    return Figure(
        "Round trip times", "µs", "exchanges", "histogram",
        (Series("exchanges", tuple(Point(at, count) for at, count in bins)),),
        log_x=wide, log_y=True,
        note=f"minimum {number(latency['min']):.1f} µs, p99.9 {number(latency['p999']):.1f} µs, "
        f"maximum {number(latency['max']):.1f} µs, {number(latency['count']):,.0f} exchanges"
        + _tail(bins, number(latency["max"])),
    )  # fmt: skip


def _tail(bins: list[tuple[float, float]], most: float) -> str:
    """What the last bar is, if it holds more than the others: all that took longer."""
    edges = [at for at, _ in bins]
    width = min((b - a for a, b in pairwise(edges)), default=0.0)
    if not width or most <= edges[-1] + width:
        return ""
    return f"; the last bar: {bins[-1][1]:,.0f} of {edges[-1]:g} µs and more"


def _sweep(points: list[Document]) -> Iterator[Figure]:
    """Throughput and loss against spacing, one curve a size; gaps of the closest spacing."""
    sizes = sorted({number(point["size"]) for point in points})
    by_size = {
        size: sorted(
            (point for point in points if point["size"] == size),
            key=lambda point: number(point["offered_us"]),
        )
        for size in sizes
    }

    def curves(field: str, factor: float) -> tuple[Series, ...]:
        return tuple(
            Series(f"{size:g} bytes", tuple(
                Point(number(point["offered_us"]), number(point[field]) * factor) for point in some
            ))
            for size, some in by_size.items()
        )  # fmt: skip

    unit, factor = unit_of("bit/s", [number(point["wire_bits"]) for point in points])
    x = "achieved spacing, µs"
    yield Figure("Received wire rate", x, unit, "line", curves("wire_bits", factor))
    yield Figure("Packets lost", x, "%", "line", curves("loss", 1.0))
    busy = tuple(
        Series(f"{size:g} bytes, {end}", tuple(
            Point(number(point["offered_us"]), number(point[f"busy_{end}"])) for point in some
        ))
        for size, some in by_size.items() for end in ("here", "there")
    )  # fmt: skip
    yield Figure("Busiest core", x, "% of the core", "line", busy)
    for size, some in by_size.items():
        gaps = tuple(
            Series(f"{number(point['spacing_us']):g} µs", tuple(
                Point(*pair(one)) for one in sequence(point["gaps"])
            ))
            for point in sorted(some, key=lambda point: number(point["spacing_us"]))
            if point.get("gaps")
        )  # fmt: skip
        if gaps:
            yield Figure(
                f"Gaps between datagrams of {size:g} bytes", "µs", "datagrams", "histogram", gaps,
                log_x=True, log_y=True, note="one colour for each requested spacing",
            )  # fmt: skip


def _capture(points: list[Document]) -> Iterator[Figure]:
    frames = [number(point["frame"]) for point in points]

    def curve(name: str, field: str) -> Series:
        pairs = zip(frames, points, strict=True)
        return Series(name, tuple(Point(frame, number(point[field])) for frame, point in pairs))

    yield Figure("Loss of the capture", "frame, bytes", "% lost", "line", (curve("lost", "loss"),))
    unit, factor = unit_of("bit/s", [number(point["capture_bits"]) for point in points])
    captured = tuple(
        Point(frame, number(point["capture_bits"]) * factor)
        for frame, point in zip(frames, points, strict=True)
    )
    yield Figure("Captured rate", "frame, bytes", unit, "line", (Series("captured", captured),))
    yield Figure(
        "Offered packets", "frame, bytes", "packets/s", "line", (curve("offered", "offered_pps"),)
    )


def _cores(cores: list[Document], end: str) -> Figure:
    return Figure(
        f"Busy time of the cores {end}", "core", "% of the core", "stack",
        tuple(
            Series(mode, tuple(
                Point(f"{number(core['cpu']):g}", number(core.get(mode, 0.0))) for core in cores
            ))
            for mode in MODES if any(core.get(mode) for core in cores)
        ),
    )  # fmt: skip


def _tables(document: Document, checks: list[Document]) -> Iterator[Table]:
    if checks:
        yield Table("Plausibility", ("check", "result", "because"), tuple(
            (str(check["name"]), "passed" if check["ok"] else "failed", str(check["because"]))
            for check in checks
        ))  # fmt: skip
    points = rows(mapping(document.get("details")).get("points"))
    if points:
        head = tuple(key for key in points[0] if key != "gaps")
        yield Table(
            "Points", tuple(name.replace("_", " ") for name in head),
            tuple(tuple(_cell(point.get(key)) for key in head) for point in points),
            frozenset(range(len(head))),
        )  # fmt: skip


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return "" if value is None else str(value)
