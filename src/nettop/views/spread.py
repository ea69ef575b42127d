"""A plan that spreads the interrupts of an interface over the cores of its NUMA node."""

from __future__ import annotations

from .scene import Scene


def spread_of(scene: Scene, nic: str) -> tuple[str, list[tuple[str, str]]]:
    """The interface and its settings: each interrupt on a core of its own on the NIC's node.

    A core gets a second interrupt, on its sibling thread, only after every core has one.
    """
    facts = scene.facts
    known = {n.name: n for n in facts.nics} if facts is not None else {}
    queues = [q for q in facts.queues if q.nic == nic and q.irq is not None] if facts else []
    if facts is None or nic not in known or not queues:
        return nic, []
    cores = {c.cpu: c for c in facts.cores}
    near = [cpu for cpu in known[nic].local_cpus or () if cpu in cores] or sorted(cores)
    near.sort(key=lambda cpu: (cpu != min((*cores[cpu].siblings, cpu)), cpu))
    by: dict[int, str] = {}
    for queue in sorted(queues, key=lambda q: (q.number, q.direction)):
        by.setdefault(queue.irq or 0, f"irq.affinity@{nic}/{queue.name}")
    return nic, [(name, str(near[i % len(near)])) for i, name in enumerate(by.values())]
