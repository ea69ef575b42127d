"""What CPUs do: /proc/stat, interrupts, softirqs, softnet_stat, and names of interrupts."""

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import cpu, interrupts, netdev, softirqs, softnet
from nettop.collect._table import Memory
from nettop.files import bounds
from nettop.frame.fields import Columns
from nettop.host.recording import Replay
from nettop.host.source import Live
from nettop.terms import cpulist, irqname

SAMPLES = os.environ.get("NETTOP_SAMPLES", "")
needs_samples = pytest.mark.skipif(
    not SAMPLES, reason="NETTOP_SAMPLES names no folder of real hosts' files"
)
ROLES = {"rx": "rx", "tx": "tx", "rxtx": "txrx"}


def answers(kind: str) -> list[Path]:
    """The EXPECTED files of one kind, by the name of the file they are about."""
    return sorted(
        path
        for path in Path(SAMPLES, "EXPECTED").rglob("*.json")
        if SAMPLES and kind in path.name.replace("proc_stat", "stat")
    )


def sample(answer: Path) -> str:
    path = Path(SAMPLES) / answer.relative_to(Path(SAMPLES, "EXPECTED"))
    return path.with_name(path.name.removesuffix(".json")).read_text(errors="surrogateescape")


@needs_samples
def test_interrupts_of_real_hosts() -> None:
    checked = 0
    for answer in answers("nterrupts"):
        right = json.loads(answer.read_text())
        text = sample(answer)
        if not right["header"]:
            with pytest.raises(ValueError, match="no header"):
                interrupts.parse(text)
            # an excerpt of single lines: give it the header it was cut from
            text = " ".join(f"CPU{n}" for n in range(right["cpus"])) + "\n" + text
            if not right["cpus"]:
                continue
        rows = interrupts.parse(text)
        check_interrupts(rows, right, answer.name)
        cpus = interrupts.header(text.splitlines()[0])
        assert len(cpus) == right["cpus"]
        assert (cpus != tuple(range(len(cpus)))) == right["cpu_ids_sparse"]
        checked += 1
    assert checked > 15


def check_interrupts(rows: Sequence[interrupts.Row], right: dict[str, Any], where: str) -> None:
    by_irq = {row.irq: row for row in rows}
    numbered = [row for row in rows if row.irq.isdigit()]
    assert len(numbered) == right["irq_lines"], where
    # the answers call a line named `virtio3-event` nameless; the file shows the name
    nameless = [irq for irq in right["nameless_irqs"] if by_irq[str(irq)].name != "virtio3-event"]
    assert [int(r.irq) for r in numbered if not r.name] == nameless, where
    for kind, total in right["arch_rows"].items():
        assert by_irq[kind].total == total, (where, kind)
    queues = set()
    for nic, lines in right["nics"].items():
        for line in lines:
            row = by_irq[str(line["irq"])]
            assert row.name == line["name"]
            assert row.total == line["total"]
            if line["top_cpu"] is not None:
                top = max(row.by_cpu, key=lambda n: row.by_cpu[n])
                assert top == line["top_cpu"]
                assert row.by_cpu[top] / line["total"] == pytest.approx(line["top_share"], abs=1e-3)
            place = irqname.queue_of(row.name)
            assert place.owner == nic.removeprefix("pci ")
            assert place.number == line["queue"]
            if line["role"] in ROLES.values():
                assert ROLES[place.direction or ""] == line["role"]
            if place.number is not None:
                queues.add(row.irq)
    found = {r.irq for r in numbered if irqname.queue_of(r.name).number is not None}
    assert found == queues, where


@needs_samples
def test_softnet_of_real_hosts() -> None:
    checked = 0
    for answer in answers("softnet_stat"):
        right = json.loads(answer.read_text())
        if any(line["cols"] < 9 for line in right):
            with pytest.raises(ValueError, match="too few columns"):
                softnet.rows(softnet.split(sample(answer)), tuple(range(len(right))))
            continue
        rows = softnet.rows(softnet.split(sample(answer)), tuple(range(len(right))))
        assert len(rows) == len(right)
        for row, line in zip(rows, right, strict=True):
            assert row.cpu == line.get("cpu", line["row"])
            assert (row.processed, row.dropped, row.squeezed) == (
                line["processed"],
                line["dropped"],
                line["time_squeeze"],
            )
            assert row.received_rps == line.get("received_rps")
            assert row.flow_limited == line.get("flow_limit")
            assert row.backlog == line.get("backlog")
            assert row.input_queue == line.get("input_qlen")
            assert row.process_queue == line.get("process_qlen")
        checked += 1
    assert checked > 10


