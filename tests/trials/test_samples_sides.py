"""Samples of both ends: what is taken, between which seconds, and the progress they make."""

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from calls import keeping

from nettop.trials import samples
from nettop.trials.end import ANSWER, PeerError
from nettop.trials.result import Options, Side


def point(at: float, **more: Any) -> Any:
    """A sample of a host that receives 1000 packets of 1514 bytes a second and is 75 % busy."""
    n = int(at * 1000)
    return {
        "at": at, "arrived": at, "cores": {"10": [0, 0, n * 3, n, 0, 0, 0, 0], "2": [n] + [0] * 7},
        "interfaces": {"eth0": [1514 * n, n, 0, 0, 0, 0, 100 * n, 0, 0, 0], "lo": [0] * 10},
        "softnet": [[n, n // 10, 0], [n, 0, n // 4]],
        "totals": {"TcpOutSegs": 2 * n, "TcpRetransSegs": n // 100},
        "interrupts": [n, 2 * n], **more,
    }  # fmt: skip


class Ended:
    """A sampler that sends these messages; an exception is raised."""

    where = "at ssh b"

    def __init__(self, *messages: Any) -> None:
        self.queue = list(messages)
        self.waits: list[float] = []
        self.stopped = 0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def receive(self, seconds: float) -> Any:
        self.waits.append(seconds)
        one = self.queue.pop(0) if self.queue else TimeoutError()
        if isinstance(one, Exception):
            raise one
        return one

    def messages(self, _seconds: float) -> Any:
        yield from self.queue

    def stop(self) -> None:
        self.stopped += 1


def begun(here: Ended, there: Ended | None) -> samples.Samples:
    found = samples.Samples()
    started: list[Any] = []

    def peer(end: Ended) -> Any:
        return SimpleNamespace(start=keeping(started, end))

    with ExitStack() as stack:
        found.begin(stack, peer(here), peer(there) if there is not None else None)
    assert started == [("sample", {})] * (1 + (there is not None))
    return found


ABOUT: Any = {"links": {}, "host": "h"}


def test_both_samplers_have_sent_a_sample_before_it_begins() -> None:
    found = begun(Ended(ABOUT, point(0)), Ended(ABOUT, {"other": 1}, point(0)))
    assert found.about == {"here": ABOUT, "there": ABOUT}
    assert {name: len(points) for name, points in found.points.items()} == {"here": 1, "there": 1}
    assert found.ends["there"].waits == [ANSWER] * 3  # type: ignore[attr-defined]
    assert list(begun(Ended(ABOUT, point(0)), None).ends) == ["here"]


@pytest.mark.parametrize(
    ("last", "said"), [(None, "ended at once"), (TimeoutError(), "does not answer")]
)
def test_a_sampler_that_ends_or_is_silent_is_one_sentence(last: Any, said: str) -> None:
    with pytest.raises(PeerError, match=f"^the sampler at ssh b {said}$"):
        begun(Ended(ABOUT, point(0)), Ended(last))


def test_the_last_samples_are_read_when_both_have_stopped() -> None:
    here, there = Ended(ABOUT, point(0)), Ended(ABOUT, point(0))
    found = begun(here, there)
    here.queue = [point(1), {"links": {}}]
    there.queue = [point(1), point(2)]
    found.finish()
    assert (here.stopped, there.stopped) == (1, 1)
    assert [len(found.points[name]) for name in ("here", "there")] == [2, 3]


def test_progress_is_of_the_busiest_interface_and_both_hosts_cores() -> None:
    here, there = Ended(ABOUT, point(0)), Ended(ABOUT, point(0))
    found = begun(here, there)
    there.queue = [point(1), point(2)]
    here.queue = [
        point(1), point(1), point(3, interfaces={"eth0": [0, 0, 0, 0, 0, 0, 900_000] + [0] * 3,
                                                "new0": [9**9] * 10}),
    ]  # fmt: skip
    told = list(found.progress(Options(), 0.5, 5.0))
    assert [(p.second, p.of, p.what) for p in told] == [(0.5, 5.0, "send"), (2.5, 5.0, "send")]
    assert [p.bits_per_second for p in told] == [8 * 1514 * 1000, 8 * 800_000 / 2]
    assert {p.busy for p in told} == {(100.0, 75.0)}  # cores in the order of their numbers
    assert {p.busy_there for p in told} == {(100.0, 75.0)}
    assert {p.retransmits for p in told} == {30}
    here.queue = [point(4, interfaces={}, totals={"TcpRetransSegs": 0})]
    (last,) = found.progress(Options(), 5.0, 5.0)
    assert (last.second, last.bits_per_second, last.retransmits) == (0.0, None, 0)
    (other,) = begin_again(there, here).progress(Options(reverse=True), 0.0, 5.0)
    assert other.retransmits is None  # the other end has told one sample only
    assert other.busy_there == ()


def begin_again(there: Ended, here: Ended) -> samples.Samples:
    here.queue, there.queue = [ABOUT, point(0)], [ABOUT, point(0)]
    found = begun(here, there)
    here.queue = [point(1)]
    return found


def test_before_traffic_samples_are_taken_but_no_progress_is_made() -> None:
    here = Ended(ABOUT, point(0))
    found = begun(here, None)
    here.queue = [point(1)]
    assert list(found.progress(Options(), None, 5.0)) == []
    assert len(found.points["here"]) == 2
    assert list(samples.Samples().progress(Options(), 0.0, 5.0)) == []
    here.queue = [point(2)]
    (one,) = found.progress(Options(bidirectional=True), 0.0, 5.0)
    assert (one.what, one.second) == ("both", 2.0)


def test_retransmits_need_the_counter_of_the_sender() -> None:
    here = Ended(ABOUT, point(0, totals={}))
    found = begun(here, None)
    here.queue = [point(1)]
    (one,) = found.progress(Options(), 0.0, 5.0)
    assert one.retransmits is None


def sides(times: list[float], begun_at: float | None, **options: Any) -> Side:
    found = samples.Samples()
    eth0: Any = {"mtu": 1500, "speed": 1000, "driver": "igb", "subsystem": "pci"}
    found.about["here"] = {"links": {"eth0": eth0}, "host": "h", "kernel": "6.1"}
    found.points["here"] = [point(at) for at in times]
    here, there = found.sides(begun_at, Options(**options))
    assert there == Side()
    return here


def test_rates_are_of_the_measured_time_and_counts_of_all() -> None:
    """A burst before the warm-up has ended is counted, and is in no rate."""
    times = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    here = sides(times, 1.0, seconds=2, warmup=1)
    eth0 = here.interfaces["eth0"]
    assert (here.host, here.kernel, list(here.interfaces)) == ("h", "6.1", ["eth0"])
    assert eth0 == {
        "rx_bytes": 1514 * 5000, "rx_packets": 5000, "rx_errors": 0, "rx_dropped": 0, "rx_fifo": 0,
        "rx_frame": 0, "tx_bytes": 500_000, "tx_packets": 0, "tx_errors": 0, "tx_dropped": 0,
        "mtu": 1500, "speed": 1000, "driver": "igb", "counts": "frames",
        "rx_bits_per_second": 8 * 1_514_000, "tx_bits_per_second": 800_000,
        "rx_packets_per_second": 1000, "tx_packets_per_second": 0,
        "rx_payload_bytes": 5000 * 1448, "tx_payload_bytes": 500_000,
        "rx_wire_bits_per_second": 8 * 1538 * 1000, "tx_wire_bits_per_second": 800_000,
    }  # fmt: skip
    assert here.totals == {
        "TcpOutSegs": 10_000, "TcpRetransSegs": 50, "SoftnetProcessed": 10_000,
        "SoftnetDropped": 500, "SoftnetSqueezed": 1250, "Interrupts": 15_000,
    }  # fmt: skip
    assert [core["cpu"] for core in here.cores] == [2, 10]


@pytest.mark.parametrize(
    ("times", "begun_at", "seconds"),
    [
        ([0, 1.91, 4.09, 9], 1.0, 2.18),  # a tenth of a second beside the measured time counts
        ([0, 1.89, 4.09, 9], 1.0, 9),  # else fewer than two are left, and all count
        ([0, 1.91, 4.11, 9], 1.0, 9),
        ([1, 2, 3.5, 9], None, 1.5),  # without traffic, from the first sample on
    ],
)
def test_the_measured_time_has_a_tenth_of_tolerance(
    monkeypatch: pytest.MonkeyPatch, times: list[float], begun_at: float | None, seconds: float
) -> None:
    used: list[float] = []
    real = samples._interfaces

    def interfaces(begin: Any, end: Any, first: Any, last: Any, links: Any, v6: bool) -> Any:
        used.append(last["at"] - first["at"])
        assert (begin["at"], end["at"]) == (times[0], times[-1])
        return real(begin, end, first, last, links, v6)

    monkeypatch.setattr(samples, "_interfaces", interfaces)
    sides(times, begun_at, seconds=2, warmup=1)
    assert used == [pytest.approx(seconds)]


def test_fewer_than_two_samples_are_no_side() -> None:
    assert sides([0.0], 0.0) == sides([], 0.0) == Side()
    assert sides([0.0, 1.0], 0.0) != Side()


def test_counters_that_were_reset_count_nothing() -> None:
    found = samples._cores({"0": [9] * 8, "1": [0] * 8}, {"0": [0] * 8, "1": [1] + [0] * 7})
    assert [core["cpu"] for core in found] == [1]
    assert samples._differences(("a", "b"), (5, 1), (3, 4)) == {"a": 0, "b": 3}
    reset = samples._totals(
        {"totals": {}, "softnet": [[9, 9, 9]], "interrupts": [9]},
        {"totals": {"TcpOutSegs": 1}, "softnet": [[1, 1, 1]], "interrupts": [1]},
    )
    assert set(reset.values()) == {0.0}
    assert "TcpOutSegs" not in reset


def test_settings_in_force_are_as_far_as_they_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from nettop import settings

    def read(_source: Any, address: Any) -> str:
        if address.kind != "link":
            raise LookupError
        return "1500"

    monkeypatch.setattr(settings, "read", read)
    found = samples.settings_in_force("eth0")
    assert found.pop("link.mtu@eth0") == "1500"
    assert "sysctl.net.ipv4.tcp_rmem" in found
    assert all(name.startswith("sysctl.net.") and value for name, value in found.items())
    assert set(samples.settings_in_force()) == set(found)
