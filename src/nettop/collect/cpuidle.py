"""Idle states of each CPU: /sys/devices/system/cpu/cpuN/cpuidle/stateN.

Documentation/admin-guide/pm/cpuidle.rst: `latency` is the exit latency and `time` the time spent in
the state, both in us. Only the times of the deep states are read again; the rest is constant.
"""

from dataclasses import field
from typing import Final

from ..frame.fields import counter, label, maybe
from ..host.source import Source
from ..terms import cpulist
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Memory, Table, recall

TABLE: Final = Table(every=5.0, absent=True)

DEEP: Final = 10  # us; a longer exit latency exceeds the cost of the interrupt itself
_CPUS: Final = "/sys/devices/system/cpu"


@dataclass(frozen=True, slots=True)
class Row:
    """One online CPU."""

    cpu: int = label("CPU number")
    deep: float = counter("time in states with an exit latency above 10 us", "s")
    deepest: str | None = maybe("deepest state in use")
    latency: float | None = maybe("exit latency of the deepest state", "s")


@dataclass
class _Known:
    states: dict[int, list[tuple[str, int]]] = field(default_factory=dict)  # as `_states`, by CPU


def update(source: Source, memory: Memory) -> list[Row]:
    """Every online CPU; OSError if the kernel shows no idle states."""
    online = cpulist.parse(source.text(f"{_CPUS}/online"))
    states = recall(memory, _Known).states
    rows = []
    for cpu in online:
        if cpu not in states:
            names = source.listing(f"{_CPUS}/cpu{cpu}/cpuidle")
            states[cpu] = _states(source, f"{_CPUS}/cpu{cpu}/cpuidle", names)
        spent, deepest, latency = 0, None, None
        for folder, wake in states[cpu]:
            if wake > DEEP:
                spent += _sysfs.number(source, f"{folder}/time") or 0
            if _sysfs.word(source, f"{folder}/disable") in (None, "0"):
                deepest, latency = folder, wake / 1e6
        name = _sysfs.word(source, f"{deepest}/name") if deepest else None
        rows.append(Row(cpu, spent / 1e6, name, latency))
    return rows


def _states(source: Source, folder: str, names: list[str]) -> list[tuple[str, int]]:
    """Folder and exit latency (us) of each state, by latency."""
    found = []
    for name in names:
        wake = _sysfs.number(source, f"{folder}/{name}/latency")
        if name.startswith("state") and wake is not None:
            found.append((f"{folder}/{name}", wake))
    return sorted(found, key=lambda state: state[1])
