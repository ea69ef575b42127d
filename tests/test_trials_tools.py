"""What other people's tools print, retyped, then mutated: a measurement or one sentence."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.frame import Entry
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
)

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
IPERF = """\
20261120133000,10.0.0.2,5001,10.0.0.1,40000,1,0.0-1.0,125000000,1000000000
20261120133000,10.0.0.2,5001,10.0.0.1,40002,2,0.0-1.0,125000000,1000000000
20261120133001,10.0.0.2,5001,10.0.0.1,40000,1,1.0-2.0,250000000,2000000000
20261120133001,10.0.0.2,5001,10.0.0.1,40002,2,1.0-2.0,250000000,2000000000
20261120133001,10.0.0.2,5001,10.0.0.1,0,-1,1.0-2.0,500000000,4000000000
20261120133001,10.0.0.2,5001,10.0.0.1,40000,1,0.0-2.0,375000000,1500000000
20261120133001,10.0.0.2,5001,10.0.0.1,40002,2,0.0-2.0,375000000,1500000000
"""
IPERF_UDP = (
    "20261120133001,10.0.0.2,5001,10.0.0.1,40000,3,0.0-2.0,2450000,9800000,0.010,40,2000,2.0,7\n"
)
NETPERF = """\
THROUGHPUT=941.37
THROUGHPUT_UNITS=10^6bits/s
ELAPSED_TIME=10.00
LOCAL_TRANSPORT_RETRANS=12
"""
SOCKPERF = """\
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=20000; ReceivedMessages=20000
sockperf: Summary: Round trip is 27.310 usec
sockperf: Total 20000 observations; each percentile contains 200.00 observations
sockperf: ---> <MAX> observation =  310.250
sockperf: ---> percentile 99.999 =  300.100
sockperf: ---> percentile 99.900 =   95.125
sockperf: ---> percentile 99.000 =   48.500
sockperf: ---> percentile 75.000 =   29.000
sockperf: ---> percentile 50.000 =   26.500
sockperf: ---> percentile 25.000 =   25.000
sockperf: ---> <MIN> observation =   18.750
"""
PERFTEST = """\
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      1000             39.21              39.08              0.074547
---------------------------------------------------------------------------------------
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


def test_iperf_2_adds_its_streams_up() -> None:
    found = iperf.parse(IPERF, Options(warmup=1))
    assert found.intervals == (Interval(1.0, 1.0, 4e9),)
    assert found.bits_per_second == 4e9
    assert found.bytes == 750_000_000
    datagrams = iperf.parse(IPERF_UDP, Options(udp=True))
    assert datagrams.loss == Loss(2000, 1960, 7)


def test_netperf() -> None:
    found = netperf.parse(NETPERF)
    assert found.bits_per_second == pytest.approx(941.37e6)
    assert found.retransmits == 12
    with pytest.raises(TrialError, match="netperf"):
        netperf.parse(NETPERF.replace("10^6bits/s", "furlongs"))


def test_sockperf() -> None:
    found = sockperf.parse(SOCKPERF).latency
    assert found is not None
    assert (found.min, found.p50, found.p99, found.p999, found.max) == (
        18.75, 26.5, 48.5, 95.125, 310.25,
    )  # fmt: skip
    assert found.count == 20000


def test_perftest() -> None:
    found = ib_send_bw.parse(PERFTEST)
    assert found.bits_per_second == pytest.approx(39.08e9)
    assert found.details["msg_rate_mpps"] == 0.074547


def test_pktgen() -> None:
    found = pktgen.parse(PKTGEN)
    assert found.details == {"pps": 828853, "packets": 4_000_000, "size": 60, "errors": 0}
    assert found.bits_per_second == 397849440
    with pytest.raises(TrialError, match="Result: Idle"):
        pktgen.parse("Params: count 1\nResult: Idle")


def test_netsniff() -> None:
    assert netsniff.parse(NETSNIFF) == {"packets": 202900, "dropped": 30}


def test_a_flow_is_its_connections_added_up() -> None:
    def entry(remote: str, acked: float, again: float) -> Entry:
        rates = SimpleNamespace(bytes_acked=acked, bytes_received=None, total_retrans=again)
        now = SimpleNamespace(remote=remote, rtt=200, cwnd=10, mss=1448, congestion="cubic",
                              app_limited=False)  # fmt: skip
        return Entry(now, rates)

    fresh = Entry(entry("h", 1, 1).now)
    entries = [entry("h", 1e6, 1), entry("h", 2e6, 0), entry("other", 9e9, 9), fresh]
    found = flow.second(entries, "h")
    assert (found["connections"], found["bits"], found["retransmits"]) == (2, 24e6, 1)
    assert flow.second(entries, "nobody") == {}
    whole = flow.fold([{"seconds": 1.0, **found}, {"seconds": 1.0, **found}], "h")
    assert whole.bits_per_second == 24e6
    assert whole.retransmits == 2
    with pytest.raises(TrialError, match="no TCP connection to h"):
        flow.fold([], "h")


LETTERS = "0123456789.,-=e nNaif\n"
PARSERS: list[tuple[Callable[[str], object], str]] = [
    (lambda text: nuttcp.parse(text, Options()), NUTTCP),
    (lambda text: iperf.parse(text, Options()), IPERF),
    (lambda text: iperf.parse(text, Options(udp=True)), IPERF_UDP),
    (netperf.parse, NETPERF),
    (sockperf.parse, SOCKPERF),
    (ib_send_bw.parse, PERFTEST),
    (pktgen.parse, PKTGEN),
    (netsniff.parse, NETSNIFF),
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
    with pytest.raises(TrialError, match=r"said nothing|no transfer"):
        PARSERS[number][0]("")
