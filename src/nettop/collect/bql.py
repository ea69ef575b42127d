"""Byte queue limits of transmit queues: /sys/class/net/IF/queues/tx-N/byte_queue_limits.

Documentation/ABI/testing/sysfs-class-net-queues. The driver takes no more once `inflight` reaches
`limit` (include/linux/dynamic_queue_limits.h); then packets wait in the qdisc. Only hardware has
them: other devices complete at once. The list of queues is read again from time to time.
"""

from dataclasses import field
from typing import Final

from ..frame.fields import gauge, label, light, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Memory, Table, recall

TABLE: Final = Table(every=0.45, optional=True, may_rest=True)

QUEUES: Final = 64  # of one interface that are read
_NETS: Final = "/sys/class/net"
_TURNS: Final = 24  # readings for which the list of queues is valid


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One transmit queue whose driver uses byte queue limits."""

    nic: str = label("interface")
    queue: str = label("tx-N")
    inflight: int = gauge("bytes in flight to the device", "bytes")
    limit: int = gauge("byte queue limit now", "bytes")
    limit_max: int | None = maybe("largest byte queue limit", "bytes")


@dataclass
class Known:
    """Interface, queue (`tx-0`), folder of its files and limit_max in bytes, for each queue."""

    turn: int = -1
    queues: list[tuple[str, str, str, int | None]] = field(default_factory=list)


def update(source: Source, memory: Memory) -> list[Row]:
    """Each queue with a limit; OSError without /sys/class/net."""
    known = recall(memory, Known)
    known.turn = (known.turn + 1) % _TURNS
    if known.turn == 0:
        known.queues = _queues(source)
    rows = []
    for nic, queue, folder, most in known.queues:
        inflight = _sysfs.number(source, f"{folder}/inflight")
        limit = _sysfs.number(source, f"{folder}/limit")
        if inflight is not None and limit:
            rows.append(Row(nic, queue, inflight, limit, most))
    return rows


def _queues(source: Source) -> list[tuple[str, str, str, int | None]]:
    found = []
    for nic in source.listing(_NETS):
        if _sysfs.target(source, f"{_NETS}/{nic}/device") is None:
            continue
        names = [n for n in _sysfs.names(source, f"{_NETS}/{nic}/queues") if n.startswith("tx-")]
        for queue in names[:QUEUES]:
            folder = f"{_NETS}/{nic}/queues/{queue}/byte_queue_limits"
            if _sysfs.number(source, f"{folder}/limit") is not None:
                found.append((nic, queue, folder, _sysfs.number(source, f"{folder}/limit_max")))
    return found
