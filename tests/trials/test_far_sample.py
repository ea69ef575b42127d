"""The sampling program: what it reads of a host, and when."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from far_program import Clock, inside
from hypothesis import given
from hypothesis import strategies as st

from nettop.trials.far import sample

counts = st.integers(0, 1 << 40)


@given(st.lists(counts, min_size=12, max_size=16), st.sampled_from(["eth0", "eth0:1", "lo"]))
def test_interfaces_are_received_then_sent(row: list[int], name: str) -> None:
    text = f"Inter-|   Receive\n face |bytes\n  {name}: {' '.join(map(str, row))}\n bad: 1 2\n"
    assert sample.interfaces(text) == {name: [*row[:6], *row[8:12]]}
    few = " ".join(map(str, row[:11]))
    assert sample.interfaces(f"eth0: {few}\n{few} 1\neth1: {few} x") == {}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0000000a 00000001 00000002 0\n", [[10, 1, 2]]),
        ("ff 0 0\n1 2 3\n", [[255, 0, 0], [1, 2, 3]]),
        ("ff 0\n\nzz 1 2\n1 2 3\n", [[1, 2, 3]]),
        ("", []),
    ],
)
def test_softnet_rows_are_hexadecimal_and_whole(text: str, rows: list[list[int]]) -> None:
    assert sample.softnet(text) == rows


def test_columns_are_found_by_their_names() -> None:
    text = "Ip: A B\nIp: 1 2\nTcp: B A C\nTcp: 1 -2 x\nUdp: A\nUdpLite: 5\nTcp: A\n"
    wanted = {"Tcp": ["A", "B", "C"], "Udp": ["A"]}
    assert sample.totals(text, wanted) == {"TcpB": 1, "TcpA": -2}
    assert sample.totals("Tcp: A", wanted) == sample.totals("", wanted) == {}


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), max_size=5))
def test_interrupts_are_summed_by_core(rows: list[list[int]]) -> None:
    head = "           CPU0       CPU1  CPU4\n"
    lines = [
        f"{n:4}: {' '.join(map(str, row))}  PCI-MSI 5-edge  eth0" for n, row in enumerate(rows)
    ]
    text = head + "\n".join([*lines, " NMI: 9 9 9 Non-maskable", " ERR: 7"])
    assert sample.interrupts(text) == [sum(column) for column in zip([0] * 3, *rows, strict=True)]


def test_a_short_row_of_interrupts_ends_at_its_words() -> None:
    assert sample.interrupts("CPU0 CPU1\n 5: 3 PCI 4\n 6: 1 2 9\n") == [4, 2]
    assert sample.interrupts("") == []


@given(st.sets(st.integers(0, 300)))
def test_a_list_of_cpus_is_read_back(cpus: set[int]) -> None:
    assert sample.listed(",".join(map(str, sorted(cpus))) + "\n") == cpus
    if cpus:
        low, high = min(cpus), max(cpus)
        assert sample.listed(f"{low}-{high}") == set(range(low, high + 1))
    assert sample.listed("3,x,4-y,-5,7") == {3, 7}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that serves as / of the program."""

    def below(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda path, *words, **options: call(f"{tmp_path}{path}", *words, **options)

    isdir = SimpleNamespace(isdir=below(os.path.isdir), basename=os.path.basename)
    fake = SimpleNamespace(listdir=below(os.listdir), readlink=below(os.readlink), path=isdir)
    monkeypatch.setattr(sample, "os", fake)
    monkeypatch.setattr(sample, "open", below(open), raising=False)
    return tmp_path


def file(root: Path, path: str, text: str = "") -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def test_links_are_as_sysfs_shows_them(root: Path) -> None:
    assert sample.links() == {}
    file(root, "sys/class/net/eth0/mtu", "9000\n")
    file(root, "sys/class/net/eth0/speed", "10000\n")
    file(root, "sys/class/net/veth1/mtu", "1500\n")
    file(root, "sys/class/net/veth1/speed", "-1\n")
    device = root / "sys/class/net/eth0/device"
    device.mkdir()
    (device / "driver").symlink_to("../../bus/pci/drivers/igb")
    (device / "subsystem").symlink_to("../../bus/pci")
    file(root, "sys/class/net/odd/operstate", "up\n")
    assert sample.links() == {
        "eth0": {"mtu": 9000, "speed": 10000, "driver": "igb", "subsystem": "pci"},
        "veth1": {"mtu": 1500}, "odd": {},
    }  # fmt: skip


def test_cores_with_interrupts_of_nics_are_avoided(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sample.interrupted() == set()
    for number in ("24", "25"):
        file(root, f"sys/class/net/eth0/device/msi_irqs/{number}")
    file(root, "sys/class/net/lo/mtu", "65536")
    file(root, "proc/irq/24/effective_affinity_list", "1-2\n")
    file(root, "proc/irq/25/effective_affinity_list", "5\n")
    assert sample.interrupted() == {1, 2, 5}
    moved: list[Any] = []
    fake = getattr(sample, "os")  # noqa: B009 - the stand-in of `root`
    fake.sched_setaffinity = lambda *words: moved.append(words)
    for usable, left in (({0, 1, 2}, [(0, {0})]), ({1, 5}, [])):
        fake.sched_getaffinity = lambda number, usable=usable: usable if number == 0 else set()
        moved.clear()
        sample.avoid_interrupts()
        assert moved == left

    def refuse(*_: Any) -> None:
        raise OSError

    fake.sched_getaffinity = refuse
    sample.avoid_interrupts()


def test_a_file_that_cannot_be_read_is_empty(root: Path) -> None:
    assert sample.read("/proc/absent") == ""
    file(root, "proc/odd").write_bytes(b"a\xff")
    assert sample.read("/proc/odd") == "a\ufffd"
    assert sample.target("/proc/odd") == ""


FILES = {
    "/proc/stat": "cpu0 1 2 3 4\n",
    "/proc/net/dev": " eth0: 1 2 3 4 5 6 7 8 9 10 11 12\n",
    "/proc/net/softnet_stat": "1 2 3\n",
    "/proc/net/snmp": "Tcp: OutSegs InSegs RetransSegs X\nTcp: 1 2 3 4\n"
    "Udp: InDatagrams RcvbufErrors X\nUdp: 5 6 7\n",
    "/proc/net/netstat": "TcpExt: TCPDSACKRecvSegs X\nTcpExt: 7 8\n",
    "/proc/interrupts": "CPU0\n1: 9\n",
}


@pytest.mark.parametrize(
    ("options", "took", "times"),
    [
        ({}, 0.0, [100, 101, 102, 102.5]),
        ({"interval": 0.5}, 0.0, [100, 100.5, 101, 101.5]),
        ({}, 0.25, [100, 101, 102, 102.75]),  # a sample that takes long does not delay the next
        ({}, 1.5, [100, 101.5, 103, 104.5]),  # one that takes too long is not followed by two
    ],
)
def test_samples_are_due_in_even_steps_and_the_last_follows_stop(
    monkeypatch: pytest.MonkeyPatch, options: Any, took: float, times: list[float]
) -> None:
    clock = Clock(100.0)
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        assert seconds >= 0
        stopped = len(waits) == 3
        clock.now += min(seconds, 0.5) if stopped else seconds
        return stopped

    def opened(path: str, **_: Any) -> io.StringIO:
        if path == "/proc/interrupts":
            clock.now += took
        return io.StringIO(FILES[path])

    monkeypatch.setattr(sample, "stopping", SimpleNamespace(wait=wait))
    monkeypatch.setattr(sample, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(sample, "open", opened, raising=False)
    monkeypatch.setattr(sample, "links", lambda: {"lo": {}})
    avoided: list[int] = []
    monkeypatch.setattr(sample, "avoid_interrupts", lambda: avoided.append(1))
    with inside(sample) as program:
        sample.main(options)
    assert (program.watched, avoided) == (1, [1])
    about, *samples = program.messages
    uname = os.uname()
    own = {"kernel": uname.release, "host": uname.nodename, "pid": os.getpid()}
    assert about == {"links": {"lo": {}}, **own}
    assert [one.pop("at") for one in samples] == times
    assert samples == [{
        "cores": {"0": [1, 2, 3, 4, 0, 0, 0, 0]},
        "interfaces": {"eth0": [1, 2, 3, 4, 5, 6, 9, 10, 11, 12]},
        "softnet": [[1, 2, 3]],
        "totals": {"TcpOutSegs": 1, "TcpInSegs": 2, "TcpRetransSegs": 3, "UdpInDatagrams": 5,
                   "UdpRcvbufErrors": 6, "TcpExtTCPDSACKRecvSegs": 7},
        "interrupts": [9],
    }] * 4  # fmt: skip
