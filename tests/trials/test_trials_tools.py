"""What other people's tools print, retyped, then mutated: a measurement or one sentence."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.frame.rates import Entry
from nettop.trials.result import Interval, Loss, Measured, Options
from nettop.trials.run import TrialError
from nettop.trials.tools import (
    flow,
    ib_send_bw,
    iperf,
    netperf,
    netsniff,
    nuttcp,
    pktgen,
    sockperf,
    tcpdump,
    trafgen,
)
from nettop.trials.tools.capture import CaptureOptions

NUTTCP = """\
megabytes=1200.0000 real_sec=1.00 rate_Mbps=10066.3296 retrans=4
megabytes=1500.0000 real_sec=1.00 rate_Mbps=12582.9120 retrans=0
megabytes=1600.0000 real_sec=1.00 rate_Mbps=13421.7728 retrans=1

megabytes=4300.0000 real_seconds=3.00 rate_Mbps=12023.6715 tx_cpu=45 rx_cpu=39 retrans=5 rtt_ms=0.12
"""
NUTTCP_UDP = """\
megabytes=11.9375 real_sec=1.00 rate_Mbps=100.1264 drop=3 pkt=12224 data_loss=0.02454

megabytes=23.8418 real_seconds=2.00 rate_Mbps=100.0680 rx_cpu=7 drop=14 pkt=24414 data_loss=0.05
"""
# iperf 2.1.8, `-s -y C -i 1` and `-c … -P 2`
IPERF = """\
20261120161300,10.94.0.1,52284,10.94.0.2,5001,1,0.0-1.0,1455937444,11647499552
20261120161300,10.94.0.1,52298,10.94.0.2,5001,2,0.0-1.0,1439402436,11515219488
20261120161301,10.94.0.1,52284,10.94.0.2,5001,1,1.0-2.0,1832517320,14660138560
20261120161301,10.94.0.1,52298,10.94.0.2,5001,2,1.0-2.0,1434948856,11479590848
20261120161301,10.94.0.1,52284,10.94.0.2,5001,1,0.0-2.0,3298164796,13170992900
20261120161301,10.94.0.1,52298,10.94.0.2,5001,2,0.0-2.0,2880569404,11513349013
"""
# 2.0 adds a line for the sum of streams
IPERF_SUM = """\
20261120161301,10.94.0.1,0,10.94.0.2,5001,-1,1.0-2.0,3267466176,26139729408
"""
# `-c … -R -i 1`: what the client received
IPERF_REVERSE = """\
20261120161302,10.94.0.2,5001,10.94.0.1,52308,1,0.0-1.0,2096233744,16769869952
20261120161303,10.94.0.2,5001,10.94.0.1,52308,1,1.0-2.0,2042429816,16339438528
20261120161303,10.94.0.2,5001,10.94.0.1,52308,1,0.0-2.0,4140040192,16534457953
"""
# `-s -u`, forty of 3,570 lost
IPERF_UDP = """\
20261120161310,10.94.0.1,40612,10.94.0.2,5001,1,0.0-1.0,2622480,20979840,0.001,0,1784,0.000,0
20261120161311,10.94.0.1,40612,10.94.0.2,5001,1,1.0-2.0,2563680,20509440,0.001,40,1784,2.242,7
20261120161311,10.94.0.1,40612,10.94.0.2,5001,1,0.0-2.0,5189100,20744898,0.001,40,3570,1.120,7
"""
# `-R -u` of a server that has gone
IPERF_NOTHING = """\
20261120161313,10.94.0.2,5001,10.94.0.1,51156,1,0.0-1.0,0,0,0.000,0,0,-nan,0
20261120161314,10.94.0.2,5001,10.94.0.1,51156,1,1.0-2.0,0,0,0.000,0,0,-nan,0
20261120161314,10.94.0.2,5001,10.94.0.1,51156,1,0.0-2.0,0,0,0.000,0,0,-nan,0
"""
NETPERF = """\
THROUGHPUT=941.37
THROUGHPUT_UNITS=10^6bits/s
ELAPSED_TIME=10.00
LOCAL_TRANSPORT_RETRANS=12
"""
# sockperf 3.7 `pp --full-rtt`: it colours even what goes into a file
SOCKPERF = """\
sockperf: \x1b[2;35m== version #3.7-no.git == \x1b[0m
sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)

