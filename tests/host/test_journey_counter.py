"""The counter of the journey: what it tells of a key, and when its programs rest."""

from pathlib import Path

import pytest

from nettop.host.bpf import btf, call, counting, delays, journey

pytestmark = pytest.mark.skipif(
    not Path("/sys/kernel/btf/vmlinux").exists(), reason="this kernel does not describe its types"
)


class Kernel:
    """The counter without a kernel: its clock, and how many programs ran."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.runs, self.opened, self.counts = 0.0, 0, 0, dict[bytes, int]()
        monkeypatch.setattr("time.monotonic", lambda: self.now)
        monkeypatch.setattr(journey, "_events", lambda: self.runs)
        monkeypatch.setattr("os.close", lambda _: None)
        monkeypatch.setattr(counting, "here", lambda: 1)
        for name in ("table", "program", "attach"):
            monkeypatch.setattr(call, name, lambda *_, **__: self._open())
        monkeypatch.setattr(call, "put", lambda *_: None)
        monkeypatch.setattr(call, "contents", lambda *_: self.counts)

    def _open(self) -> int:
        self.opened += 1
        return 99


def test_the_programs_rest_while_they_have_had_more_than_their_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel(monkeypatch)
    counter = journey.Counter()
    assert not counter.absent
    first = kernel.opened

    def after(seconds: float, runs: int = 0) -> str:
        kernel.now += seconds
        kernel.runs += runs
        return counter.text().splitlines()[1]

    share = int(journey.SHARE / journey.COST)  # runs in a second
    assert after(1.0, share) == "1.000 0"
    assert after(1.0, 3 * share) == "2.000 0"  # four seconds' worth in two: it rests from now on
    assert after(1.0) == "2.000 0"
    assert kernel.opened == first
    assert after(1.0) == "2.000 0"  # and looks again
    assert kernel.opened > first
    assert after(1.0) == "3.000 0"
    counter.close()


def test_a_key_is_a_line_and_what_is_elsewhere_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel(monkeypatch)
    pack = delays.KEY.pack
    kernel.counts = {
        pack(1, 40, 0, 3, 0, 0, b""): 5, pack(2, 41, 443, 2, 77, 1, b"a {b\n"): 6,
        pack(2, 41, 80, 2, 78, 9, b"x"): 7, pack(2, 41, 81, 2, 79, 9, b"y"): 1,
        pack(4, 41, 0, 0, 0, 1, b""): 8, call.REST * delays.SIZE: 9,
    }  # fmt: skip
    counter = journey.Counter()
    counter.absent = {"woken": "this kernel has no tracepoint sched_wakeup"}
    assert counter.text().splitlines()[1:] == [
        "0.000 9",
        "queue 41 8 here - - - -",
        "socket 41 8 elsewhere - - - -",
        "socket 41 6 here 443 2 77 a ?b?",
        "softirq-rx 40 5 host - 3 - -",
        "!woken this kernel has no tracepoint sched_wakeup",
    ]
    counter.close()


def test_the_end_of_a_stage_is_attached_before_its_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(monkeypatch)
    attached: list[str] = []

    def program(_code: bytes, name: str, _type: int) -> int:
        attached.append(name.removeprefix("nettop_"))
        return 97

    monkeypatch.setattr(call, "program", program)
    journey.Counter().close()
    for begin, end in (points for points in journey.POINTS.values() if len(points) == 2):
        assert attached.index(end[-8:]) < attached.index(begin[-8:])


def test_a_point_that_the_kernel_lacks_takes_its_stage_and_all_of_them_the_journey(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Kernel(monkeypatch)
    lacking = {"sock_recv_length"}
    number = btf.Types.tracepoint

    def tracepoint(types: btf.Types, name: str) -> int:
        if name in lacking:
            raise KeyError(f"btf_trace_{name}")
        return number(types, name)

    monkeypatch.setattr(btf.Types, "tracepoint", tracepoint)
    counter = journey.Counter()
    assert counter.absent == {"datagram": "this kernel has no sock_recv_length"}
    counter.close()
    lacking |= {point for points in journey.POINTS.values() for point in points}
    with pytest.raises(OSError, match="this kernel has no net_dev_start_xmit"):
        journey.Counter()
