"""What facts take from one table alone, and the numbers of a sysctl's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..frame.rates import Entry
from .counters import total
from .kinds import path
from .kinds.queue import Counted
from .port import Port


def triple(text: str | None) -> tuple[int, ...]:
    """The numbers of a sysctl such as tcp_rmem; empty when it is absent or holds none."""
    words = (text or "").split()
    return (
        tuple(map(int, words)) if all(word.isascii() and word.isdigit() for word in words) else ()
    )


def harmful(lines: Iterable[Any]) -> list[str]:
    """The harmful lines of sysctl files, as `file:line key=value`."""
    return [f"{row.file}:{row.line} {row.key}={row.value}" for row in lines if row.harmful]


def socket_owners(found: Sequence[Any]) -> dict[int, tuple[int, str]]:
    """The process (number, name) that holds each socket, by inode."""
    return {row.inode: (row.pid, row.name) for row in found if row.inode and row.pid is not None}


def captured(entries: Sequence[Entry], here: Mapping[str, Port]) -> frozenset[str]:
    """The interfaces that captures listen on; a capture of all is one of every NIC."""
    names = indices(here)
    found = {names[e.now.index] for e in entries if e.now.index in names}
    if any(not e.now.index for e in entries):
        found |= {name for name, port in here.items() if port.kind == "nic"}
    return frozenset(found)


def indices(here: Mapping[str, Port]) -> dict[int, str]:
    """The name of each interface by its index."""
    return {port.fixed["index"]: name for name, port in here.items() if port.fixed.get("index")}


def by_queue(entries: Sequence[Entry]) -> dict[tuple[str, str], Counted]:
    """What each queue moved; nothing of an interface whose queues never counted any.

    A veth's count only what XDP or NAPI took through its rings: their noughts are no rates.
    """
    counting = {e.now.interface for e in entries if e.now.packets or e.now.bytes or e.now.drops}
    return {
        (e.now.interface, e.now.queue): Counted(e.per_s.packets, e.per_s.bytes, e.per_s.drops)
        for e in entries
        if e.per_s is not None and e.now.interface in counting
    }


def queue_drops(entries: Sequence[Entry]) -> dict[str, tuple[int, float | None]]:
    """Packets lost at the rings of all receive queues, by interface: counted, and per second."""
    found: dict[str, tuple[int, float | None]] = {}
    for entry in entries:
        row, rate = entry.now, entry.per_s
        if row.drops is None or not row.queue.startswith("rx-"):
            continue
        whole, per_s = found.get(row.interface, (0, None))
        lost = rate.drops if rate is not None else None
        found[row.interface] = whole + row.drops, total((per_s, lost))
    return found


def rdma(entries: Sequence[Entry]) -> dict[str, bool]:
    """Whether RDMA moves packets on an interface, by its port's own counters."""
    found: dict[str, bool] = {}
    for entry in entries:
        rate = entry.per_s
        if entry.now.nic and rate is not None and rate.rx_packets is not None:
            moves = bool(rate.rx_packets or rate.tx_packets)
            found[entry.now.nic] = found.get(entry.now.nic, False) or moves
    return found


def drop_reasons(entries: Sequence[Entry] | None) -> path.Reasons | None:
    """Why packets were dropped, most frequent first; None where that is not counted."""
    if entries is None or not any(entry.per_s is not None for entry in entries):
        return None
    found = [(entry.now.reason, rate) for entry in entries if (rate := entry.rate("packets"))]
    return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0])))
