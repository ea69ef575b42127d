"""Queues and interrupts joined: which interrupt and which CPU serve a queue."""

from collections.abc import Sequence
from typing import Any

import pytest
from folded import folded
from nic_tables import Tables, joined, line, link, served, stats

from nettop.collect import (
    cpu,
    irqs,
    netclass,
    nicqueues,
    queues,
    services,
)
from nettop.facts.lines import IrqLine, Served


def test_virtio_lines_serve_the_queues_of_their_interface() -> None:
    facts = joined(served({}, {}), served({2: 500}, {1: 40}))
    rx, tx = facts.queues
    assert (rx.name, rx.irq, rx.irq_name, rx.cpu, rx.irq_per_s) == (
        "rx-0", 51, "virtio2-input.0", 2, 500,
    )  # fmt: skip
    assert (tx.name, tx.irq, tx.cpu) == ("tx-0", 52, 1)
    assert (rx.node, rx.off_node) == (1, True)
    assert tx.off_node is False
    nic = facts.nics[0]
    assert (nic.irqs, nic.irq_off_node, nic.irq_cpus, nic.irq_top_cpu) == (2, 1, (2,), 2)
    assert nic.irq_top_share == 1.0
    assert nic.msi is True
    assert nic.per_s.interrupts == 540
    core = facts.cores[2]
    assert (core.nics, core.queues, core.nic_irqs) == (("eth0",), ("eth0/rx-0",), 500)
    assert facts.cores[0].nic_irqs == 0


def test_effective_affinity_tells_before_the_first_interrupt() -> None:
    place = irqs.Row("51", (0, 1, 2, 3), (3,), (), nics=("eth0",))
    facts = joined(served({}, {}, irqs=[place]))
    assert facts.queues[0].cpu == 3
    assert facts.queues[0].effective == (3,)
    assert facts.queues[1].cpu is None


def test_the_last_seen_cpu_is_remembered_when_affinity_is_not_told() -> None:
    quiet = served({3: 10}, {})
    facts = joined(served({}, {}), quiet, quiet)
    assert facts.queues[0].cpu == 3
    assert facts.nics[0].irq_top_cpu == 3
    assert facts.nics[0].irq_moved is False


def test_a_moved_interrupt_is_noticed() -> None:
    facts = joined(served({}, {}), served({1: 9}, {}), served({1: 9, 2: 9}, {}))
    assert facts.nics[0].irq_moved is True


def test_interrupts_placed_by_hand() -> None:
    def judged(
        running: bool | None, allowed: tuple[int, ...], hint: tuple[int, ...]
    ) -> bool | None:
        table = [irqs.Row("51", allowed, allowed, hint, nics=("eth0",)),
                 irqs.Row("52", (0, 1, 2, 3), (0,), (), nics=("eth0",))]  # fmt: skip
        service = [services.Row("irqbalance", running)]
        return joined(served({}, {}, irqs=table, services=service)).nics[0].manual_affinity

    assert judged(False, (2,), ()) is True
    assert judged(False, (2,), (2,)) is False  # as the driver hints
    assert judged(False, (0, 1, 2, 3), ()) is False
    assert judged(True, (2,), ()) is None
    assert judged(None, (2,), ()) is None


def test_a_line_that_carries_the_bare_name_serves_everything() -> None:
    tables: Tables = {
        "links": [link("eth1", parent="0000:00:04.0")],
        "netclass": [netclass.Row("eth1", device="0000:00:04.0", address="0000:00:04.0")],
        "queues": [queues.Row("eth1", "rx-0", ()), queues.Row("eth1", "tx-0")],
        "interrupts": [line(20, "ehci_hcd:usb1, eth1", {0: 5}, "IO-APIC 20-fasteoi")],
    }
    facts = joined(tables)
    assert [q.irq for q in facts.queues] == [20, 20]
    assert facts.nics[0].msi is False


