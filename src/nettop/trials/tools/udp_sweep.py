"""udp-sweep: paced datagrams by gap and size: wire rate, loss, reordering, gaps, knee.

The wire rate is computed as in UDPmon: payload plus 66 bytes of overhead, divided by the time
between the first and the last arrival. A paced Python sender reaches about 300,000 packets/s; the
report shows the requested and the achieved rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from ...terms import formulas
from ..result import Loss, Measured
from ..run import Trial, TrialError
from ._addresses import ends
from .capture import link

TOOL: Final = "udp-sweep"
PACKAGE: Final = ""
HELP: Final = "paced UDP by gap and size: rate, loss, reordering, knee"
FRAMES: Final = (64, 128, 256, 512, 1024, 1280, 1518)  # RFC 2544
SPACINGS: Final = (4.0, 8.0, 16.0, 32.0)  # microseconds
MOST: Final = 10_000  # datagrams a point: they fit the sink's buffer
LOSSY: Final = 0.1  # percent lost beyond which a rate is not carried


def sizes(mtu: int, requested: Sequence[int]) -> tuple[int, ...]:
    """Payload bytes of RFC 2544's frames (and a jumbo one) that this MTU carries whole."""
    if requested:
        return tuple(requested)
    frames = (*FRAMES, 9018) if mtu >= 9000 else FRAMES
    return tuple(frame - 46 for frame in frames if frame - 18 <= mtu)


def measure(trial: Trial) -> Measured:
    """The sink where the traffic goes, the paced sender at the other end."""
    o = trial.options
    v6 = ":" in o.to
    mtu = int(link(trial).get("mtu", 1500))
    grid = [(size, spacing) for size in sizes(mtu, o.sizes) for spacing in o.spacings or SPACINGS]
    each = o.seconds / len(grid)
    points = [
        {"size": size, "spacing": gap / 1e6, "count": o.count or _count(each, gap)}
        for size, gap in grid
    ]
    known = ends(trial)
    with ExitStack() as stack:
        sink = {"port": o.port, "cpus": list(o.cpu_there), **known}
        far = stack.enter_context(trial.far().start("udp_sink", sink))
        port = far.wait_for("port")
        blast = {"to": known["at"], "port": port, "v6": v6, "points": points,
                 "cpus": list(o.cpu_here),
                 "pause": 0.25, "token": known["token"]}  # fmt: skip
        near = stack.enter_context(trial.here.start("udp_source", blast))
        sent = list(trial.follow(near, 3 * o.seconds + len(grid) + 30))
        far.stop()
        received = list(trial.follow(far, 30))
    return fold(points, sent, received)


def _count(seconds: float, gap: float) -> int:
    return int(min(MOST, max(200, seconds * 1e6 / max(1.0, gap))))


def fold(
    points: Sequence[Mapping[str, Any]],
    sent: Sequence[Mapping[str, Any]],
    received: Sequence[Mapping[str, Any]],
) -> Measured:
    """Both ends' points as rows, the best carried rate as the headline."""
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


def row(
    request: Mapping[str, Any], sent: Mapping[str, Any], got: Mapping[str, Any]
) -> dict[str, Any]:
    """One size and spacing: what was offered, what arrived, and at what rate."""
    size, count = int(request["size"]), int(sent["sent"])
    arrived = int(got.get("received", 0))
    lasted = float(got.get("lasted", 0.0))
    wire = formulas.udp_wire_bytes(size)
    per_second = (arrived - 1) / lasted if arrived > 1 and lasted > 0 else 0.0
    gaps = got.get("gaps") or []
    return {
        "size": size,
        "spacing_us": 1e6 * float(request["spacing"]),
        "offered_us": 1e6 * float(sent["lasted"]) / max(1, count),
        "sent": count,
        "received": arrived,
        "loss": 100.0 * max(0, count - arrived) / count if count else 0.0,
        "reordered": int(got.get("reordered", 0)),
        "wire_bits": 8 * wire * per_second,
        "payload_bits": 8.0 * size * per_second,
        "gap_p50_us": _median_gap(gaps),
        "busy_here": float(sent.get("busy", 0.0)),
        "busy_there": float(got.get("busy", 0.0)),
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


def knees(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each size the closest spacing that was carried, and the rate where it flattens.

    `limit`: `sender` when even the closest spacing was carried (it could not offer more), else
    `path`.
    """
    found = []
    for size in sorted({r["size"] for r in rows}):
        mine = sorted((r for r in rows if r["size"] == size), key=lambda r: r["offered_us"])
        carried = [r for r in mine if r["loss"] <= LOSSY and r["received"]]
        plateau = max(r["wire_bits"] for r in mine)
        entry: dict[str, Any] = {"size": size, "plateau_bits": plateau}
        if carried:
            entry["spacing_us"] = carried[0]["offered_us"]
            entry["limit"] = "sender" if carried[0] is mine[0] else "path"
        else:
            entry["limit"] = "path"
        found.append(entry)
    return found
