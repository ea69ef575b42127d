"""Staged limits of programs that pace, pause or answer: writers, readers, datagrams."""

from typing import Final

from live.limits.case import FAR, Case
from live.limits.commands import CORK, LOWAT, MPTCP, NODELAY, macvlan, tbf, vxlan
from live.limits.queues import SUBFLOWS
from live.limits.stage import LOCAL, NEAR6, SLOW

_GRO, _GSO = "17:104:1", "17:103:1200"  # UDP_GRO, UDP_SEGMENT

PACES: Final = (
    *(Case(f"pace-{mbit}mbit", "pacing", "peer" if mbit == 50 else "", lift="writer",
           writer=f"pace={mbit * 125_000}") for mbit in (5, 20, 50, 200, 600)),
    Case("pace-delay", "pacing", to=SLOW, link="0.01", writer="pace=1250000", lift="writer"),
    Case("six-pace", "pacing", writer="pace=1250000", writers=6),
    Case("six-pace-ipv6", "pacing", "peer", to=NEAR6, writer="pace=500000", writers=6),
    Case("ipv6-pace", "pacing", to=NEAR6, writer="pace=2500000"),
    Case("lowat-pace", "pacing", writer=f"pace=2500000 set={LOWAT}:16384"),
    Case("bbr-pace", "pacing", writer="pace=2500000 congestion=bbr"),
    Case("sendfile-pace", "pacing", "peer", writer="how=sendfile pace=4000000"),
    Case("vxlan-pace", "pacing", "peer", to="10.98.0.2", run=vxlan(7), writer="pace=2500000"),
    Case("macvlan-pace", "pacing", "peer", to="10.98.0.2", run=macvlan("10.98.0"),
         writer="pace=1500000"),
    Case("chain-pace", "pacing", "peer", to=FAR, writer="pace=900000"),
    Case("far-tls-pace", "pacing", "peer", to=SLOW, link="0.015", writer="how=tls pace=700000",
         reader="how=tls"),
    # close to another limit
    Case("two-tbf-pace", "qdisc pacing", tc=tbf("50mbit"), writer="pace=6250000"),
    Case("two-pace-sleep", "pacing application", writer="pace=2500000 sleep=0.008 size=20000"),
    Case("two-pace-reader", "pacing peer rwnd", writer="pace=2000000",
         reader="sleep=0.01 size=20000"),
    Case("close-pace-tbf", "pacing qdisc", "peer", writer="pace=2500000", tc=tbf("22mbit")),
)  # fmt: skip
WRITERS: Final = (
    *(Case(f"writer-sleeps-{name}", "application", "peer" if name == "short" else "", writer=words,
           lift="writer")
      for name, words in (("short", "sleep=0.001 size=2000"), ("often", "sleep=0.01 size=20000"),
                          ("long", "sleep=0.2 size=400000"), ("one", "sleep=0.02 size=1000000"))),
    Case("writer-paces", "application", writer="sleep=0.0005 size=1448", lift="writer"),
    Case("six-sleep", "application", writer="sleep=0.02 size=20000", writers=6),
    Case("twenty-sleep", "application", writer="flows=20 sleep=0.02 size=20000",
         reader="flows=20"),
    Case("ipv6-writer", "application", "peer", to=NEAR6, writer="sleep=0.03 size=100000"),
    Case("bbr-sleep", "application", writer="sleep=0.01 size=20000 congestion=bbr"),
    Case("cork-sleep", "application", writer=f"sleep=0.005 size=9000 set={CORK}:1"),
    Case("no-delay", "application", "peer", writer=f"set={NODELAY}:1 size=100 sleep=0.0005"),
    Case("tls-writer", "application", "peer", writer="how=tls sleep=0.01 size=30000",
         reader="how=tls"),
    Case("proxy-writer", "application", "peer", writer="how=proxy sleep=0.01 size=30000"),
    Case("mptcp-writer", "application", "peer", writer=f"{MPTCP} sleep=0.01 size=20000",
         reader=MPTCP),
    Case("loopback-writer", "application", to=LOCAL, writer="sleep=0.01 size=20000"),
    Case("bursts-tbf", "application", "peer", writer="size=1000000 sleep=1", tc=tbf("20mbit"),
         lift="writer"),
)  # fmt: skip
READERS: Final = (
    Case("reader-sleeps", "peer", "application", reader="sleep=0.01 size=20000", lift="reader"),
    Case("reader-sleeps-long", "peer", "application", reader="sleep=0.1 size=200000",
         lift="reader"),
    Case("reader-small-buffer", "peer", "application", reader="sleep=0.01 size=20000 rcvbuf=65536",
         lift="reader"),
    Case("reader-far", "peer rwnd", "application rcvbuf", to=SLOW, link="0.01",
         reader="sleep=0.02 size=10000", lift="reader"),
    Case("six-reader", "peer", "application", writers=6, reader="sleep=0.005 size=20000"),
    Case("twenty-readers", "peer", "application", writer="flows=20",
         reader="flows=20 sleep=0.01 size=20000"),
    Case("idle-reader", "peer", "application", writer="idle=60",
         reader="flows=61 sleep=0.01 size=30000"),
    Case("ipv6-reader", "peer", "application", to=NEAR6, reader="sleep=0.01 size=20000"),
    Case("closed-for-seconds", "peer rwnd", "application", to=NEAR6,
         reader="sleep=3 size=4000000"),
    Case("tls-reader", "peer", "application", writer="how=tls",
         reader="how=tls sleep=0.01 size=16000"),
    Case("sendfile-reader", "peer", "application", writer="how=sendfile",
         reader="sleep=0.02 size=50000"),
    Case("splice-reader", "peer", "application", reader="how=splice sleep=0.01 size=30000"),
    Case("proxy-reader", "peer", "application", reader="how=proxy sleep=0.01 size=30000"),
    Case("mptcp-reader", "peer rwnd", "application", writer=MPTCP,
         reader=f"{MPTCP} sleep=0.01 size=20000"),
    Case("mptcp-two-reader", "peer rwnd", "application", run=SUBFLOWS, writer=MPTCP,
         reader=f"{MPTCP} sleep=0.01 size=30000"),
    Case("vxlan-reader", "peer", "application", to="10.98.0.2", run=vxlan(9),
         reader="sleep=0.01 size=40000"),
    Case("chain-reader", "peer", "application", to=FAR, reader="sleep=0.02 size=40000"),
    Case("loopback-reader", "application peer", "application", to=LOCAL,
         reader="sleep=0.01 size=20000"),
    # close to another limit
    Case("close-tbf-reader", "qdisc peer rwnd", "peer application", tc=tbf("16mbit"),
         reader="sleep=0.01 size=20000"),
    Case("close-writer-reader", "application peer", "application peer",
         writer="sleep=0.01 size=20000", reader="sleep=0.01 size=20000"),
    Case("asks-and-waits", "application peer", "application peer", to=SLOW, link="0.01",
         writer="size=20000 answer=100", reader="size=20000 answer=100"),
)  # fmt: skip
DATAGRAMS: Final = (
    Case("udp-always", receives="application rcvbuf", writer="datagrams=1 size=1000 sleep=0.0002",
         reader="datagrams=1 sleep=0.002"),
    Case("udp6-always", receives="application rcvbuf", to=NEAR6,
         writer="datagrams=1 size=1000 sleep=0.0002", reader="datagrams=1 sleep=0.002"),
    Case("udp-bursts", receives="rcvbuf", writer="datagrams=1 size=1000 times=20 sleep=0.02",
         reader="datagrams=1 rcvbuf=2304"),  # it holds two or three of the twenty
    Case("udp6-bursts", receives="rcvbuf", to=NEAR6,
         writer="datagrams=1 size=600 times=20 sleep=0.03", reader="datagrams=1 rcvbuf=2304"),
    Case("udp-gro", receives="application rcvbuf", writer="datagrams=1 size=1000 sleep=0.0002",
         reader=f"datagrams=1 sleep=0.002 set={_GRO}"),
    Case("gso-datagrams", receives="application rcvbuf",
         writer=f"datagrams=1 size=12000 sleep=0.001 set={_GSO}",
         reader="datagrams=1 sleep=0.002"),
)  # fmt: skip
