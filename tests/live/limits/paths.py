"""Staged limits of the way: loss, order, policers, and queues of a router."""

from typing import Final

from live.limits.case import FAR, PATH, Case
from live.limits.commands import LOWAT
from live.limits.stage import SLOW

PATHS: Final = (
    *(Case(f"loss-{one_of}", PATH, to=SLOW, link=f"0.005 lose={one_of}")
      for one_of in (30, 100, 300)),
    *(Case(f"loss-100-{delay}", PATH, to=SLOW, link=f"{delay} lose=100")
      for delay in ("0.001", "0.02")),
    Case("loss-1000-0.02", PATH, "peer", to=SLOW, link="0.02 lose=1000"),
    Case("loss-40-0.04", PATH, "peer", to=SLOW, link="0.04 lose=40"),
    Case("loss-reno", PATH, to=SLOW, link="0.01 lose=100", writer="congestion=reno"),
    Case("lowat-loss", PATH, to=SLOW, link="0.005 lose=100", writer=f"set={LOWAT}:16384"),
    *(Case(f"reorder-{one_of}", PATH, to=SLOW, link=f"0.005 reorder={one_of} late=0.02",
           sysctls={"here:net.ipv4.tcp_recovery": "0"}) for one_of in (20, 100)),
    *(Case(f"police-{mbit}mbit", PATH, to=SLOW, link=f"0.005 police={mbit * 125_000}")
      for mbit in (5, 20)),
    Case("police-bbr", PATH, to=SLOW, link="0.005 police=2500000", writer="congestion=bbr"),
    Case("far-police-bbr", PATH, to=SLOW, link="0.015 police=2000000", writer="congestion=bbr"),
    Case("far-police-reno", PATH, to=SLOW, link="0.01 police=1250000", writer="congestion=reno"),
    Case("bbr-loss-police", PATH, "peer", to=SLOW, link="0.0025 lose=50 police=3000000",
         writer="congestion=bbr"),
    Case("chain-tbf", PATH, "peer", to=FAR, tc=(
        "middle: qdisc add dev right root tbf rate 20mbit burst 32k limit 60000",)),
    Case("chain-tbf-first", PATH, to=FAR, tc=(
        "middle: qdisc add dev right root tbf rate 50mbit burst 32k limit 100000",)),
    Case("chain-bbr", PATH, "peer", to=FAR, writer="congestion=bbr", tc=(
        "middle: qdisc add dev right root tbf rate 15mbit burst 32k limit 80000",)),
    Case("chain-htb", PATH, "peer", to=FAR, tc=(
        "middle: qdisc add dev right root handle 1: htb default 10",
        "middle: class add dev right parent 1: classid 1:10 htb rate 22mbit")),
    Case("path-mtu", PATH, to=FAR, tc=(
        "middle: qdisc add dev right root tbf rate 20mbit burst 32k limit 60000",),
        run=("middle: ip link set right mtu 1000",)),
)  # fmt: skip
