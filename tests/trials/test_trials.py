"""Trials: what tools print, how both ends' messages fold into a result, and what is judged."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop import trials
from nettop.trials import checks, results, samples
from nettop.trials.far import sample
from nettop.trials.far.schema import LinkState, Message
from nettop.trials.result import Interval, Loss, Measured, Options, Side
from nettop.trials.run import TrialError
from nettop.trials.tools import bulk, iperf3


def test_tools_are_found_by_listing() -> None:
    assert {"iperf3", "bulk"} <= set(trials.names())
    for name in trials.names():
        module = trials.tool(name)
        assert name == module.TOOL
        assert module.HELP
        assert isinstance(module.PACKAGE, str)
        assert callable(module.measure)
    with pytest.raises(KeyError):
        trials.tool("no-such-tool")


# iperf3


def second(start: float, rate: float, *, sender: bool, key: str = "sum") -> dict[str, Any]:
    return {key: {"start": start, "end": start + 1, "seconds": 1.0, "bytes": rate / 8,
                  "bits_per_second": rate, "sender": sender}}  # fmt: skip


def documents(**options: Any) -> tuple[str, str]:
    """What both ends of a three-second run print: the sender claims more than arrives."""
    sent = {"bytes": 3.3e9 / 8, "bits_per_second": 1.1e9, "seconds": 3.0, "retransmits": 7}
    got = {"bytes": 3.0e9 / 8, "bits_per_second": 1.0e9, "seconds": 3.0}
    near = {
        "start": {"version": "iperf 3.12"},
        "intervals": [second(i, 1.1e9, sender=True) for i in range(3)],
        "end": {"sum_sent": sent, "sum_received": got, "sender_tcp_congestion": "cubic"},
    }
    far = {
        "start": {"version": "iperf 3.12"},
        "intervals": [second(i, (i + 1) * 0.5e9, sender=False) for i in range(3)],
        "end": {"sum_received": {**got, **options}},
    }
    return json.dumps(near), json.dumps(far)


def test_the_receivers_figure_counts_and_the_warm_up_does_not() -> None:
    found = iperf3.parse(*documents(), Options(seconds=2, warmup=1))
    assert found.version == "iperf 3.12"
    assert [i.bits_per_second for i in found.intervals] == [1.0e9, 1.5e9]
    assert found.bits_per_second == 1.25e9
    assert found.sent_bits_per_second == 1.1e9
    assert found.retransmits == 7
    assert found.bytes == 375_000_000
    assert found.details["sender_tcp_congestion"] == "cubic"


def test_without_the_server_the_total_is_the_receivers() -> None:
    found = iperf3.parse(documents()[0], "", Options(seconds=2, warmup=1))
    assert found.bits_per_second == 1.0e9
    assert found.intervals == ()
    assert found.details["receiver_intervals"] is False


def test_both_directions_are_added() -> None:
    near = {
        "intervals": [
            {**second(0, 1e9, sender=True), **second(0, 2e9, sender=False, key="sum_bidir_reverse")}
        ],
        "end": {"sum_received": {"bytes": 1, "bits_per_second": 3e9, "seconds": 1}},
    }
    far = {"intervals": [{**second(0, 3e9, sender=False),
                          **second(0, 2e9, sender=True, key="sum_bidir_reverse")}]}  # fmt: skip
    found = iperf3.parse(json.dumps(near), json.dumps(far), Options(warmup=0, bidirectional=True))
    assert found.bits_per_second == 5e9


def test_lost_datagrams_are_counted() -> None:
    near, far = documents(packets=1000, lost_packets=25)
    found = iperf3.parse(near, far, Options(udp=True))
    assert found.loss == Loss(1000, 975)
    assert found.loss.percent == 2.5
    assert iperf3.parse(near, far, Options()).loss is None


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('{"error": "unable to connect to server: Connection refused"}', "Connection refused"),
        ("iperf3: unrecognized option '--bidir'", "unrecognized option"),
        ("", "no output"),
        ("{}", "no transfer"),
        ('{"start": {}, "end"', "iperf3"),
    ],
)
def test_what_iperf3_refuses_is_one_sentence(said: str, sentence: str) -> None:
    with pytest.raises(TrialError, match=sentence):
        iperf3.parse(said, "", Options())


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(-1e15, 1e15) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "start end intervals sum sum_sent sum_received streams sender seconds bytes "
                "bits_per_second retransmits packets lost_packets error version".split()
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(json_values, json_values, st.booleans())
def test_any_json_is_a_measurement_or_one_sentence(near: Any, far: Any, udp: bool) -> None:
    try:
        found = iperf3.parse(json.dumps(near), json.dumps(far), Options(udp=udp))
    except TrialError as error:
        assert str(error)  # noqa: PT017
    else:
        assert found.bits_per_second is None or isinstance(found.bits_per_second, float)


@given(st.integers(0, 400))
def test_truncated_output_is_a_measurement_or_one_sentence(cut: int) -> None:
    near, far = documents()
    try:
        iperf3.parse(near[:-cut] if cut else near, far, Options())
    except TrialError as error:
        assert "iperf3" in str(error)  # noqa: PT017


def test_options_become_iperf3s_own() -> None:
    o = Options(to="10.0.0.2", seconds=9, warmup=1, streams=4, reverse=True, length=65536,
                window=262144, mss=1400, congestion="cubic", zero_copy=True, rate=8e9,
                cpu_here=(2,), cpu_there=(3,))  # fmt: skip
    assert " ".join(iperf3.client(o, 5300)) == (
        "iperf3 -c 10.0.0.2 -p 5300 -J -t 10 -P 4 -R -b 2000000000 -l 65536 -w 262144 -M 1400 "
        "-C cubic -Z -A 2/3"
    )
    assert iperf3.client(Options(udp=True), 1)[-3:] == ["-u", "-b", "0"]
    assert "--bidir" in iperf3.client(Options(bidirectional=True, reverse=True), 1)


# bulk


# samples of both ends


def test_sampled_files_are_understood() -> None:
    stat = "cpu  9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu12 1 2 3 4\nintr 5\n"
    assert sample.cores(stat) == {"0": [1, 2, 3, 4, 5, 6, 7, 8], "12": [1, 2, 3, 4, 0, 0, 0, 0]}
    dev = "Inter-| x\n face |b\n eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    assert sample.interfaces(dev) == {"eth0": [1, 2, 3, 4, 5, 6, 9, 10, 11, 12]}
    assert sample.softnet("0000000a 00000001 00000002 0\nzz\n") == [[10, 1, 2]]
    snmp = "Tcp: InSegs OutSegs RetransSegs\nTcp: 5 6 -1\nUdp: X\n"
    assert sample.totals(snmp, sample.SNMP) == {
        "TcpInSegs": 5,
        "TcpOutSegs": 6,
        "TcpRetransSegs": -1,
    }
    netstat = "TcpExt: SyncookiesSent TCPDSACKRecvSegs\nTcpExt: 1 2\nIpExt: A\nIpExt: 3\n"
    assert sample.totals(netstat, sample.NETSTAT) == {"TcpExtTCPDSACKRecvSegs": 2}
    assert sample.listed("0-2,5\n") == {0, 1, 2, 5}
    assert sample.listed("") == sample.listed("x-y") == set()
    assert sample.interrupts("  CPU0 CPU3\n 1: 5 6 x\n NMI: 9 9\n 20: 1 2\n") == [6, 8]


@given(st.text(alphabet="cpu0123456789 :\nTUdpInSegseth|x", max_size=200))
def test_any_text_is_sampled_without_an_exception(text: str) -> None:
    for read in (sample.cores, sample.interfaces, sample.softnet, sample.interrupts):
        read(text)
    sample.totals(text, sample.SNMP)


def point(at: float, bytes_: int, packets: int, busy: int, idle: int) -> Message:
    return {
        "at": at, "arrived": at, "cores": {"0": [0, 0, busy, idle, 0, 0, 0, 0]},
        "interfaces": {"eth0": [bytes_, packets, 0, 0, 0, 0, 0, 0, 0, 0]},
        "softnet": [[packets, 0, 0]], "totals": {"TcpOutSegs": packets}, "interrupts": [packets],
    }  # fmt: skip


def taken(link: LinkState) -> samples.Samples:
    found = samples.Samples()
    found.about["here"] = {"links": {"eth0": {"mtu": 1500, **link}}, "kernel": "6.1", "host": "h"}
    found.points["here"] = [
        point(at, int(at * 1_514_000), int(at * 1000), int(at * 75), int(at * 25))
        for at in range(5)
    ]
    return found


def test_a_side_is_what_happened_in_the_measured_time() -> None:
    real: LinkState = {"speed": 1000, "driver": "igb", "subsystem": "pci"}
    here, there = taken(real).sides(1.0, Options(seconds=2, warmup=1))
    assert there == Side()
    assert (here.kernel, here.host) == ("6.1", "h")
    assert here.cores == ({"cpu": 0, "user": 0.0, "nice": 0.0, "system": 75.0, "idle": 25.0,
                           "iowait": 0.0, "irq": 0.0, "softirq": 0.0, "steal": 0.0},)  # fmt: skip
    eth0 = here.interfaces["eth0"]
    assert eth0["rx_packets"] == 4000
    assert eth0["rx_packets_per_second"] == 1000
    assert eth0["rx_payload_bytes"] == 4000 * 1448
    assert eth0["rx_wire_bits_per_second"] == 8 * 1538 * 1000
    over_ipv6, _ = taken(real).sides(1.0, Options(to="fd00::1", seconds=2, warmup=1))
    assert over_ipv6.interfaces["eth0"]["rx_payload_bytes"] == 4000 * 1428
    assert here.totals["TcpOutSegs"] == 4000
    assert here.totals["SoftnetProcessed"] == 4000


@pytest.mark.parametrize("link", [{}, {"driver": "virtio_net", "subsystem": "virtio"}])
def test_super_packets_have_no_wire_rate(link: LinkState) -> None:
    here, _ = taken(link).sides(1.0, Options(seconds=2, warmup=1))
    assert here.interfaces["eth0"]["counts"] == "super-packets"
    assert "rx_wire_bits_per_second" not in here.interfaces["eth0"]


def test_progress_is_told_for_each_sample_here() -> None:
    samples = taken({})
    queued = samples.points["here"][1:]
    samples.points["here"] = samples.points["here"][:1]

    class Quiet:
        def receive(self, _seconds: float) -> Message:
            if not queued:
                raise TimeoutError
            return queued.pop(0)

    samples.ends["here"] = Quiet()  # type: ignore[assignment]
    told = list(samples.progress(Options(), 0.0, 5.0))
    assert [p.bits_per_second for p in told] == [8 * 1_514_000] * 4
    assert told[0].busy == (75.0,)
    assert told[-1].of == 5.0


# what is judged


def side(counts: str = "frames", **more: Any) -> Side:
    eth0: Any = {"rx_bytes": 10, "tx_bytes": 0, "rx_payload_bytes": 1_000_000,
                 "tx_payload_bytes": 0, "mtu": 1500, "speed": 1000, "counts": counts,
                 **more}  # fmt: skip
    return Side(interfaces={"eth0": eth0})


def judged(measured: Measured, options: Options | None = None, **more: Any) -> dict[str, bool]:
    found = checks.judge(options or Options(), measured, side(**more), side(**more))
    assert all(check.because for check in found)
    return {check.name: check.ok for check in found}


@pytest.mark.parametrize(
    ("rate", "ok"),
    [
        (941.4e6, True),
        (949.2e6, True),  # without timestamps
        (962e6, False),  # above what gigabit carries at MTU 1500
        (9e6, False),  # below a hundredth of the link
        (0.0, False),
    ],
)
def test_a_rate_must_be_possible(rate: float, ok: bool) -> None:
    assert judged(Measured(bits_per_second=rate))["possible"] is ok


def test_a_virtual_device_has_no_line_rate() -> None:
    assert judged(Measured(bits_per_second=40e9), counts="super-packets")["possible"]


def test_what_came_twice_is_no_payload() -> None:
    """iperf3 over veth, 10 Gbit/s: 1 % was sent again and had arrived already, as DSACK told."""
    twice = {"TcpExtTCPDSACKRecvSegs": 20.0}
    measured = Measured(bits_per_second=9e8, bytes=971_000)
    for options in (Options(), Options(reverse=True)):
        sides = [side(), replace(side(), totals=twice)]
        here, there = sides if options.reverse else reversed(sides)
        found = {c.name: c for c in checks.judge(options, measured, here, there)}
        assert found["counters"].ok
        assert "+0.00 % of the tool's payload plus 2.98 %" in found["counters"].because
    unseen = checks.judge(Options(), measured, side(), side())
    assert not next(c for c in unseen if c.name == "counters").ok


def test_the_sender_s_interface_counts_where_the_receiver_s_is_unknown() -> None:
    sends = side(rx_payload_bytes=0, tx_payload_bytes=1_000_000, tx_bytes=10)
    for size, agrees in ((1_000_000, True), (900_000, False)):
        measured = Measured(bits_per_second=9e8, bytes=size)
        for options, sides in (
            (Options(), (sends, Side())),
            (Options(reverse=True), (Side(), sends)),
        ):
            found = {c.name: c.ok for c in checks.judge(options, measured, *sides)}
            assert found["counters"] is agrees
    unknown = checks.judge(Options(), Measured(bits_per_second=9e8, bytes=1), Side(), Side())
    assert "counters" not in {c.name for c in unknown}


def test_unsteady_seconds_are_to_be_repeated() -> None:
    rates = [Interval(i, 1, rate) for i, rate in enumerate([9e8, 6e8, 9e8])]
    assert not judged(Measured(bits_per_second=8e8, intervals=tuple(rates)))["steady"]


def test_a_rate_beyond_its_window_is_a_fault() -> None:
    fast = Measured(bits_per_second=9e8, details={"min_rtt_us": 62700})
    assert not judged(fast, Options(window=87380))["window"]
    states = [{"rtt": 900, "min_rtt": 40, "cwnd": 9, "mss": 1448}]
    assert bulk._state(states)["min_rtt_us"] == 40
    del states[0]["min_rtt"]  # an old kernel
    assert bulk._state(states)["min_rtt_us"] == 900
    assert judged(fast, Options(window=8 << 20))["window"]


# the store


def test_results_are_kept_listed_and_loaded(tmp_path: Path) -> None:
    first = results.keep(
        "test", {"at": 1e9, "tool": "bulk", "to": "a", "bits_per_second": 5}, tmp_path
    )
    second_ = results.keep("test", {"at": 1e9, "tool": "bulk"}, tmp_path)
    assert first == "20010909-014640-test"
    assert second_ == "20010909-014640-test-1"
    assert results.names(tmp_path) == (first, second_)
    assert results.load(first, tmp_path)["tool"] == "bulk"
    assert results.headline(results.load(first, tmp_path)) == ("bulk to a", 5, "bit/s")
    (tmp_path / "broken.json").write_text("{")
    assert len(list(results.every(tmp_path))) == 2
    for name in ("broken", "absent", "../etc/passwd"):
        with pytest.raises(LookupError):
            results.load(name, tmp_path)


def test_what_cannot_be_kept_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert results.keep("test", {}, tmp_path / "file") is None


def test_what_was_learned_is_found_by_setting(tmp_path: Path) -> None:
    results.keep("prove", {"changes": [{"setting": "ring.rx@eth0"}], "verdict": "better"}, tmp_path)
    results.keep("sweep", {"setting": "ring.rx@eth0"}, tmp_path)
    results.keep("test", {"setting": "ring.rx@eth0"}, tmp_path)
    assert len(results.learned("ring.rx@eth0", tmp_path)) == 2
    assert results.learned("ring.tx@eth0", tmp_path) == []
