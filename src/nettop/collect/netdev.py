"""Interface counters of this network namespace: /proc/net/dev (used without rtnetlink).

net/core/net-procfs.c, dev_seq_printf_stats(): the columns fold several counters: `drop` is
rx_dropped + rx_missed_errors, `frame` the length, overrun, CRC and frame errors, `carrier` the
carrier, aborted, window and heartbeat errors.
"""

from collections.abc import Sequence
from typing import Final

from ..files.bounds import counts
from ..frame.fields import counter, label, light
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Table

TABLE: Final = Table(prompt=True, beside="snmp")


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
    shown = (line for line in lines[2:] if line.strip())
    return _lines.rows(shown, _row, "/proc/net/dev")


def _row(line: str) -> Row:
    name, _, rest = line.rpartition(":")
    shown, words = (name or line).strip()[:20], rest.split()
    if len(words) != 16:
        raise ValueError(f"{len(words)} columns for {shown!r}")
    try:
        return Row(name.strip(), *counts(words))
    except ValueError as error:
        raise ValueError(f"{shown!r}: {error}") from None
