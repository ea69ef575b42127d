"""The table of staged limits between two namespaces: queues, buffers, windows, programs, CPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from live.limits.case import FAR, PATH, Case
from live.limits.cpu import CPU, quota
from live.limits.fresh import FRESH
from live.limits.more import MORE
from live.limits.stage import LOCAL, SLOW, Stage
from live.limits.strange import STRANGE


def _share_of_measured(
    share: float, *, shaper: bool = False, given: Callable[[Stage], None] | None = None
) -> Callable[[Stage], None]:
    """Allow that share of what the CPUs carry just now, so that the CPUs come next."""

    def more(stage: Stage) -> None:
        if given is not None:
            given(stage)
        rate = share * stage.measured()
        if shaper:
            stage.tc(f"qdisc add dev eth0 root tbf rate {rate:.0f} burst 512k latency 20ms")
            return
        stage.again(f"pace={rate / 8:.0f}")
        if given is not None:
            given(stage)

    return more


def _duty(run: float, stop: float, *, reader: bool = False) -> Callable[[Stage], None]:
    def more(stage: Stage) -> None:
        process = stage.far if reader else stage.near
        if process is not None:
            stage.duty(process, run, stop)

    return more


def _neighbours(stage: Stage) -> None:
    for _ in range(3):
        stage.neighbour(1)


def _steer(stage: Stage) -> None:
    """All packets that arrive are taken by CPU 0 (RPS), each of one segment."""
    for space in (stage.here, stage.there):
        stage.run(space, "ethtool -K eth0 tso off gso off gro off")
    stage.run(stage.there, "echo 1 > /sys/class/net/eth0/queues/rx-0/rps_cpus")


def _tbf(rate: str, device: str = "eth0", more: str = "burst 64k latency 50ms") -> tuple[str, ...]:
    return (f"here: qdisc add dev {device} root tbf rate {rate} {more}",)


def _htb(rate: str, *more: str) -> tuple[str, ...]:
    return (
        "here: qdisc add dev eth0 root handle 1: htb default 10",
        f"here: class add dev eth0 parent 1: classid 1:10 htb rate {rate}",
        *more,
    )


_OPEN = "here: qdisc del dev eth0 root"
_BACK = "there: qdisc add dev eth0 root tbf rate 200kbit burst 4k latency 200ms"
_SIZES = ("16384", "32768", "65536")

CASES: Final = {case.name: case for case in (
    *(Case(f"tbf-{rate}", "qdisc", tc=_tbf(rate), lift=_OPEN)
      for rate in ("5mbit", "20mbit", "100mbit", "400mbit")),
    Case("tbf-50mbit", "qdisc", "peer", tc=_tbf("50mbit"), lift=_OPEN),
    Case("tbf-deep", "qdisc", tc=_tbf("20mbit", more="burst 32k latency 2s"), lift=_OPEN),
    Case("tbf-shallow", "qdisc " + PATH, tc=_tbf("50mbit", more="burst 32k limit 20000"),
         lift=_OPEN),
    Case("tbf-slow-link", "qdisc", to=SLOW, link="0.01", tc=_tbf("10mbit", "tun0")),
    *(Case(f"htb-{rate}", "qdisc", tc=_htb(rate), lift=_OPEN)
      for rate in ("10mbit", "50mbit", "200mbit")),
    Case("htb-leaf", "qdisc", lift=_OPEN, tc=_htb(
        "30mbit", "here: qdisc add dev eth0 parent 1:10 pfifo limit 50")),
    Case("htb-borrows", "qdisc", lift=_OPEN, tc=(
        "here: qdisc add dev eth0 root handle 1: htb default 10",
        "here: class add dev eth0 parent 1: classid 1:1 htb rate 60mbit",
        "here: class add dev eth0 parent 1:1 classid 1:10 htb rate 10mbit ceil 60mbit",
        "here: class add dev eth0 parent 1:1 classid 1:20 htb rate 50mbit ceil 60mbit")),
    *(Case(f"pace-{mbit}mbit", "pacing", "peer" if mbit == 50 else "", lift="writer",
           writer=f"pace={mbit * 125_000}") for mbit in (5, 20, 50, 200, 600)),
    Case("pace-delay", "pacing", to=SLOW, link="0.01", writer="pace=1250000", lift="writer"),
    *(Case(f"quota-{share}", "thread", more=quota(share), quiet=True)
      for share in (0.03, 0.1, 0.2)),
    *(Case(f"quota-reader-{share}", "peer", "thread", more=quota(share, reader=True), quiet=True)
      for share in (0.03, 0.1)),
    Case("duty-350ms", "thread", more=_duty(0.05, 0.3), quiet=True),
    Case("duty-120ms", "thread", more=_duty(0.02, 0.1), quiet=True),
    Case("duty-reader", "peer", "thread", more=_duty(0.05, 0.3, reader=True), quiet=True),
    Case("neighbour", "thread", more=_neighbours, cpus=(1, 0), quiet=True),
    Case("neighbour-reader", "peer", "thread", more=_neighbours, cpus=(0, 1), quiet=True),
    Case("interrupt-core", receives="core thread", more=_steer, cpus=(1, 1), quiet=True),
    Case("loopback", "thread", to=LOCAL, quiet=True),
    Case("loopback-one-core", "thread", to=LOCAL, cpus=(1, 1), quiet=True),
    *(Case(f"sndbuf-{size}", "sndbuf", to=SLOW, link="0.01", writer=f"sndbuf={size}", lift="writer")
      for size in _SIZES),
    *(Case(f"sndbuf-32768-{delay}", "sndbuf", to=SLOW, link=delay, writer="sndbuf=32768",
           lift="writer")
      for delay in ("0.0025", "0.04")),
    *(Case(f"wmem-{most}", "sndbuf", to=SLOW, link="0.01",
           sysctls={"here:net.ipv4.tcp_wmem": f"4096 16384 {most}"}) for most in _SIZES),
    *(Case(f"rcvbuf-{size}", "rwnd", "rcvbuf", to=SLOW, link="0.01", reader=f"rcvbuf={size}")
      for size in _SIZES),
    *(Case(f"rcvbuf-32768-{delay}", "rwnd", "rcvbuf", to=SLOW, link=delay, reader="rcvbuf=32768")
      for delay in ("0.0025", "0.04")),
    *(Case(f"rmem-{most}", "rwnd", "rcvbuf", to=SLOW, link="0.01",
           sysctls={"there:net.ipv4.tcp_rmem": f"4096 16384 {most}"}) for most in _SIZES),
    Case("reader-sleeps", "peer", "application", reader="sleep=0.01 size=20000", lift="reader"),
    Case("reader-sleeps-long", "peer", "application", reader="sleep=0.1 size=200000",
         lift="reader"),
    Case("reader-small-buffer", "peer", "application", reader="sleep=0.01 size=20000 rcvbuf=65536",
         lift="reader"),
    Case("reader-far", "peer rwnd", "application rcvbuf", to=SLOW, link="0.01",
         reader="sleep=0.02 size=10000", lift="reader"),
    *(Case(f"writer-sleeps-{name}", "application", "peer" if name == "short" else "", writer=words,
           lift="writer")
      for name, words in (("short", "sleep=0.001 size=2000"), ("often", "sleep=0.01 size=20000"),
                          ("long", "sleep=0.2 size=400000"), ("one", "sleep=0.02 size=1000000"))),
    Case("writer-paces", "application", writer="sleep=0.0005 size=1448", lift="writer"),
    *(Case(f"loss-{one_of}", PATH, to=SLOW, link=f"0.005 lose={one_of}")
      for one_of in (30, 100, 300)),
    *(Case(f"loss-100-{delay}", PATH, to=SLOW, link=f"{delay} lose=100")
      for delay in ("0.001", "0.02")),
    Case("loss-reno", PATH, to=SLOW, link="0.01 lose=100", writer="congestion=reno"),
    *(Case(f"reorder-{one_of}", PATH, to=SLOW, link=f"0.005 reorder={one_of} late=0.02",
           sysctls={"here:net.ipv4.tcp_recovery": "0"}) for one_of in (20, 100)),
    *(Case(f"police-{mbit}mbit", PATH, to=SLOW, link=f"0.005 police={mbit * 125_000}")
      for mbit in (5, 20)),
    Case("police-bbr", PATH, to=SLOW, link="0.005 police=2500000", writer="congestion=bbr"),
    Case("chain-tbf", PATH, "peer", to=FAR, tc=(
        "middle: qdisc add dev right root tbf rate 20mbit burst 32k limit 60000",)),
    Case("chain-tbf-first", PATH, to=FAR, tc=(
        "middle: qdisc add dev right root tbf rate 50mbit burst 32k limit 100000",)),
    Case("chain-tbf-here", "qdisc", to=FAR, tc=(
        "here: qdisc add dev left root tbf rate 20mbit burst 64k latency 50ms",
        "middle: qdisc add dev right root tbf rate 60mbit burst 64k latency 50ms")),
    Case("six-tbf", "qdisc", tc=_tbf("60mbit"), writers=6),
    Case("six-pace", "pacing", writer="pace=1250000", writers=6),
    Case("six-sleep", "application", writer="sleep=0.02 size=20000", writers=6),
    Case("udp-always", receives="application rcvbuf", writer="datagrams=1 size=1000 sleep=0.0002",
         reader="datagrams=1 sleep=0.002"),
    Case("udp-bursts", receives="rcvbuf", writer="datagrams=1 size=1000 times=20 sleep=0.02",
         reader="datagrams=1 rcvbuf=2304"),  # it holds two or three of the twenty
    Case("two-tbf-pace", "qdisc pacing", tc=_tbf("50mbit"), writer="pace=6250000"),
    Case("two-pace-sleep", "pacing application", writer="pace=2500000 sleep=0.008 size=20000"),
    Case("two-buffers", "sndbuf rwnd", to=SLOW, link="0.01", writer="sndbuf=32768",
         reader="rcvbuf=32768"),
    Case("two-pace-reader", "pacing peer rwnd", writer="pace=2000000",
         reader="sleep=0.01 size=20000"),
    Case("acks-tbf", "path cwnd peer rwnd", tc=(_BACK,)),
    # the second limit is known by construction as well: lifting the first one measures it
    Case("next-tbf-pace", "qdisc", "peer", tc=_tbf("20mbit"), writer="pace=7500000", lift=_OPEN),
    Case("next-tbf-pace-fast", "qdisc", tc=_tbf("200mbit"), writer="pace=50000000", lift=_OPEN),
    Case("next-pace-tbf", "pacing", tc=_tbf("80mbit"), writer="pace=2500000", lift="writer"),
    Case("next-pace-tbf-slow", "pacing", to=SLOW, link="0.01", tc=_tbf("30mbit", "tun0"),
         writer="pace=625000", lift="writer"),
    Case("next-sleep-tbf", "application", tc=_tbf("100mbit"), writer="sleep=0.01 size=20000",
         lift="writer"),
    Case("next-reader-tbf", "peer", "application", tc=_tbf("100mbit"),
         reader="sleep=0.01 size=20000", lift="reader"),
    Case("next-htb-parent", "qdisc", tc=(
        "here: qdisc add dev eth0 root handle 1: htb default 10",
        "here: class add dev eth0 parent 1: classid 1:1 htb rate 70mbit",
        "here: class add dev eth0 parent 1:1 classid 1:10 htb rate 10mbit ceil 20mbit"),
        lift="here: class change dev eth0 parent 1:1 classid 1:10 htb rate 10mbit ceil 300mbit"),
    Case("next-htb-leaf", "qdisc", tc=(
        "here: qdisc add dev eth0 root handle 1: htb default 10",
        "here: class add dev eth0 parent 1: classid 1:10 htb rate 120mbit",
        "here: qdisc add dev eth0 parent 1:10 handle 2: tbf rate 40mbit burst 64k latency 50ms"),
        lift="here: qdisc del dev eth0 parent 1:10"),
    Case("next-pace-wmem", "pacing", to=SLOW, link="0.01", writer="pace=375000", lift="writer",
         sysctls={"here:net.ipv4.tcp_wmem": "4096 16384 131072"}),
    Case("next-pace-rmem", "pacing", "peer", to=SLOW, link="0.01", writer="pace=375000",
         lift="writer", sysctls={"there:net.ipv4.tcp_rmem": "4096 131072 262144"}),
    Case("next-pace-loss", "pacing", to=SLOW, link="0.005 lose=30", writer="pace=375000",
         lift="writer"),
    Case("next-pace-quota", "pacing", lift="writer", quiet=True,
         more=_share_of_measured(0.6, given=quota(0.1))),
    # paced data costs the reader more for each byte: its quota is used up in 95% of the periods
    Case("next-pace-reader-quota", "pacing", "peer thread", lift="writer", quiet=True,
         more=_share_of_measured(0.6, given=quota(0.1, reader=True))),
    # pacing and shaping cost the writer CPU time: at 0.6 of the rate its thread is full as well
    Case("next-pace-thread", "pacing", "peer", lift="writer", quiet=True,
         more=_share_of_measured(0.25)),
    Case("next-tbf-thread", "qdisc", "peer", lift=_OPEN, quiet=True,
         more=_share_of_measured(0.35, shaper=True)),
    *MORE,
    *STRANGE,
    *CPU,
    *FRESH,
)}  # fmt: skip
SHORT: Final = (
    "tbf-50mbit", "htb-50mbit", "pace-50mbit", "rcvbuf-32768", "loss-100",
    "reader-sleeps", "writer-sleeps-often", "bridge-tbf",
)  # fmt: skip
