"""Tables of interfaces and interrupts, and frames of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from nettop.collect import (
    cpu,
    interrupts,
    link_stats,
    links,
    netclass,
    queues,
    topology,
)
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

Tables = Mapping[str, Sequence[Any]]


def frames(*moments: Tables) -> list[Frame]:
    """Frames one second apart, rates made as the sampler does."""
    out: list[Frame] = []
    for second, tables in enumerate(moments):
        past = out[-1].tables if out else {}
        out.append(
            Frame(
                float(second),
                0.0,
                {name: entries(rows, past.get(name, ()), 1.0) for name, rows in tables.items()},
            )
        )
    return out


def joined(*moments: Tables, **options: Any) -> Facts:
    joiner = Joiner(**options)
    return [joiner.build(frame) for frame in frames(*moments)][-1]


def link(name: str, index: int = 1, **more: Any) -> links.Row:
    plain = {
        "type": 1, "kind": "", "loopback": False, "up": True, "running": True, "promisc": False,
    }  # fmt: skip
    return links.Row(interface=name, index=index, **{**plain, **more})


def stats(name: str, **counts: int) -> Any:
    every: dict[str, Any] = dict.fromkeys(
        (
            field
            for field in link_stats.Row.__dataclass_fields__
            if field not in ("interface", "index")
        ),
        0,
    )
    return link_stats.Row(name, 1, **{**every, **counts})


def line(irq: int, name: str, by_cpu: dict[int, int], chip: str = "PCI-MSI 1-edge") -> Any:
    return interrupts.Row(str(irq), name, chip, by_cpu, sum(by_cpu.values()))


def spot(number: int, node: int, core: tuple[int, ...], l3: tuple[int, ...]) -> topology.Row:
    return topology.Row(number, True, node, number, node, core, core, l3)


FOUR = [spot(0, 0, (0, 1), (0, 1)), spot(1, 0, (0, 1), (0, 1)),
        spot(2, 1, (2, 3), (2, 3)), spot(3, 1, (2, 3), (2, 3))]  # fmt: skip


def served(by_rx: dict[int, int], by_tx: dict[int, int], **more: Sequence[Any]) -> Tables:
    return {
        "cpu": [cpu.Row(n, 1.0, 0.0, 1.0, 1.0) for n in range(4)],
        "topology": FOUR,
        "links": [link("eth0", 2, parent="virtio2", bus="virtio")],
        "netclass": [netclass.Row("eth0", device="virtio2", address="0000:00:05.0", node=0,
                                  local_cpus=(0, 1))],
        "queues": [queues.Row("eth0", "rx-0", (), 0), queues.Row("eth0", "tx-0")],
        "interrupts": [
            line(1, "i8042", {0: 9}),
            line(50, "virtio2-config", {}),
            line(51, "virtio2-input.0", by_rx),
            line(52, "virtio2-output.0", by_tx),
        ],
        **more,
    }  # fmt: skip
