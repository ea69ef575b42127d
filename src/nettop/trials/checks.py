"""Plausibility checks of a result: line rate, share of the link, windows, spread, counters, cores.

The check `possible` rejects a rate above the link rate or below 1 % of it, `offered` datagrams that
were not sent at the rate that was asked: the result of such a test says nothing (VOID). The other
checks give reasons to repeat a test or to examine its result.
"""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Final

from ..terms import formulas, units
from .result import Check, Measured, Options, Side

SLACK: Final = 1.005  # tolerance for the clocks of two hosts
FAULT: Final = 0.01  # of the link rate: a lower result is not plausible
SPREAD: Final = 0.10  # interquartile range as a share of the median
AGREE: Final = 0.01  # difference between interface counters and the tool
REACHED: Final = 0.95  # of what was asked; the papers print rates in two digits
TRIP: Final = 0.75  # of a round trip: no path has the one of the paper; both are printed
VOID: Final = ("possible", "offered")
SATURATED: Final = 95.0  # percent busy


def judge(options: Options, measured: Measured, here: Side, there: Side) -> tuple[Check, ...]:
    """All checks that apply to this result."""
    return (
        *_possible(options, measured, here, there),
        *_offered(options, measured),
        *_receiver(measured),
        *_spread(measured),
        *_window(options, measured),
        *_counters(options, measured, here, there),
        *_cores(here, "here"),
        *_cores(there, "there"),
    )


def _speed(side: Side) -> tuple[str, float, int] | None:
    """The interface that carried the test, its link rate in bit/s and MTU; None without a rate."""
    name = side.busiest()
    interface = side.interfaces.get(name, {}) if name else {}
    if name is None or not interface.get("speed") or not interface.get("mtu"):
        return None
    if interface.get("counts") == "super-packets":
        return None  # virtual devices report a speed that nothing enforces
    return name, interface["speed"] * 1e6, interface["mtu"]


def _possible(o: Options, m: Measured, here: Side, there: Side) -> Iterator[Check]:
    rate = m.bits_per_second
    if rate is None:
        return
    if rate <= 0:
        yield Check("possible", ok=False, because="no data arrived")
        return
    links = [link for link in map(_speed, (here, there)) if link]
    if not links:
        yield Check("possible", ok=True, because="this interface has no line rate")
        return
    name, speed, mtu = min(links, key=lambda link: link[1])
    v6 = ":" in o.to
    if o.udp or m.loss is not None:
        most = formulas.udp_goodput(speed, mtu, ipv6=v6)
    else:
        most = formulas.tcp_goodput(speed, mtu, ipv6=v6, timestamps=False)
    most *= 2 if o.bidirectional else 1
    figures = (
        f"{units.scaled(rate, 'b/s')} of the {units.scaled(most, 'b/s')} that {name} can carry"
    )
    if rate > most * SLACK:
        yield Check("possible", ok=False, because=f"{figures}: impossible, above the line rate")
    elif rate < most * FAULT and o.rate is None:
        yield Check("possible", ok=False, because=f"{figures}: implausible, below 1 %")
    else:
        yield Check("possible", ok=True, because=figures)


def reached(asked: float, offered: float, least: float = REACHED) -> bool:
    """Whether a rate, a spacing or (at `least` TRIP) a round trip is what was asked; 0 is none."""
    return not asked or min(asked, offered) >= least * max(asked, offered)


def _offered(o: Options, m: Measured) -> Iterator[Check]:
    if o.rate is None or m.loss is None or m.sent_bits_per_second is None:
        return
    ok = m.sent_bits_per_second >= REACHED * o.rate
    sent, asked = (units.scaled(rate, "b/s") for rate in (m.sent_bits_per_second, o.rate))
    note = "" if ok else ": the sender did not reach the rate"
    yield Check("offered", ok=ok, because=f"offered {sent} of {asked}{note}")


def _receiver(m: Measured) -> Iterator[Check]:
    if m.bits_per_second is None or m.sent_bits_per_second is None:
        return
    if m.details.get("receiver_intervals") is False:
        yield Check("receiver", ok=True, because="only the receiver's total is known, no intervals")
        return
    more = m.sent_bits_per_second - m.bits_per_second
    yield Check(
        "receiver",
        ok=True,
        because=f"rate of the receiver; the sender reports {units.scaled(abs(more), 'b/s')}"
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
        because=f"the rate per second varies by {100 * spread:.0f} % of its median"
        + ("" if spread <= 2 * SPREAD else ": repeat the test"),
    )


def _window(o: Options, m: Measured) -> Iterator[Check]:
    """A window of W bytes limits the rate to W · 8 / RTT."""
    rtt = m.details.get("min_rtt_us")  # the smallest RTT gives the largest possible rate
    if not o.window or not isinstance(rtt, int | float) or rtt <= 0 or m.bits_per_second is None:
        return
    cap = formulas.window_cap(2.0 * o.window * o.streams, rtt / 1e6)
    ok = m.bits_per_second <= 1.2 * cap
    yield Check(
        "window",
        ok=ok,
        because=f"windows of {o.window:,} bytes at {units.seconds(rtt / 1e6)}"
        f" allow {units.scaled(cap, 'b/s')}" + ("" if ok else ": impossible, above that rate"),
    )


def _counters(o: Options, m: Measured, here: Side, there: Side) -> Iterator[Check]:
    """Compare the payload that the interface of the receiver counted with that of the tool.

    Duplicate segments are subtracted: the interface counts them, the tool never receives them.
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
    receives = (side is here) == bool(o.reverse)
    interface = side.interfaces[name]
    counted = interface["rx_payload_bytes"] if receives else interface["tx_payload_bytes"]
    sender = there if o.reverse else here
    duplicates = sender.totals.get("TcpExtTCPDSACKRecvSegs", 0.0) * _segment(o, side, name)
    difference = (counted - duplicates) / m.bytes - 1
    note = f" plus {100 * duplicates / m.bytes:.2f} % duplicates" if duplicates else ""
    yield Check(
        "counters",
        ok=abs(difference) <= AGREE,
        because=f"{name} counted {100 * difference:+.2f} % of the tool's payload{note}"
        + ("" if abs(difference) <= AGREE else ": other traffic, lost packets or another path"),
    )


def _segment(o: Options, side: Side, name: str) -> int:
    """Payload of a full segment with timestamps, in bytes."""
    most: int = side.interfaces[name].get("mtu", 1500) - (72 if ":" in o.to else 52)
    return min(most, o.mss - 12) if o.mss else most


def _cores(side: Side, where: str) -> Iterator[Check]:
    saturated = [
        f"{core['cpu']:.0f} ({_mostly(core)})"
        for core in side.cores
        if 100 - core["idle"] - core["iowait"] > SATURATED
    ]
    if saturated:
        yield Check(
            f"cores-{where}", ok=True, because=f"CPU-bound: saturated core {', '.join(saturated)}"
        )


def _mostly(core: Mapping[str, float]) -> str:
    modes = [mode for mode in core if mode not in ("cpu", "idle", "iowait")]
    top = max(modes, key=lambda mode: core[mode])
    return f"{top} {core[top]:.0f} %"
