"""udp-sweep: paced datagrams by gap and size: wire rate, loss, reordering, gaps, knee.

The wire rate is computed as in UDPmon: payload plus 66 bytes of overhead, divided by the time
between the first and the last arrival. A paced Python sender reaches about 300,000 packets/s; the
report shows the requested and the achieved rate.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, NotRequired, TypedDict

from ...terms import formulas
from ..end import End
from ..far.schema import HelperOptions, Message, UdpStep
from ..result import Loss, Measured
from ..run import Trial, TrialError
from ._client_server import ends
from .capture import link

TOOL: Final = "udp-sweep"
PACKAGE: Final = ""
HELP: Final = "paced UDP by gap and size: rate, loss, reordering, knee"
TAKES: Final = "sizes spacings count segments"
FRAMES: Final = (64, 128, 256, 512, 1024, 1280, 1518)  # RFC 2544
SPACINGS: Final = (4.0, 8.0, 16.0, 32.0)  # microseconds
MOST: Final = 10_000  # datagrams of a point: they fit the receive buffer
LOSSY: Final = 0.1  # percent; a rate with more losses is not carried


class Row(TypedDict):
    """One size and spacing: counts, loss in percent, spacing in µs, rates in bit/s."""

    size: int  # payload bytes
    spacing_us: float  # requested
    offered_us: float  # achieved by the sender
    sent: int
    received: int
    loss: float
    reordered: int
    wire_bits: float
    payload_bits: float
    gap_p50_us: float | None
    busy_here: float  # percent of the busiest core
    busy_there: float
    gaps: list[list[float]]  # µs and count


class Knee(TypedDict):
    """The highest wire rate of a size, and the closest spacing that was carried.

    `limit` is `sender` if even the closest spacing was carried, else `path`.
    """

    size: int
    plateau_bits: float
    limit: str
    spacing_us: NotRequired[float]  # missing: no spacing was carried


def sizes(mtu: int, requested: Sequence[int]) -> tuple[int, ...]:
    """Payload bytes of the frames of RFC 2544 (and a jumbo one) that fit this MTU."""
    if requested:
        return tuple(requested)
    frames = (*FRAMES, 9018) if mtu >= 9000 else FRAMES
    return tuple(frame - 46 for frame in frames if frame - 18 <= mtu)


def measure(trial: Trial) -> Measured:
    """The receiver on the other host, the paced sender here."""
    o = trial.options
    mtu = link(trial).get("mtu", 1500)
    grid = [(size, spacing) for size in sizes(mtu, o.sizes) for spacing in o.spacings or SPACINGS]
    each = o.seconds / len(grid)
    points: list[UdpStep] = [
        {"size": size, "spacing": gap / 1e6, "count": o.count or _count(each, gap)}
        for size, gap in grid
    ]
    return summarize(points, *exchange(trial, points, 3 * o.seconds + len(grid) + 30))


@contextmanager
def sending(trial: Trial, points: Sequence[UdpStep]) -> Iterator[tuple[End, End]]:
    """Sender and receiver of the points, started."""
    o = trial.options
    known = ends(trial)
    with ExitStack() as stack:
        far = stack.enter_context(
            trial.far().start(
                "udp_sink", {"port": o.port, "cpus": o.cpu_there, "segments": o.segments, **known}
            )
        )
        port = far.wait_for("port")["port"]
        source: HelperOptions = {
            "to": known["at"], "port": port, "v6": ":" in o.to, "points": points,
            "cpus": o.cpu_here, "pause": 0.25, "segments": o.segments, "token": known["token"],
        }  # fmt: skip
        yield stack.enter_context(trial.here.start("udp_source", source)), far


def exchange(
    trial: Trial, points: Sequence[UdpStep], patience: float
) -> tuple[list[Message], list[Message]]:
    """What both ends counted of the points, sender first; TrialError after `patience` seconds."""
    with sending(trial, points) as (near, far):
        sent = list(trial.follow(near, patience))
        far.stop()
        return sent, list(trial.follow(far, 30))


def _count(seconds: float, gap: float) -> int:
    return int(min(MOST, max(200, seconds * 1e6 / max(1.0, gap))))


def summarize(
    points: Sequence[UdpStep], sent: Sequence[Message], received: Sequence[Message]
) -> Measured:
    """The points of both ends as rows; the best carried rate is the main result.

    TrialError if no datagram arrived.
    """
    there = {m["point"]: m for m in received if "point" in m and "received" in m}
    rows = [
        row(points[m["point"]], m, there.get(m["point"], {}))
        for m in sent
        if "point" in m and m["point"] < len(points)
    ]
    if not any(r["received"] for r in rows):
        raise TrialError("no datagram arrived: is there a firewall?")
    best = max((r["payload_bits"] for r in rows if r["loss"] <= LOSSY), default=0.0)
    return Measured(
        bits_per_second=best or max(r["payload_bits"] for r in rows),
        loss=Loss(
            sum(r["sent"] for r in rows),
            sum(r["received"] for r in rows),
            sum(r["reordered"] for r in rows),
        ),
        details={"points": rows, "knees": knees(rows)},
    )


def row(request: UdpStep, sent: Message, got: Message) -> Row:
    """The row of one size and spacing; `got` is empty if nothing arrived."""
    size, count = request["size"], sent["sent"]
    arrived = got.get("received", 0)
    lasted = got.get("lasted", 0.0)
    wire = formulas.udp_wire_bytes(size)
    per_second = (arrived - 1) / lasted if arrived > 1 and lasted > 0 else 0.0
    gaps = got.get("gaps") or []
    return {
        "size": size,
        "spacing_us": 1e6 * request["spacing"],
        "offered_us": 1e6 * sent["lasted"] / max(1, count),
        "sent": count,
        "received": arrived,
        "loss": 100.0 * max(0, count - arrived) / count if count else 0.0,
        "reordered": got.get("reordered", 0),
        "wire_bits": 8 * wire * per_second,
        "payload_bits": 8.0 * size * per_second,
        "gap_p50_us": _median_gap(gaps),
        "busy_here": sent.get("busy", 0.0),
        "busy_there": got.get("busy", 0.0),
        "gaps": [[place / 2, number] for place, number in gaps[:200]],
    }


def _median_gap(gaps: Sequence[tuple[int, int]]) -> float | None:
    half = sum(number for _, number in gaps) / 2
    seen = 0
    for place, number in gaps:
        seen += number
        if seen >= half > 0:
            return place / 2
    return None


def knees(rows: Sequence[Row]) -> list[Knee]:
    """The knee of each size, smallest size first."""
    by_size = []
    for size in sorted({r["size"] for r in rows}):
        own = sorted((r for r in rows if r["size"] == size), key=lambda r: r["offered_us"])
        carried = [r for r in own if r["loss"] <= LOSSY and r["received"]]
        plateau = max(r["wire_bits"] for r in own)
        knee: Knee = {"size": size, "plateau_bits": plateau, "limit": "path"}
        if carried:
            knee["spacing_us"] = carried[0]["offered_us"]
            knee["limit"] = "sender" if carried[0] is own[0] else "path"
        by_size.append(knee)
    return by_size