[ 0] IP = 10.94.0.2       PORT = 11111 # UDP
sockperf: Warmup stage (sending a few dummy messages)...
sockperf: Starting test...
sockperf: Test end (interrupted by timer)
sockperf: Test ended
sockperf: [Total Run] RunTime=1.001 sec; Warm up time=400 msec; SentMessages=18451; \
ReceivedMessages=18450
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=8115; ReceivedMessages=8115
sockperf: \x1b[2;35m====> avg-rtt=67.801 (std-dev=50.373)\x1b[0m
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Round trip is 67.801 usec
sockperf: \x1b[2;35mTotal 8115 observations\x1b[0m; each percentile contains 81.15 observations
sockperf: ---> <MAX> observation = 4130.893
sockperf: ---> percentile 99.999 = 4130.893
sockperf: ---> percentile 99.990 = 1824.179
sockperf: ---> percentile 99.900 =  168.118
sockperf: ---> percentile 99.000 =  109.071
sockperf: ---> percentile 90.000 =   75.772
sockperf: ---> percentile 75.000 =   70.183
sockperf: ---> percentile 50.000 =   65.587
sockperf: ---> percentile 25.000 =   62.061
sockperf: ---> <MIN> observation =   25.577
"""
SOCKPERF_IPV6 = """\
sockperf: '-i' Invalid address: fd94::2
ping-pong (pp): Run sockperf client for latency test in ping pong mode.

Usage: sockperf ping-pong [options] [args]...
"""
SOCKPERF_REFUSED = """\
sockperf: \x1b[2;35m== version #3.7-no.git == \x1b[0m
sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)
"""
PERFTEST = """\
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      1000             39.21              39.08              0.074547
---------------------------------------------------------------------------------------
"""
TRAFGEN = """     1 packets to schedule
    60 bytes in total
Running! Hang up with ^C!

      170000 packets outgoing
    10200000 bytes outgoing
           4 sec, 250000 usec on CPU0 (170000 packets)
"""
PKTGEN = """\
Params: count 4000000  min_pkt_size: 60  max_pkt_size: 60
Result: OK: 4825944(c4825000+d944) usec, 4000000 (60byte,0frags)
  828853pps 397Mb/sec (397849440bps) errors: 0
"""
NETSNIFF = """\
Running! Hang up with ^C!

      202930  packets incoming (0 unread on exit)
      202900  packets passed filter
          30  packets failed filter (out of space)
           2  sec, 17 usec in total
"""
TCPDUMP = """\
tcpdump: listening on eth0, link-type EN10MB (Ethernet), snapshot length 262144 bytes
202900 packets captured
202937 packets received by filter
30 packets dropped by kernel
7 packets dropped by interface
"""


def test_nuttcp() -> None:
    found = nuttcp.parse(NUTTCP, Options(warmup=1), "nuttcp-6.1.2")
    assert [i.retransmits for i in found.intervals] == [0, 1]
    assert found.bits_per_second == pytest.approx(13002.3424e6)
    assert found.retransmits == 5
    assert found.bytes == 4300 << 20
    assert found.details["rtt_us"] == 120
    assert nuttcp.parse(NUTTCP_UDP, Options(udp=True)).loss == Loss(24414, 24400)
    o = Options(to="h", seconds=9, streams=4, reverse=True, window=524288, length=65536, mss=8960)
    assert " ".join(nuttcp.client(o, 5000)) == (
        "nuttcp -fparse -i1 -P5000 -p5101 -T10 -r -N4 -l65536 -w512 -M8960 h"
    )
    datagrams = nuttcp.client(Options(to="h", udp=True, rate=5e7), 5000)
    assert {"-u", "-R50.000m"} <= set(datagrams)
    assert "-u" not in nuttcp.client(Options(to="h", rate=5e7), 5000)


def test_iperf_2_adds_its_streams_up() -> None:
    for said in (IPERF, IPERF + IPERF_SUM):
        found = iperf.parse(said, Options(warmup=1))
        assert found.intervals == (Interval(1.0, 1.0, 8 * (1832517320 + 1434948856)),)
        assert found.bits_per_second == 26139729408
        assert found.bytes == 3298164796 + 2880569404
    one = "".join(line + "\n" for line in IPERF.splitlines() if ",0.0-1.0," in line)
    short = iperf.parse(one + one, Options(warmup=0))  # a test of one second: twice the same line
    assert short.bytes == 1455937444 + 1439402436
    assert short.bits_per_second == 8 * short.bytes
    back = iperf.parse(IPERF_REVERSE, Options(reverse=True, warmup=0), "2.1.8")
    assert [i.bits_per_second for i in back.intervals] == [16769869952, 16339438528]
    datagrams = iperf.parse(IPERF_UDP, Options(udp=True))
    assert datagrams.loss == Loss(3570, 3530, 7)
    line = IPERF_UDP.splitlines()[1].replace("1.0-2.0", "0.0-1.0")
    assert iperf.parse(f"{line}\n{line}\n", Options(udp=True)).loss == Loss(1784, 1744, 7)
    mine = "19700101000000,10.94.0.1,1,10.94.0.2,5001,1,0.0-2.0,5247900,20981832,0.0,0,-1,-0.000,0"
    assert iperf.parse(mine, Options(udp=True)).loss is None
    assert iperf.parse(IPERF_NOTHING, Options(udp=True)).bits_per_second == 0


def test_netperf() -> None:
    found = netperf.parse(NETPERF)
    assert found.bits_per_second == pytest.approx(941.37e6)
    assert found.retransmits == 12
    with pytest.raises(TrialError, match="netperf"):
        netperf.parse(NETPERF.replace("10^6bits/s", "furlongs"))


def test_sockperf() -> None:
    whole = sockperf.parse(SOCKPERF)
    found = whole.latency
    assert found is not None
    assert (found.min, found.p50, found.p99, found.p999, found.max) == (
        25.577, 65.587, 109.071, 168.118, 4130.893,
    )  # fmt: skip
    assert found.fwhm == pytest.approx(1.75 * (70.183 - 62.061))
    assert (found.count, whole.version) == (8115, "3.7-no.git")
    with pytest.raises(TrialError, match=r"^sockperf: '-i' Invalid address: fd94::2$"):
        sockperf.parse(SOCKPERF_IPV6)
    with pytest.raises(TrialError, match="Connection refused"):
        sockperf.parse(SOCKPERF_REFUSED)


def test_perftest() -> None:
    found = ib_send_bw.parse(PERFTEST)
    assert found.bits_per_second == pytest.approx(39.08e9)
    assert found.details["msg_rate_mpps"] == 0.074547


def test_trafgen() -> None:
    found = trafgen.parse(TRAFGEN)
    assert (found.lasted, found.details) == (4.25, {"pps": 40_000, "packets": 170_000, "size": 60})
    assert found.bits_per_second == 19.2e6
    two = trafgen.parse(TRAFGEN + "   5 sec, 0 usec on CPU1 (9 packets)")
    assert (two.lasted, two.details["pps"]) == (5.0, 34_000)
    with pytest.raises(TrialError, match="trafgen: Failed to set"):
        trafgen.parse("Failed to set NIC IRQ affinity\n")


def test_pktgen() -> None:
    found = pktgen.parse(PKTGEN)
    assert found.details == {"pps": 828853, "packets": 4_000_000, "size": 60, "errors": 0}
    assert found.bits_per_second == 397849440
    with pytest.raises(TrialError, match="Result: Idle"):
        pktgen.parse("Params: count 1\nResult: Idle")


@pytest.mark.parametrize(("ring", "kib"), [(0, None), (1, "1"), (2047, "1"), (1 << 20, "1024")])
def test_the_ring_of_tcpdump_is_given_in_kib(
    ring: int, kib: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[list[str]] = []
    monkeypatch.setattr(tcpdump, "capturing", lambda _trial, _what, argv, *_: said.append(argv))
    what: Any = SimpleNamespace(interface="eth0", ring=ring)
    tcpdump.dump(SimpleNamespace(), what)  # type: ignore[arg-type]
    (argv,) = said
    assert (argv[argv.index("-B") + 1] if "-B" in argv else None) == kib


def test_tcpdump() -> None:
    assert tcpdump.parse(TCPDUMP) == {"packets": 202900, "dropped": 37}
    with pytest.raises(TrialError, match="tcpdump: no output"):
        tcpdump.parse("")


@pytest.mark.parametrize(
    ("ring", "size"), [(0, []), (512, ["1KiB"]), (4096, ["4KiB"]), (1 << 24, ["16384KiB"])]
)
def test_the_ring_of_netsniff_is_in_kibibytes_and_at_least_one(
    ring: int, size: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(
        netsniff, "capturing", lambda _trial, _capture, argv, *_rest: commands.append(argv)
    )
    netsniff.sniff(None, CaptureOptions("eth0", 9, False, (), ring))  # type: ignore[arg-type]
    (argv,) = commands
    assert argv[argv.index("--silent") + 1 : -1] == (["--ring-size", *size] if size else [])


def test_netsniff() -> None:
    assert netsniff.parse(NETSNIFF) == {"packets": 202900, "dropped": 30}


def test_a_flow_is_its_connections_added_up() -> None:
    def entry(remote: str, acked: float, again: float) -> Entry[Any]:
        rates = SimpleNamespace(bytes_acked=acked, bytes_received=None, total_retrans=again,
                                busy_time=None)  # fmt: skip
        now = SimpleNamespace(remote=remote, rtt=200, cwnd=10, mss=1448, congestion="cubic",
                              app_limited=False)  # fmt: skip
        return Entry(now, rates)

    fresh = Entry(entry("h", 1, 1).now)
    entries = [entry("h", 1e6, 1), entry("h", 2e6, 0), entry("other", 9e9, 9), fresh]
    (found,) = flow.second(entries, "h", 1.0)
    assert (found["connections"], found["bits"], found["retransmits"]) == (2, 24e6, 1)
    assert flow.second(entries, "nobody", 1.0) == []
    whole = flow.summarize([found, found], "h")
    assert whole.bits_per_second == 24e6
    assert whole.retransmits == 2
    with pytest.raises(TrialError, match="no TCP connection to h"):
        flow.summarize([], "h")


def test_what_a_flow_waits_for_is_told() -> None:
    def entry(busy: float, rwnd: float, sndbuf: float, **now: bool) -> Entry[Any]:
        rates = SimpleNamespace(bytes_acked=9.0, bytes_received=1.0, busy_time=busy,
                                rwnd_limited=rwnd, sndbuf_limited=sndbuf)  # fmt: skip
        return Entry(SimpleNamespace(**{"app_limited": False, **now}), rates)

    found = flow.waits(entry(8e5, 5e5, 1e5))
    assert found["limited_by"] == "the peer's window"
    percents = [value for key, value in found.items() if key.endswith("_percent")]
    assert percents == pytest.approx([20, 50, 10, 20])
    assert flow.waits(entry(1.01e6, 0, 9e5))["limited_by"] == "the send buffer"
    assert flow.waits(entry(1e6, 0, 1e5))["limited_by"] == "the path"
    assert flow.waits(entry(1e6, 0, 0, app_limited=True))["limited_by"] == "the program"
    assert flow.waits(entry(1e5, 9e4, 0))["limited_by"] == "the program"
    receives = SimpleNamespace(bytes_acked=1.0, bytes_received=9.0, busy_time=1e6)
    assert flow.waits(Entry[Any](SimpleNamespace(), receives)) == {}
    assert flow.waits(Entry[Any](SimpleNamespace())) == {}


LETTERS = "0123456789.,-=e nNaif\n"
PARSERS: list[tuple[Callable[[str], object], str]] = [
    (lambda text: nuttcp.parse(text, Options()), NUTTCP),
    (lambda text: iperf.parse(text, Options()), IPERF),
    (lambda text: iperf.parse(text, Options(udp=True)), IPERF_UDP),
    (netperf.parse, NETPERF),
    (sockperf.parse, SOCKPERF),
    (ib_send_bw.parse, PERFTEST),
    (pktgen.parse, PKTGEN),
    (trafgen.parse, TRAFGEN),
    (netsniff.parse, NETSNIFF),
    (tcpdump.parse, TCPDUMP),
]


@pytest.mark.parametrize("number", range(len(PARSERS)))
@given(
    st.lists(st.tuples(st.integers(0, 800), st.text(LETTERS, max_size=4)), max_size=6),
    st.integers(0, 800),
)  # fmt: skip
def test_mutated_output_is_a_measurement_or_one_sentence(
    number: int, edits: list[tuple[int, str]], end: int
) -> None:
    parse, text = PARSERS[number]
    for place, new in edits:
        text = text[:place] + new + text[place + len(new) :]
    try:
        found = parse(text[:end])
    except TrialError as error:
        assert len(str(error).splitlines()) <= 1  # noqa: PT017
    else:
        assert isinstance(found, Measured | dict)


@pytest.mark.parametrize("number", range(len(PARSERS)))
def test_no_output_is_one_sentence(number: int) -> None:
    with pytest.raises(TrialError, match=r"no output|no transfer"):
        PARSERS[number][0]("")
