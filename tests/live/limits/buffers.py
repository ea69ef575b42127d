"""Staged limits of buffers and windows of both ends, most of them over a slow link."""

from typing import Final

from live.limits.case import Case
from live.limits.commands import CLAMP, MPTCP
from live.limits.stage import SLOW

_SIZES: Final = ("16384", "32768", "65536")

BUFFERS: Final = (
    *(Case(f"sndbuf-{size}", "sndbuf", to=SLOW, link="0.01", writer=f"sndbuf={size}", lift="writer")
      for size in _SIZES),
    *(Case(f"sndbuf-32768-{delay}", "sndbuf", to=SLOW, link=delay, writer="sndbuf=32768",
           lift="writer")
      for delay in ("0.0025", "0.04")),
    Case("sndbuf-200000", "sndbuf", "peer", to=SLOW, link="0.04", writer="sndbuf=200000"),
    Case("far-sndbuf", "sndbuf", "peer", to=SLOW, link="0.02", writer="sndbuf=100000"),
    *(Case(f"wmem-{most}", "sndbuf", to=SLOW, link="0.01",
           sysctls={"here:net.ipv4.tcp_wmem": f"4096 16384 {most}"}) for most in _SIZES),
    *(Case(f"rcvbuf-{size}", "rwnd", "rcvbuf", to=SLOW, link="0.01", reader=f"rcvbuf={size}")
      for size in _SIZES),
    *(Case(f"rcvbuf-32768-{delay}", "rwnd", "rcvbuf", to=SLOW, link=delay, reader="rcvbuf=32768")
      for delay in ("0.0025", "0.04")),
    Case("rcvbuf-150000", "rwnd", "rcvbuf", to=SLOW, link="0.02", reader="rcvbuf=150000"),
    Case("far-rcvbuf", "rwnd", "rcvbuf", to=SLOW, link="0.02", reader="rcvbuf=100000"),
    Case("mptcp-far-rcvbuf", "rwnd", "rcvbuf", to=SLOW, link="0.02", writer=MPTCP,
         reader=f"{MPTCP} rcvbuf=65536"),
    *(Case(f"rmem-{most}", "rwnd", "rcvbuf", to=SLOW, link="0.01",
           sysctls={"there:net.ipv4.tcp_rmem": f"4096 16384 {most}"}) for most in _SIZES),
    Case("clamp-reader", "rwnd", "rcvbuf", to=SLOW, link="0.01", reader=f"set={CLAMP}:20000"),
    Case("clamp-bbr", "rwnd", "rcvbuf", to=SLOW, link="0.01", writer="congestion=bbr",
         reader=f"set={CLAMP}:100000"),
    Case("no-scaling", "rwnd", "rcvbuf", to=SLOW, link="0.01",
         sysctls={"there:net.ipv4.tcp_window_scaling": "0"}),
    Case("route-window", "rwnd", "rcvbuf", to=SLOW, link="0.01",
         run=("there: ip route change 10.95.0.0/24 dev tun0 window 20000",)),
    Case("two-buffers", "sndbuf rwnd", to=SLOW, link="0.01", writer="sndbuf=32768",
         reader="rcvbuf=32768"),
)  # fmt: skip
