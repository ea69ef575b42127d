"""Staged limits whose next limit is known by construction: lifting the first one measures it."""

from collections.abc import Callable
from typing import Final

from live.limits.case import Case
from live.limits.commands import HTB, OPEN, htb, tbf
from live.limits.cores import quota
from live.limits.stage import NEAR6, SLOW, Stage


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


FOLLOWING: Final = (
    Case("next-tbf-pace", "qdisc", "peer", tc=tbf("20mbit"), writer="pace=7500000", lift=OPEN),
    Case("next-tbf-pace-fast", "qdisc", tc=tbf("200mbit"), writer="pace=50000000", lift=OPEN),
    Case("next-pace-tbf", "pacing", tc=tbf("80mbit"), writer="pace=2500000", lift="writer"),
    Case("next-pace-tbf-slow", "pacing", to=SLOW, link="0.01", tc=tbf("30mbit", "tun0"),
         writer="pace=625000", lift="writer"),
    Case("next-pace6-tbf", "pacing", "peer", to=NEAR6, writer="pace=4000000", lift="writer",
         tc=tbf("90mbit")),
    Case("next-sleep-tbf", "application", tc=tbf("100mbit"), writer="sleep=0.01 size=20000",
         lift="writer"),
    Case("next-reader-tbf", "peer", "application", tc=tbf("100mbit"),
         reader="sleep=0.01 size=20000", lift="reader"),
    Case("next-htb-parent", "qdisc", tc=(
        HTB,
        "here: class add dev eth0 parent 1: classid 1:1 htb rate 70mbit",
        "here: class add dev eth0 parent 1:1 classid 1:10 htb rate 10mbit ceil 20mbit"),
        lift="here: class change dev eth0 parent 1:1 classid 1:10 htb rate 10mbit ceil 300mbit"),
    Case("next-htb6-ceil", "qdisc", "peer", to=NEAR6, tc=(
        HTB,
        "here: class add dev eth0 parent 1: classid 1:1 htb rate 33mbit",
        "here: class add dev eth0 parent 1:1 classid 1:10 htb rate 4mbit ceil 9mbit"),
        lift="here: class change dev eth0 parent 1:1 classid 1:10 htb rate 4mbit ceil 500mbit"),
    Case("next-htb-leaf", "qdisc", tc=htb(
        "120mbit",
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
    Case("next-tbf-thread", "qdisc", "peer", lift=OPEN, quiet=True,
         more=_share_of_measured(0.35, shaper=True)),
)  # fmt: skip
