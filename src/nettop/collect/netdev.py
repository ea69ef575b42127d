"""Interface counters of this network namespace: /proc/net/dev (used without rtnetlink).

net/core/net-procfs.c, dev_seq_printf_stats(): the columns fold several counters: `drop` is
rx_dropped + rx_missed_errors, `frame` the length, overrun, CRC and frame errors, `carrier` the
carrier, aborted, window and heartbeat errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..files.bounds import counts
from ..frame.fields import counter, label, light
from ..frame.rates import Partly
from ..host.source import Source
from ..terms.dataclass import dataclass

PROMPT = True


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One interface; counts since its creation."""

    name: str = label("interface")
    rx_bytes: int = counter("bytes received", "bytes")
    rx_packets: int = counter("packets received", "packets")
    rx_errors: int = counter("receive errors", "packets")
    rx_drop: int = counter("packets dropped on receive, with those missed by the NIC", "packets")
    rx_fifo: int = counter("receive overruns", "packets")
    rx_frame: int = counter("frames with CRC or length errors", "frames")
    rx_compressed: int = counter("compressed packets received", "packets")
    multicast: int = counter("multicast packets received", "packets")
    tx_bytes: int = counter("bytes sent", "bytes")
    tx_packets: int = counter("packets sent", "packets")
    tx_errors: int = counter("transmit errors", "packets")
    tx_drop: int = counter("packets dropped on transmit", "packets")
    tx_fifo: int = counter("transmit underruns", "packets")
    collisions: int = counter("collisions", "frames")
    carrier: int = counter("carrier, aborted, window and heartbeat errors", "errors")
    tx_compressed: int = counter("compressed packets sent", "packets")


def read(source: Source) -> Sequence[Row]:
    """Every interface; OSError without the file, ValueError for another format."""
    return parse(source.text("/proc/net/dev"))


def parse(text: str) -> Sequence[Row]:
    """The rows of the lines after the two header lines; no space need follow the colon.

    A name may have a colon (`eth0:1`). A line of another form is left out and named; ValueError if
    all are.
    """
    lines = text.splitlines()
    if len(lines) < 2 or lines[1].count("|") != 2:
        raise ValueError("/proc/net/dev has no header")
    rows, wrong = [], []
    for line in lines[2:]:
        name, _, rest = line.rpartition(":")
        if not line.strip():
            continue
        shown = (name or line).strip()[:20]
        try:
            numbers = counts(rest.split())
        except ValueError as error:
            wrong.append(f"/proc/net/dev: {shown!r}: {error}")
            continue
        if len(numbers) != 16:
            wrong.append(f"/proc/net/dev: {len(numbers)} columns for {shown!r}")
            continue
        rows.append(Row(name.strip(), *numbers))
    if wrong and not rows:
        raise ValueError(wrong[0])
    return Partly(rows, wrong[0]) if wrong else rows