@needs_samples
def test_softirqs_of_real_hosts() -> None:
    for answer in answers("softirqs"):
        right = json.loads(answer.read_text())
        rows = softirqs.parse(sample(answer))
        assert len(rows) == right["possible_cpus"] == right["values"]
        assert sum(row.net_rx or 0 for row in rows) == right["NET_RX_total"]
        assert sum(1 for row in rows if row.net_rx) == right["NET_RX_nonzero_cpus"]


@needs_samples
def test_stat_of_real_hosts() -> None:
    checked = 0
    for answer in answers("stat"):
        if "softnet" in answer.name or "netstat" in answer.name:
            continue
        right = json.loads(answer.read_text())
        rows = cpu.parse(sample(answer))
        assert len(rows) == right["cpus"]
        for row in rows:
            assert (row.steal is None) == (right["fields_per_cpu"] < 8)
            assert (row.guest is None) == (right["fields_per_cpu"] < 9)
        checked += 1
    assert checked > 8


# --- interrupts -------------------------------------------------------------------------------

SPARSE = """\
           CPU0       CPU1       CPU7
  0:          8          0          0   IO-APIC   2-edge      timer
 33:          0          0      50000  PCI-MSIX-0000:27:00.0   1-edge      eth0-TxRx-0
 34:          0          3          2  Hyper-V PCIe MSI 4194304-edge      mlx5_comp0@pci:8b76:0:2.0
 35:          1          2          3   PCI-MSI 524288-edge
 36:          0          0          9   eth1
NMI:          1          1          1   Non-maskable interrupts
ERR:          5
FIQ:              usb_fiq
"""


def test_counts_belong_to_cpu_numbers_not_columns() -> None:
    rows = {row.irq: row for row in interrupts.parse(SPARSE)}
    assert rows["33"].by_cpu == {7: 50000}
    assert rows["33"].chip == "PCI-MSIX-0000:27:00.0 1-edge"
    assert rows["34"].by_cpu == {1: 3, 7: 2}
    assert (rows["34"].chip, rows["34"].total) == ("Hyper-V PCIe MSI 4194304-edge", 5)
    assert (rows["35"].name, rows["35"].chip) == ("", "PCI-MSI 524288-edge")
    assert (rows["36"].name, rows["36"].chip) == ("eth1", None)
    assert (rows["NMI"].name, rows["NMI"].total) == ("Non-maskable interrupts", 3)
    assert (rows["ERR"].by_cpu, rows["ERR"].total) == ({}, 5)
    assert (rows["FIQ"].name, rows["FIQ"].total) == ("usb_fiq", None)


@pytest.mark.parametrize(
    ("tail", "chip", "name"),
    [
        ("   IR-PCI-MSI-edge eth0-TxRx-0", "IR-PCI-MSI-edge", "eth0-TxRx-0"),
        ("  xen-dyn    -event     eth0", "xen-dyn -event", "eth0"),
        ("  xen-pirq   1-ioapic-edge  i8042", "xen-pirq 1-ioapic-edge", "i8042"),
        ("  xen-pirq-msi-x  eth0-TxRx-0", "xen-pirq-msi-x", "eth0-TxRx-0"),
        (
            "  ARMCTRL-level   1 Edge      3f00b880.mailbox",
            "ARMCTRL-level 1 Edge",
            "3f00b880.mailbox",
        ),
        ("  GIC-0  27  arch_timer", "GIC-0 27", "arch_timer"),
        ("  PCI-MSI   mlx5_comp0@pci:0001:00:00.0", "PCI-MSI", "mlx5_comp0@pci:0001:00:00.0"),
        ("  IO-APIC-edge    ", "IO-APIC-edge", ""),
        ("  DMAR-MSI 0-edge      dmar0, eth0", "DMAR-MSI 0-edge", "dmar0, eth0"),
        ("  sep4020 Timer Tick", None, "sep4020 Timer Tick"),
        ("  PCI-MSI 65536-edge      eth0 (queue 17)", "PCI-MSI 65536-edge", "eth0 (queue 17)"),
    ],
)
def test_the_chip_ends_where_the_name_begins(tail: str, chip: str | None, name: str) -> None:
    (row,) = interrupts.parse(f"  CPU0\n 1:   7 {tail}\n")
    assert (row.chip, row.name) == (chip, name)


