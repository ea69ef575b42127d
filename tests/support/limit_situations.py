"""Situations of one flow, the measurements that vary in each, and readings as lines of text."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from limit_frames import AWAY, RECEIVES, moment

from nettop.collect import bql, classes, link_stats, nicstats, pause, pci, qdiscs
from nettop.facts.limits import Reading

FULL = {"notsent": 0, "wmem_queued": 60_000, "sndbuf": 65_536, "min_rtt": 30_000, "rtt": 30_000}
SHARES = {"ran", "waited", "throttled", "softirq"}  # these are varied in hundredths
PARTS = tuple(range(0, 101, 10))
COUNTS = (0, *(10**power for power in range(8)), 50_000_000)


def figure(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:.6g}–{value[1]:.6g}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def line(one: Reading) -> str:
    """All that a reading says."""
    shares = " ".join(map(figure, (one.utilisation, one.capacity, one.reach, one.held)))
    return f"{one.stage} {one.end} {one.kind} {one.name}: {one.because} | {shares}"


def series(found: Iterable[tuple[Any, str]]) -> str:
    """Values with what they give; values next to each other that give the same, together."""
    groups = groupby(found, lambda pair: pair[1])
    return " | ".join(f"{', '.join(str(v) for v, _ in of)}: {told}" for told, of in groups)


def counters(kind: type, **counts: Any) -> Any:
    """A row with zeros where nothing is given."""
    names = [name for name in kind.__dataclass_fields__ if name not in counts]  # type: ignore[attr-defined]
    return kind(**{**dict.fromkeys(names, 0), **counts})


def queue(second: float, rate: float, load: float, backlog: float, kind: str = "tbf") -> Any:
    sent = int(rate / 8 * load * second)
    return qdiscs.Row("eth0", "root", "1:", kind, True, int(backlog), 9, sent, rate=rate)


def device(second: float, **knobs: Any) -> Any:
    """What the interface of a flow loses or may not carry."""
    values = {"load": 0.1, "ring": 0, "port": 0, "pps": 0, "xoff": 0, "dropped": 0, **knobs}
    size, lost = int(10e9 / 8 * values["load"] * second), int(values["dropped"] * second)
    stats = counters(
        link_stats.Row, interface="eth0", index=2, tx_bytes=size, rx_bytes=size,
        tx_packets=size // 1448, rx_packets=size // 1448, tx_dropped=lost,
    )  # fmt: skip
    own = nicstats.Row("eth0", "x", ring_drops=int(values["ring"] * second),
                       phy_discards=int(values["port"] * second),
                       allowance_pps=int(values["pps"] * second))  # fmt: skip
    slot = pci.carried(pci.Row("eth0", speed=8.0, width=int(values.get("width", 4))))
    paused = pause.Row("eth0", True, True, True, int(values["xoff"] * second), 0)
    return {"link_stats": [stats], "nicstats": [own], "pci": [slot], "pause": [paused]}


def sender(second: float, **knobs: Any) -> Any:
    """A moment of a sender; a knob is an argument of `moment`, a gauge or a rate."""
    plain = {k: v for k, v in knobs.items() if k in ("ran", "waited", "throttled", "group", "runs",
             "state", "queue", "more", "idle", "softirq")}  # fmt: skip
    gauges, rates = dict(knobs.get("gauges", {})), dict(knobs.get("rates", {}))
    for name in knobs.keys() - plain.keys() - {"gauges", "rates"}:
        (rates if name in RATES else gauges)[name] = int(knobs[name])
    return moment(second, gauges=gauges, rates=rates, **plain)


RATES = {"bytes_acked", "bytes_received", "segs_out", "segs_in", "total_retrans", "dsack_dups",
         "busy_time", "rwnd_limited", "sndbuf_limited"}  # fmt: skip
FAR = {"gauges": {"min_rtt": 20_000, "rtt": 21_000, "snd_wnd": 2_500_000}}
TAKES = {"gauges": AWAY, "rates": RECEIVES}
UNREAD = {"gauges": {**AWAY, "recv_q": 3_000_000, "rmem_alloc": 4_000_000}, "rates": RECEIVES}
DELAYED = {"gauges": {**AWAY, "rcvbuf": 131_072, "rcv_rtt": 20_000},
           "rates": {**RECEIVES, "bytes_received": 3_000_000}}  # fmt: skip
LOSS = {"gauges": {"unacked": 380, "min_rtt": 4000, "rtt": 4500}, "rates": {"total_retrans": 800}}
BBR = {"gauges": {"unacked": 200, "min_rtt": 4000, "rtt": 4500, "congestion": "bbr",
                  "delivery_rate": 130_000_000}, "rates": {"total_retrans": 8000}}  # fmt: skip
QUOTA = {"ran": 0.2, "group": "/one/two", "throttled": 0.9}
BUSY_CORE = {"ran": 0.7, "idle": (0.0, 1.0, 1.0, 1.0), "softirq": 0.28}
# situation → what stays, and the measurements that vary
SITUATIONS: dict[str, tuple[Mapping[str, Any], str]] = {
    "sender": ({}, "ran waited busy_time notsent sndbuf_limited rwnd_limited wmem_queued unacked"),
    "sender and its counters": ({}, "total_retrans recv_q bytes_acked runs"),
    "sender far away": (FAR, "rwnd_limited snd_wnd min_rtt unacked cwnd"),
    "window": ({**FAR, "rates": {"rwnd_limited": 950_000}}, "snd_wnd min_rtt unacked"),
    "full buffer": ({"gauges": FULL}, "wmem_queued notsent min_rtt rtt sndbuf rwnd_limited ran"),
    "paced": ({"gauges": {"max_pacing_rate": 130_000_000}}, "max_pacing_rate sndbuf_limited"),
    "loss": (LOSS, "total_retrans dsack_dups unacked rtt segs_out notsent"),
    "loss with room": ({**LOSS, "gauges": {**LOSS["gauges"], "unacked": 100}},
                       "total_retrans segs_out dsack_dups"),
    "loss under BBR": (BBR, "delivery_rate unacked total_retrans"),
    "congestion window": ({"gauges": {"unacked": 400, "min_rtt": 4000, "rtt": 4500}},
                          "unacked cwnd mss rtt"),
    "quota": (QUOTA, "throttled ran waited"),
    "busy core": (BUSY_CORE, "softirq ran waited"),
    "receiver": (TAKES, "recv_q rmem_alloc ran waited bytes_received rcv_rtt rcvbuf"),
    "unread": (UNREAD, "rmem_alloc recv_q ran waited"),
    "receive buffer": (DELAYED, "rcv_rtt rcvbuf min_rtt bytes_received recv_q"),
}  # fmt: skip

QUEUES: dict[str, Any] = {
    "tbf": lambda s, load, backlog: {"queue": queue(s, 1e9, load, backlog)},
    "fq": lambda s, load, backlog: {"queue": qdiscs.Row(
        "eth0", "root", "1:", "fq", True, backlog, 0, flow_rate=1e9 / (load or 1)
    )},
    "drops": lambda s, load, backlog: {"queue": qdiscs.Row(
        "eth0", "root", "1:", "pfifo", True, backlog, 9, 0, drops=int(s * load * 10)
    )},
    "htb": lambda s, load, backlog: {"more": {"classes": [
        classes.Row("eth0", "1:1", "root", False, 4e9, 4e9, 0, int(125e6 * load * s)),
        classes.Row("eth0", "1:10", "1:1", True, 1e8, 1e9, backlog, int(125e6 * load * s)),
    ]}},
    "bql": lambda s, load, backlog: {"more": {
        "bql": [bql.Row("eth0", "tx-0", int(load * 100_000), 100_000)],
        "qdiscs": [qdiscs.Row("eth0", "root", "1:", "mq", True, backlog, 9, 0)],
    }},
}  # fmt: skip