def test_the_kernels_word_on_a_queues_interrupt_beats_the_names() -> None:
    """Linux 6.8 tells which queues an interrupt serves; names are a driver's habit."""
    tables: Tables = {
        "links": [link("eth1", parent="0000:00:04.0")],
        "netclass": [netclass.Row("eth1", device="0000:00:04.0", address="0000:00:04.0")],
        "queues": [queues.Row("eth1", name, ()) for name in ("rx-0", "rx-1", "tx-0", "tx-1")],
        "irqs": [
            irqs.Row("20", nics=("eth1",), queues=("eth1/rx-1", "eth1/tx-1")),
            irqs.Row("21", nics=("eth1",), queues=("eth1/rx-0",)),
            irqs.Row("22", nics=("eth1",)),
            irqs.Row("23", queues=("eth1/tx-0",)),  # whose it is nothing else tells
        ],
        "interrupts": [
            line(20, "eth1-TxRx-0", {0: 1}), line(21, "eth1-TxRx-1", {1: 1}),
            line(22, "eth1", {}), line(23, "mystery", {2: 1}),
        ],
    }  # fmt: skip
    facts = joined(tables)
    assert {q.name: q.irq for q in facts.queues} == {"rx-0": 21, "rx-1": 20, "tx-0": 23, "tx-1": 20}
    silent = {**tables, "irqs": [irqs.Row(str(n), nics=("eth1",)) for n in (20, 21, 22)]}
    assert {q.name: q.irq for q in joined(silent).queues} == {
        "rx-0": 20, "rx-1": 21, "tx-0": 20, "tx-1": 21,
    }  # fmt: skip


def test_two_functions_of_one_name_are_told_apart_by_their_bus() -> None:
    def comp(irq: int, bus: str, count: int) -> Any:
        return line(irq, f"mlx5_comp0@pci:{bus}", {count: 3})

    one, two = "8b76:00:02.0", "83a4:00:02.0"
    tables: Tables = {
        "links": [link("ens1", 2, parent=one), link("ens2", 3, parent=two)],
        "netclass": [netclass.Row("ens1", device=one, address=one),
                     netclass.Row("ens2", device=two, address=two)],
        "interrupts": [comp(28, one, 0), comp(40, two, 1)],
    }  # fmt: skip
    facts = joined(tables)
    assert [(q.nic, q.name, q.irq) for q in facts.queues] == [
        ("ens1", "rx-0", 28), ("ens1", "tx-0", 28), ("ens2", "rx-0", 40), ("ens2", "tx-0", 40),
    ]  # fmt: skip


def test_queue_shares_and_skew() -> None:
    def at(counts: Sequence[int]) -> Tables:
        return {
            "links": [link("eth0", parent="0000:03:00.0")],
            "queues": [queues.Row("eth0", f"rx-{n}", ()) for n in range(4)],
            "link_stats": [stats("eth0", rx_packets=sum(counts))],
            "nicqueues": [
                nicqueues.Row("eth0", f"rx-{n}", c, c * 100, 0) for n, c in enumerate(counts)
            ],
        }

    facts = joined(at([0, 0, 0, 0]), at([700, 100, 100, 0]))
    nic = facts.nics[0]
    assert nic.queue_skew == pytest.approx(700 / 225)
    assert nic.queues_active == 3
    assert [q.share for q in facts.queues] == pytest.approx([7 / 9, 1 / 9, 1 / 9, 0])
    assert facts.queues[0].bytes_per_s == 70_000


@pytest.mark.parametrize(("few", "cpus"), [(20, (0, 1)), (19, (0,)), (0, (0,))])
def test_a_cpu_with_a_fiftieth_of_the_interrupts_takes_part(
    few: int, cpus: tuple[int, ...]
) -> None:
    served_by = Served()
    served_by.see(
        [IrqLine(0, 51, "eth0-rx-0", "eth0", "rx", 0, None)], [{0: 1000.0 - few, 1: float(few)}]
    )
    assert served_by.cpus == cpus
    assert served_by.top == 0


@folded("idle, rest", [(60, True), (40, False)])
def test_the_cpus_of_the_interrupts_are_mostly_idle_or_not(idle: float, rest: bool) -> None:
    """The receive line went to CPU 2; the load of the others says nothing of the interface."""
    later = [cpu.Row(n, 101.0 - (idle if n == 2 else 50), 0.0, 1.0, 1.0 + (idle if n == 2 else 50))
             for n in range(4)]  # fmt: skip
    facts = joined(served({}, {}), served({2: 500}, {}, cpu=later))
    assert facts.nics[0].cpus_rest is rest
    threaded = [netclass.Row("eth0", device="virtio2", address="0000:00:05.0", threaded=True)]
    facts = joined(
        served({}, {}, netclass=threaded), served({2: 500}, {}, cpu=later, netclass=threaded)
    )
    assert facts.nics[0].cpus_rest is None