class Text(Live):
    """A source of one text."""

    def __init__(self, text: str = "") -> None:
        super().__init__("/nowhere")
        self.words = text

    def data(self, path: str) -> bytes:
        return self.words.encode("utf-8", "surrogateescape")


def test_only_changed_lines_make_new_rows() -> None:
    source, memory = Text(SPARSE), Memory()
    first = interrupts.update(source, memory)
    source.words = SPARSE.replace("50000", "50007")
    second = interrupts.update(source, memory)
    assert [row.irq for row in first] == [row.irq for row in second]
    assert [row.irq for old, row in zip(first, second, strict=True) if old is not row] == ["33"]
    assert second[1].by_cpu == {7: 50007}
    assert second == interrupts.parse(source.words)


CPUS = 30  # enough that more counts of a line change than are looked for one by one


@given(st.randoms(use_true_random=False), st.integers(1, 12), st.sampled_from([1, 10, 11]))
def test_updating_is_parsing(randomly: random.Random, steps: int, width: int) -> None:
    """Lines and CPUs that come and go leave nothing stale, whatever the width of a column."""
    source, memory = Text(), Memory()
    counts = [[randomly.choice((0, 7, 1 << 31)) for _ in range(CPUS)] for _ in range(9)]
    cpus, irqs = list(range(CPUS)), list(range(9))
    for _ in range(steps):
        if randomly.random() < 0.2:
            cpus = sorted(randomly.sample(range(CPUS), randomly.randint(1, CPUS)))
        if randomly.random() < 0.2:
            irqs = sorted(randomly.sample(range(9), randomly.randint(0, 9)))
        for _ in range(randomly.randint(0, 8)):
            counts[randomly.randrange(9)][randomly.randrange(CPUS)] += randomly.choice((1, 99, -7))
        if randomly.random() < 0.5:  # a timer
            counts[8] = [count + randomly.choice((0, 1, 250)) for count in counts[8]]
        lines = ["".join(f"  CPU{n:<6}" for n in cpus)]
        for irq in irqs:
            row = "".join(f" {max(0, counts[irq][n]):{width}}" for n in cpus)
            lines.append(f"{irq:4}:{row}  PCI-MSI {irq}-edge      eth0-rx-{irq}")
        source.words = "\n".join(lines) + "\n"
        made = interrupts.update(source, memory)
        whole = interrupts.parse(source.words)
        assert [positive(row) for row in made] == [positive(row) for row in whole]


def positive(row: interrupts.Row) -> tuple[object, ...]:
    """A row without the zeros of its sparse counts: absent is zero."""
    counts = {cpu: count for cpu, count in row.by_cpu.items() if count}
    return (row.irq, row.name, row.chip, counts, row.total)


# --- /proc/stat, softirqs, softnet, net/dev ---------------------------------------------------


def test_cpu_seconds_and_missing_columns() -> None:
    (row,) = cpu.parse("cpu 1 2 3 4\ncpu3 100 200 300 400\nintr 1\n")
    assert (row.cpu, row.user, row.nice, row.system, row.idle) == (3, 1.0, 2.0, 3.0, 4.0)
    assert (row.iowait, row.steal, row.guest) == (None, None, None)


def test_idle_that_slips_back_is_held_and_a_new_count_is_not() -> None:
    archive = (
        "c\n-- @0.0 --\n-- /proc/stat --\ncpu 0 0 0 0\ncpu0 5 0 5 9000 40\nintr 1\n"
        "-- @1.0 --\n-- /proc/stat --\ncpu 0 0 0 0\ncpu0 9 0 5 8999 39\nintr 1\n"
        "-- @2.0 --\n-- /proc/stat --\ncpu 0 0 0 0\ncpu0 1 0 1 7 0\nintr 1\n"
    )
    source, memory = Replay(archive), Memory()
    idle = []
    for _ in range(3):
        (row,) = cpu.update(source, memory)
        idle.append((row.idle, row.iowait))
        source.wait(1)
    assert idle == [(90.0, 0.4), (90.0, 0.4), (0.07, 0.4)]


