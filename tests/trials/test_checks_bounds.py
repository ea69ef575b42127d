"""Every plausibility check on both sides of its bound, with its sentence."""

from dataclasses import replace
from typing import Any

import pytest
from folded import folded

from nettop.terms import formulas
from nettop.trials import checks
from nettop.trials.result import Check, Interval, Loss, Measured, Options, Side


def nic(moved: int = 10, **more: Any) -> Any:
    return {"rx_bytes": moved, "tx_bytes": 0, "rx_payload_bytes": 1_000_000,
            "tx_payload_bytes": 2_000_000, "mtu": 1500, "speed": 1000, "counts": "frames",
            **more}  # fmt: skip


def side(**more: Any) -> Side:
    return Side(interfaces={"eth0": nic(**more)})


def judged(
    name: str,
    measured: Measured,
    options: Options | None = None,
    here: Side | None = None,
    there: Side | None = None,
) -> Check | None:
    """The check of this name; None if it does not apply."""
    every = checks.judge(options or Options(), measured, here or side(), there or side())
    found = [check for check in every if check.name == name]
    assert len(found) <= 1
    return found[0] if found else None


def rated(rate: float | None, options: Options | None = None, **sides: Side) -> Check | None:
    return judged("possible", Measured(bits_per_second=rate), options, **sides)


@folded(
    ("share", "ok"),
    [(1.0, True), (1.0049, True), (1.0051, False), (0.0101, True), (0.0099, False)],
)
@folded("v6", [False, True])
@folded("both", [False, True])
def test_a_rate_is_within_what_its_link_carries(
    share: float, ok: bool, v6: bool, both: bool
) -> None:
    most = formulas.tcp_goodput(1e9, 1500, ipv6=v6, timestamps=False) * (2 if both else 1)
    options = Options(to="fd00::1" if v6 else "10.0.0.1", bidirectional=both)
    found = rated(share * most, options)
    assert found is not None
    assert found.ok is ok
    ending = (
        ""
        if ok
        else ": impossible, above the line rate"
        if share > 1
        else ": implausible, below 1 %"
    )
    assert found.because.endswith(f" Mb/s that eth0 can carry{ending}") or both


@pytest.mark.parametrize("share", [1.0049, 1.0051])
@pytest.mark.parametrize("how", ["udp", "loss"])
def test_datagrams_have_less_around_them(share: float, how: str) -> None:
    rate = share * formulas.udp_goodput(1e9, 1500)
    loss = Loss(10, 10) if how == "loss" else None
    measured = Measured(bits_per_second=rate, loss=loss)
    found = judged("possible", measured, Options(udp=how == "udp"))
    assert found is not None
    assert found.ok is (share < 1.005)


def test_the_slower_link_of_both_ends_counts() -> None:
    slow = replace(side(), interfaces={"eth9": nic(speed=100)})
    for sides in ({"here": slow}, {"there": slow}):
        found = rated(50e6, None, **sides)
        assert found is not None
        assert found.because == "50 Mb/s of the 94.9 Mb/s that eth9 can carry"


@pytest.mark.parametrize(
    "more", [{"speed": 0}, {"speed": None}, {"mtu": None}, {"counts": "super-packets"}]
)
def test_without_a_line_rate_every_rate_is_possible(more: Any) -> None:
    unknown = side(**more)
    found = rated(1e12, None, here=unknown, there=unknown)
    assert found == Check("possible", ok=True, because="this interface has no line rate")
    found = rated(1e12, None, here=Side(), there=Side())
    assert found is not None
    assert found.ok


def test_no_rate_is_not_judged_and_none_that_arrived_is_a_fault() -> None:
    assert rated(None) is None
    for rate in (0.0, -1.0):
        assert rated(rate) == Check("possible", ok=False, because="no data arrived")
    one = rated(1.0, Options(rate=1.0))
    assert one is not None
    assert one.ok


@pytest.mark.parametrize(
    ("sent", "said"), [(1.5e9, "500 Mb/s more"), (1e9, "0 b/s more"), (0.75e9, "250 Mb/s less")]
)
def test_what_the_sender_says_is_told_beside(sent: float, said: str) -> None:
    found = judged("receiver", Measured(bits_per_second=1e9, sent_bits_per_second=sent))
    assert found == Check("receiver", True, f"rate of the receiver; the sender reports {said}")
    assert judged("receiver", Measured(sent_bits_per_second=sent)) is None
    assert judged("receiver", Measured(bits_per_second=sent)) is None


@pytest.mark.parametrize(
    ("sent", "found"),
    [(9.5e8, (True, "offered 950 Mb/s of 1 Gb/s")),
     (2e7, (False, "offered 20 Mb/s of 1 Gb/s: the sender did not reach the rate"))],
)  # fmt: skip
def test_datagrams_that_were_not_sent_at_the_rate_asked_are_a_fault(
    sent: float, found: tuple[bool, str]
) -> None:
    one = Measured(sent_bits_per_second=sent, loss=Loss(5, 5))
    assert judged("offered", one, Options(rate=1e9)) == Check("offered", *found)
    assert judged("offered", one) is None
    assert judged("offered", replace(one, loss=None), Options(rate=1e9)) is None  # TCP: the path


def test_a_total_without_intervals_is_told() -> None:
    figures = {"bits_per_second": 1e9, "sent_bits_per_second": 1e9}
    total = Measured(**figures, details={"receiver_intervals": False})  # type: ignore[arg-type]
    said = "only the receiver's total is known, no intervals"
    assert judged("receiver", total) == Check("receiver", ok=True, because=said)
    every = replace(total, details={"receiver_intervals": True})
    found = judged("receiver", every)
    assert found is not None
    assert "the sender reports" in found.because


