"""Is this result possible? Line rate, a share of the link, windows, spread, counters, cores.

A figure above what the link can carry, or below a hundredth of it, is a fault and no number
(check `possible`); the others say what to repeat or to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any, Final

from ..terms import formulas, units
from .result import Check, Measured, Options, Side

SLACK: Final = 1.005  # clocks of two ends differ a little
FAULT: Final = 0.01  # of the link
SPREAD: Final = 0.10  # of the median, between the quartiles' ends
AGREE: Final = 0.01  # payload by counters against the tool's own count
SATURATED: Final = 95.0  # percent busy


def judge(
    tool: str, options: Options, measured: Measured, here: Side, there: Side
) -> tuple[Check, ...]:
    """Every check that can be made of this result."""
    return tuple(
        check
        for part in (
            _possible(options, measured, here, there),
            _receiver(measured),
            _spread(measured),
            _window(options, measured),
            _counters(options, measured, here, there),
            _cores(here, "here"),
            _cores(there, "there"),
        )
        for check in part
        if tool
    )


def _speed(side: Side) -> tuple[str, float, int] | None:
    """The carrying interface of a side with its link rate and MTU, where it has one."""
    name = side.busiest()
    about = side.interfaces.get(name, {}) if name else {}
    if name is None or not about.get("speed") or not about.get("mtu"):
        return None
    if about.get("counts") == "super-packets":
        return None  # a virtual device names a speed that nothing enforces
    return name, about["speed"] * 1e6, int(about["mtu"])


def _possible(o: Options, m: Measured, here: Side, there: Side) -> Iterator[Check]:
    rate = m.bits_per_second
    if rate is None:
        return
    if rate <= 0:
        yield Check("possible", ok=False, because="nothing arrived")
        return
    links = [link for link in map(_speed, (here, there)) if link]
    if not links:
        yield Check("possible", ok=True, because="this interface has no line rate to compare with")
        return
    name, speed, mtu = min(links, key=lambda link: link[1])
    v6 = ":" in o.to
    if o.udp or m.loss is not None:
        most = formulas.udp_goodput(speed, mtu, ipv6=v6)
    else:
        most = formulas.tcp_goodput(speed, mtu, ipv6=v6, timestamps=False)
    most *= 2 if o.bidirectional else 1
    said = f"{units.scaled(rate, 'b/s')} of the {units.scaled(most, 'b/s')} that {name} can carry"
    if rate > most * SLACK:
        yield Check("possible", ok=False, because=f"{said}: above the possible, a fault")
    elif rate < most * FAULT and o.rate is None:
        yield Check("possible", ok=False, because=f"{said}: below 1 %, a fault")
    else:
        yield Check("possible", ok=True, because=said)


def _receiver(m: Measured) -> Iterator[Check]:
    if m.bits_per_second is None or m.sent_bits_per_second is None:
        return
    if m.details.get("receiver_intervals") is False:
        yield Check("receiver", ok=True, because="the receiver's total, not its seconds")
        return
    more = m.sent_bits_per_second - m.bits_per_second
    yield Check(
        "receiver",
        ok=True,
        because=f"the receiver's figure; the sender claims {units.scaled(abs(more), 'b/s')}"
        f" {'more' if more >= 0 else 'less'}",
    )


def _spread(m: Measured) -> Iterator[Check]:
    rates = [i.bits_per_second for i in m.intervals]
    if len(rates) < 3:
        return
    middle = median(rates)
    if middle <= 0:
        return
    spread = (max(rates) - min(rates)) / middle
    yield Check(
        "steady",
        ok=spread <= 2 * SPREAD,
        because=f"seconds differ by {100 * spread:.0f} % of their median"
        + ("" if spread <= 2 * SPREAD else ": repeat it"),
    )


def _window(o: Options, m: Measured) -> Iterator[Check]:
    """A window of W bytes carries W · 8 / RTT and no more."""
    rtt = m.details.get("min_rtt_us")  # the least one: what is beyond it cannot be
    if not o.window or not isinstance(rtt, int | float) or rtt <= 0 or m.bits_per_second is None:
        return
    cap = formulas.window_cap(2.0 * o.window * o.streams, rtt / 1e6)
    ok = m.bits_per_second <= 1.2 * cap
    yield Check(
        "window",
        ok=ok,
        because=f"windows of {o.window:,} bytes at {units.seconds(rtt / 1e6)}"
        f" allow {units.scaled(cap, 'b/s')}" + ("" if ok else ": it cannot have been more"),
    )


def _counters(o: Options, m: Measured, here: Side, there: Side) -> Iterator[Check]:
    """Payload by the receiver's interface counters against the tool's own, over the same run.

    What arrived twice is no payload: the interface counted it, the program never saw it.
    """
    if m.bytes is None or m.loss is not None or o.bidirectional or not m.bytes:
        return
    side = here if o.reverse else there
    name = side.busiest()
    if name is None:
        side = there if o.reverse else here
        name = side.busiest()
        if name is None:
            return
    receives = (side is here) == o.reverse
    counted: Any = side.interfaces[name]["rx_payload_bytes" if receives else "tx_payload_bytes"]
    sender = there if o.reverse else here
    twice = sender.totals.get("TcpExtTCPDSACKRecvSegs", 0.0) * _segment(o, side, name)
    apart = (counted - twice) / m.bytes - 1
    again = f" besides {100 * twice / m.bytes:.2f} % that came twice" if twice else ""
    yield Check(
        "counters",
        ok=abs(apart) <= AGREE,
        because=f"{name} counted {100 * apart:+.2f} % of the tool's payload{again}"
        + ("" if abs(apart) <= AGREE else ": other traffic, lost packets, or another path"),
    )


def _segment(o: Options, side: Side, name: str) -> int:
    """Payload of a full segment with timestamps, as TCP counts what is sent again."""
    most = int(side.interfaces[name].get("mtu", 1500)) - (72 if ":" in o.to else 52)
    return min(most, o.mss - 12) if o.mss else most


def _cores(side: Side, where: str) -> Iterator[Check]:
    full = [
        f"{core['cpu']:.0f} ({_mostly(core)})"
        for core in side.cores
        if 100 - core["idle"] - core["iowait"] > SATURATED
    ]
    if full:
        yield Check(
            f"cores-{where}", ok=True, because=f"saturated: core {', '.join(full)}: that is a limit"
        )


def _mostly(core: Mapping[str, float]) -> str:
    modes = [mode for mode in core if mode not in ("cpu", "idle", "iowait")]
    top = max(modes, key=lambda mode: core[mode])
    return f"{top} {core[top]:.0f} %"
