"""udp-latency: request-response over UDP: a histogram, and the slope of latency against size.

Round trips are measured around the send and receive calls. A second median ends at the kernel's
receive time stamp (SO_TIMESTAMPNS); the difference is the cost of waking the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import linear_regression
from typing import Any, Final

from ...terms import formulas
from .. import statistics
from ..result import Latency, Loss, Measured
from ..run import Trial, TrialError
from ._addresses import ends
from .capture import link

TOOL: Final = "udp-latency"
PACKAGE: Final = ""
HELP: Final = "UDP request-response latency: histogram, slope against size"
SIZES: Final = (64, 256, 512, 1024, 1400)


def measure(trial: Trial) -> Measured:
    """The answering end there, the asking end here; the first size is the headline."""
    o = trial.options
    sizes = o.sizes or ((o.length,) if o.length else SIZES)
    each = max(0.2, o.seconds / len(sizes))
    v6 = ":" in o.to
    known = ends(trial)
    with ExitStack() as stack:
        answers = {"port": o.port, "cpus": list(o.cpu_there), **known}
        far = stack.enter_context(trial.far().start("udp_latency", answers))
        port = far.wait_for("port")
        asked = {"to": known["at"], "port": port, "v6": v6, "sizes": sizes, "seconds": each,
                 "count": o.count, "cpus": list(o.cpu_here), "token": known["token"]}  # fmt: skip
        near = stack.enter_context(trial.here.start("udp_latency", asked))
        patience = (each + 2) * len(sizes) + 20 if o.count is None else 600.0
        said = list(trial.follow(near, patience))
    speed = link(trial).get("speed")
    return fold(said, speed * 1e6 if speed else None)


def fold(said: Sequence[Mapping[str, Any]], speed: float | None) -> Measured:
    """The sizes' histograms as one measurement; TrialError when nothing was answered."""
    points = [m for m in said if "histogram" in m]
    answered = [m for m in points if m["histogram"]]
    if not answered:
        raise TrialError("no request was answered: is there a firewall?")
    rows = []
    for message in answered:
        found = latency(message["histogram"])
        kernel = message.get("kernel") or []
        row = {"size": message["size"], "min": found.min, "p50": found.p50, "p99": found.p99,
               "fwhm": found.fwhm, "count": found.count}  # fmt: skip
        if kernel:
            row["kernel_p50"] = statistics.quantile(sorted(kernel), 0.5)
        rows.append(row)
    first = answered[0]
    asked = sum(int(m["asked"]) for m in points)
    lost = sum(int(m["lost"]) for m in points)
    copying = next((float(m["copying"]) for m in said if "copying" in m), None)
    return Measured(
        latency=latency(first["histogram"]),
        loss=Loss(asked, asked - lost) if lost else None,
        details={"sizes": rows, **slope(rows, copying, speed)},
    )


def slope(
    rows: Sequence[Mapping[str, float]], copying: float | None, speed: float | None
) -> dict[str, float]:
    """Microseconds per byte and at zero bytes, and what memory and wire explain of the slope.

    Manchester's sum is 2 · (memory + bus) + wire; the bus is not known here and left out.
    """
    if len(rows) < 2:
        return {}
    sizes, times = [row["size"] for row in rows], [row["p50"] for row in rows]
    per_byte, at_zero = linear_regression(sizes, times)
    found = {"us_per_byte": per_byte, "us_at_zero": at_zero}
    if copying is not None:
        memory = 1e6 * copying
        wire = 8e6 / speed if speed else 0.0
        # a round trip carries the same size both ways
        found["us_per_byte_explained"] = 2 * formulas.latency_slope(memory, 0.0, wire)
    return found


def latency(histogram: Sequence[Sequence[int]]) -> Latency:
    """A histogram of 0.1 µs bins as its figures; ValueError when it is empty."""
    bins = sorted((int(place), int(count)) for place, count in histogram if count > 0)
    whole = sum(count for _, count in bins)
    if not whole:
        raise ValueError("an empty histogram")
    return Latency(
        min=_middle(bins[0][0]),
        p50=_share(bins, whole, 0.5),
        p99=_share(bins, whole, 0.99),
        p999=_share(bins, whole, 0.999),
        max=_middle(bins[-1][0]),
        fwhm=_width(bins, whole),
        count=whole,
        histogram=_coarse(bins),
    )


def _middle(place: float) -> float:
    return round(place / 10 + 0.05, 2)


def _share(bins: Sequence[tuple[int, int]], whole: int, share: float) -> float:
    seen = 0
    for place, count in bins:
        seen += count
        if seen >= share * whole:
            return _middle(place)
    return _middle(bins[-1][0])


def _coarse(bins: Sequence[tuple[int, int]]) -> tuple[tuple[float, int], ...]:
    """About a hundred bins from the smallest to the 99th percentile's height, and the tail."""
    whole = sum(count for _, count in bins)
    low = bins[0][0]
    step = max(1, round((10 * _share(bins, whole, 0.99) - low) / 80))
    found: dict[int, int] = {}
    for place, count in bins:
        number = min((place - low) // step, 100)  # the last bin holds the whole tail
        found[number] = found.get(number, 0) + count
    return tuple((round((low + n * step) / 10, 1), c) for n, c in sorted(found.items()))


def _width(bins: Sequence[tuple[int, int]], whole: int) -> float:
    """Full width of the main peak at half its height, in bins that smooth the noise a little."""
    low = bins[0][0]
    step = max(1, round((10 * _share(bins, whole, 0.99) - low) / 80))
    heights: dict[int, int] = {}
    for place, count in bins:
        heights[(place - low) // step] = heights.get((place - low) // step, 0) + count
    top = max(heights, key=lambda n: heights[n])
    half = heights[top] / 2
    left = right = top
    while heights.get(left - 1, 0) >= half:
        left -= 1
    while heights.get(right + 1, 0) >= half:
        right += 1
    return round((right - left + 1) * step / 10, 2)