def test_softnet_takes_cpu_numbers_from_the_online_list() -> None:
    line = " ".join(["00000001"] * 11)
    archive = (
        f"c\n-- /proc/net/softnet_stat --\n{line}\n{line}\n-- /sys/devices/system/cpu/online --\n"
    )
    assert [row.cpu for row in softnet.update(Replay(archive + "0,7\n"), {})] == [0, 7]
    with pytest.raises(ValueError, match="do not name their CPUs"):
        softnet.update(Replay(archive + "0-7\n"), {})
    thirteen = " ".join(["00000001"] * 12) + " 0000000a"
    (row,) = softnet.update(Replay(f"c\n-- /proc/net/softnet_stat --\n{thirteen}\n"), {})
    assert (row.cpu, row.backlog, row.input_queue) == (10, 1, None)


def test_a_column_that_did_not_change_is_kept() -> None:
    start = " ".join(["00000001"] * 11)
    archive = "c\n"
    for second, done in enumerate(("00000001", "00000009")):
        archive += f"-- @{second}.0 --\n" * bool(second) + "-- /proc/net/softnet_stat --\n"
        archive += f"{start} 00000000 00000000\n{done} {start} 00000001\n"
    source, memory = Replay(archive), Memory()
    first = softnet.update(source, memory)
    source.wait(1)
    then = softnet.update(source, memory)
    assert [(row.cpu, row.processed) for row in then] == [(0, 1), (1, 9)]
    assert isinstance(first, Columns)
    assert isinstance(then, Columns)
    assert then.column("dropped") is first.column("dropped")
    assert then.column("processed") is not first.column("processed")
    assert softnet.update(source, memory) is then


def test_only_the_softirqs_that_were_counted_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(words: list[str]) -> list[int]:
        parsed.append(words[-1])
        return bounds.counts(words)

    monkeypatch.setattr(softirqs, "counts", counted)
    memory = Memory()
    head = "CPU0 CPU1\n      TIMER: 5 6\n"
    for number in (1, 2, 2):
        text = f"c\n-- /proc/softirqs --\n{head}     NET_RX: 7 {number}\n"
        rows = softirqs.update(Replay(text), memory)
        assert [(row.cpu, row.net_rx, row.timer) for row in rows] == [(0, 7, 5), (1, number, 6)]
    assert parsed == ["6", "1", "2"]


# --- damaged input ----------------------------------------------------------------------------

STAT = "cpu  1 2 3 4 5 6 7 8 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 9 1 2\n"
SOFTIRQS = "                    CPU0       CPU1\n      NET_TX:     1   2\n      NET_RX:    3   4\n"
SOFTNET = ("00000001 " * 12 + "00000000 00000000 00000000\n") * 2
NETDEV = "Inter-|R|T\n face |a|b\n  lo: 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6\n"
PARSERS: list[tuple[Callable[[str], object], str]] = [
    (cpu.parse, STAT),
    (interrupts.parse, SPARSE),
    (softirqs.parse, SOFTIRQS),
    (lambda text: softnet.rows(softnet.split(text)), SOFTNET),
    (netdev.parse, NETDEV),
    (irqname.queue_of, "i40e-eth0-TxRx-11"),
]


@given(st.sampled_from(PARSERS), st.data())
def test_damaged_text_is_a_value_error_or_a_result(
    parser: tuple[Callable[[str], object], str], data: st.DataObject
) -> None:
    parse, good = parser
    kind = data.draw(st.sampled_from(["cut", "change", "random", "repeat"]))
    if kind == "cut":
        text = good[: data.draw(st.integers(0, len(good)))]
    elif kind == "change":
        place = data.draw(st.integers(0, len(good) - 1))
        text = good[:place] + data.draw(st.text(max_size=4)) + good[place + 1 :]
    elif kind == "repeat":
        text = good * data.draw(st.integers(2, 400))
    else:
        text = data.draw(st.text(max_size=200))
    try:
        parse(text)
    except ValueError:
        return


# --- this machine ----------------------------------------------------------------------------


def test_this_machine_agrees_with_itself() -> None:
    source = Live()
    online = cpulist.parse(source.text("/sys/devices/system/cpu/online"))
    assert [row.cpu for row in cpu.update(source, {})] == list(online)
    assert {row.cpu for row in softirqs.update(source, {})} >= set(online)
    assert {row.cpu for row in softnet.update(source, {})} == set(online)
    assert "lo" in {row.name for row in netdev.read(source)}
    rows = interrupts.update(source, {})
    assert all(set(row.by_cpu) <= set(online) for row in rows)