def spread(*rates: float) -> Check | None:
    intervals = tuple(Interval(float(n), 1.0, rate) for n, rate in enumerate(rates))
    return judged("steady", Measured(intervals=intervals))


@folded(
    ("rates", "share", "ok"),
    [((90, 100, 110), 20, True), ((100, 100, 100), 0, True), ((89, 100, 110), 21, False),
     ((50, 100, 100, 100), 50, False), ((1, 1, 2), 100, False)],
)  # fmt: skip
def test_rates_that_vary_are_told(rates: tuple[float, ...], share: int, ok: bool) -> None:
    found = spread(*rates)
    ending = "" if ok else ": repeat the test"
    because = f"the rate per second varies by {share} % of its median{ending}"
    assert found == Check("steady", ok=ok, because=because)


def test_too_few_seconds_do_not_vary() -> None:
    assert spread(1, 100) is spread() is spread(0, 0, 100) is None


@folded(("share", "ok"), [(1.0, True), (1.19, True), (1.21, False)])
@folded("streams", [1, 3])
def test_a_window_bounds_the_rate(share: float, ok: bool, streams: int) -> None:
    cap = 2 * 65536 * streams * 8 / 0.01
    measured = Measured(bits_per_second=share * cap, details={"min_rtt_us": 10_000})
    found = judged("window", measured, Options(window=65536, streams=streams))
    assert found is not None
    assert found.ok is ok
    ending = "" if ok else ": impossible, above that rate"
    assert found.because.startswith("windows of 65,536 bytes at 10 ms allow ")
    assert found.because.endswith(f" Mb/s{ending}")


def test_a_window_without_a_round_trip_is_not_judged() -> None:
    asked = Options(window=65536)
    for rtt in (None, "1", 0, -1):
        assert (
            judged("window", Measured(bits_per_second=1e9, details={"min_rtt_us": rtt}), asked)
            is None
        )
    timed = {"min_rtt_us": 0.5}
    assert judged("window", Measured(bits_per_second=1e9, details=timed), Options()) is None
    assert judged("window", Measured(details=timed), asked) is None
    assert judged("window", Measured(bits_per_second=1e9, details=timed), asked) is not None


def counted(
    tool: int | None, options: Options | None = None, loss: Loss | None = None, **sides: Side
) -> Check | None:
    return judged("counters", Measured(bytes=tool, loss=loss), options, **sides)


@folded(
    ("tool", "share", "ok"),
    [(1_000_000, "+0.00", True), (990_100, "+1.00", True), (989_000, "+1.11", False),
     (1_010_100, "-1.00", True), (1_012_000, "-1.19", False)],
)  # fmt: skip
def test_the_receivers_counters_agree_with_the_tool(tool: int, share: str, ok: bool) -> None:
    found = counted(tool)
    ending = "" if ok else ": other traffic, lost packets or another path"
    because = f"eth0 counted {share} % of the tool's payload{ending}"
    assert found == Check("counters", ok=ok, because=because)


def test_the_end_that_receives_is_asked_first() -> None:
    """Its received payload; without its counters, what the other end sent."""
    other = side(rx_payload_bytes=5_000_000)
    unseen = Side()
    for reverse in (False, True):
        near, far = ("here", "there") if reverse else ("there", "here")
        options = Options(reverse=reverse)
        cases: list[tuple[Any, int]] = [
            ({near: other, far: side()}, 5_000_000),
            ({near: unseen, far: other}, 2_000_000),
        ]
        for sides, payload in cases:
            found = counted(payload, options, **sides)
            assert found is not None
            assert found.ok
            assert "+0.00 %" in found.because
    assert counted(1, here=unseen, there=unseen) is None


def test_what_cannot_be_compared_is_not() -> None:
    assert counted(None) is counted(0) is None
    assert counted(1, Options(bidirectional=True)) is None
    assert counted(1, loss=Loss(1, 1)) is None
    assert counted(1) is not None


@folded(
    ("options", "mtu", "segment"),
    [
        (Options(), 1500, 1448), (Options(to="fd00::1"), 1500, 1428), (Options(), 9000, 8948),
        (Options(mss=1000), 1500, 988), (Options(mss=9000), 1500, 1448), (Options(), None, 1448),
    ],
)  # fmt: skip
def test_duplicates_are_segments_of_the_path(
    options: Options, mtu: int | None, segment: int
) -> None:
    there = side(mtu=mtu) if mtu else side()
    if mtu is None:
        del there.interfaces["eth0"]["mtu"]
    here = replace(side(), totals={"TcpExtTCPDSACKRecvSegs": 10.0})
    found = counted(1_000_000 - 10 * segment, options, here=here, there=there)
    assert found is not None
    share = 100 * 10 * segment / (1_000_000 - 10 * segment)
    assert (
        found.because == f"eth0 counted +0.00 % of the tool's payload plus {share:.2f} % duplicates"
    )


def core(cpu: int, **busy: float) -> dict[str, float]:
    idle = 100.0 - sum(busy.values())
    return {"cpu": float(cpu), "user": 0.0, "system": 0.0, "idle": idle, "iowait": 0.0,
            "softirq": 0.0, **busy}  # fmt: skip


def test_saturated_cores_are_named_with_what_they_mostly_do() -> None:
    cores = (
        core(0, user=95.0), core(1, user=5.0, system=10.0, softirq=81.0),
        core(12, system=60.0, user=40.0), core(3, user=90.0, iowait=10.0),
    )  # fmt: skip
    busy = replace(side(), cores=cores)
    said = "CPU-bound: saturated core 1 (softirq 81 %), 12 (system 60 %)"
    for where in ("here", "there"):
        found = checks.judge(
            Options(), Measured(), *((busy, side()) if where == "here" else (side(), busy))
        )
        assert found == (Check(f"cores-{where}", ok=True, because=said),)
