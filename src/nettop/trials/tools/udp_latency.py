"""udp-latency: request-response over UDP: a histogram, and the slope of latency against size.

Round trips are measured around the send and receive calls. A second median ends at the receive time
stamp of the kernel (SO_TIMESTAMPNS); the difference is the cost of waking the program.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from statistics import linear_regression
from typing import Final, NotRequired, TypedDict

from ...terms import formulas
from .. import statistics
from ..far.schema import HelperOptions, Message
from ..result import Latency, Loss, Measured
from ..run import Trial, TrialError
from ._client_server import ends
from .capture import link

TOOL: Final = "udp-latency"
PACKAGE: Final = ""
HELP: Final = "UDP request-response latency: histogram, slope against size"
TAKES: Final = "sizes length count busy_poll"
SIZES: Final = (64, 256, 512, 1024, 1400)


class Row(TypedDict):
    """The round trips of one size, in microseconds."""

    size: int
    min: float
    p50: float
    p99: float
    fwhm: float
    count: int
    kernel_p50: NotRequired[float]  # until the kernel's receive time stamp


def measure(trial: Trial) -> Measured:
    """Requests from here, answers from the other host; the first size is the main result."""
    o = trial.options
    sizes = o.sizes or ((o.length,) if o.length else SIZES)
    each = max(0.2, o.seconds / len(sizes))
    v6 = ":" in o.to
    known = ends(trial)
    with ExitStack() as stack:
        far = stack.enter_context(
            trial.far().start(
                "udp_latency",
                {"port": o.port, "cpus": o.cpu_there, "busy_poll": o.busy_poll, **known},
            )
        )
        port = far.wait_for("port")["port"]
        requests: HelperOptions = {
            "to": known["at"], "port": port, "v6": v6, "sizes": sizes, "seconds": each,
            "count": o.count, "cpus": o.cpu_here, "busy_poll": o.busy_poll,
            "token": known["token"],
        }  # fmt: skip
        near = stack.enter_context(trial.here.start("udp_latency", requests))
        patience = (each + 2) * len(sizes) + 20 if o.count is None else 600.0
        messages = list(trial.follow(near, patience))
    speed = link(trial).get("speed")
    return summarize(messages, speed * 1e6 if speed else None)


def summarize(messages: Sequence[Message], speed: float | None) -> Measured:
    """The histograms of all sizes as one result; `speed` of the link in bit/s.

    TrialError if no request was answered.
    """
    points = [m for m in messages if "histogram" in m]
    answered = [m for m in points if m["histogram"]]
    if not answered:
        raise TrialError("no request was answered: is there a firewall?")
    rows = []
    for message in answered:
        times = latency(message["histogram"])
        row: Row = {"size": message["size"], "min": times.min, "p50": times.p50, "p99": times.p99,
                    "fwhm": times.fwhm, "count": times.count}  # fmt: skip
        if message.get("stamped"):
            row["kernel_p50"] = statistics.quantile(sorted(message["stamped"]), 0.5)
        rows.append(row)
    first = answered[0]
    count = sum(m["requests"] for m in points)
    lost = sum(m["lost"] for m in points)
    copying = next((m["copying"] for m in messages if "copying" in m), None)
    return Measured(
        latency=latency(first["histogram"]),
        loss=Loss(count, count - lost) if lost else None,
        details={"sizes": rows, **slope(rows, copying, speed)},
    )


def slope(rows: Sequence[Row], copying: float | None, speed: float | None) -> dict[str, float]:
    """Microseconds per byte and at zero bytes, and the part that memory and wire explain.

    `copying` is in seconds per byte, `speed` in bit/s. The formula of the Manchester paper is
    2 · (memory + bus) + wire; the bus is unknown here and left out.
    """
    if len(rows) < 2:
        return {}
    sizes, times = [row["size"] for row in rows], [row["p50"] for row in rows]
    per_byte, at_zero = linear_regression(sizes, times)
    values = {"us_per_byte": per_byte, "us_at_zero": at_zero}
    if copying is not None:
        memory = 1e6 * copying
        wire = 8e6 / speed if speed else 0.0
        # a round trip carries the same size both ways
        values["us_per_byte_explained"] = 2 * formulas.latency_slope(memory, 0.0, wire)
    return values


def latency(histogram: Sequence[Sequence[int]]) -> Latency:
    """The figures of a histogram of 0.1 µs bins; ValueError if it is empty."""
    bins = sorted((place, count) for place, count in histogram if count > 0)
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
    """The middle of a bin in microseconds."""
    return round(place / 10 + 0.05, 2)


def _share(bins: Sequence[tuple[int, int]], whole: int, share: float) -> float:
    seen = 0
    for place, count in bins:
        seen += count
        if seen >= share * whole:
            return _middle(place)
    return _middle(bins[-1][0])


def _coarse(bins: Sequence[tuple[int, int]]) -> tuple[tuple[float, int], ...]:
    """About a hundred bins: eighty up to the 99th percentile; the last one holds the tail."""
    low, step = _scale(bins, sum(count for _, count in bins))
    heights: dict[int, int] = {}
    for place, count in bins:
        number = min((place - low) // step, 100)
        heights[number] = heights.get(number, 0) + count
    return tuple((round((low + n * step) / 10, 1), c) for n, c in sorted(heights.items()))


def _scale(bins: Sequence[tuple[int, int]], whole: int) -> tuple[int, int]:
    """The first bin, and the width of eighty wider ones up to the 99th percentile."""
    low = bins[0][0]
    return low, max(1, round((10 * _share(bins, whole, 0.99) - low) / 80))


def _width(bins: Sequence[tuple[int, int]], whole: int) -> float:
    """Full width of the main peak at half maximum in microseconds; wider bins reduce the noise."""
    low, step = _scale(bins, whole)
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
