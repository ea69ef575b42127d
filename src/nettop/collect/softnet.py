"""Receive work of each online CPU: /proc/net/softnet_stat, hexadecimal.

net/core/net-procfs.c, softnet_seq_show(): columns 1 processed, 2 dropped, 3 time_squeeze, 9
collision; 10 received_rps (2.6.35), 11 flow_limit_count (3.11), 12 backlog and 13 CPU number
(5.10), 14 and 15 the two parts of the backlog. Each line is an *online* CPU. Without column 13 its
number comes from /sys/devices/system/cpu/online, because offline CPUs have no line.
"""

import sys
from array import array
from collections.abc import Sequence
from functools import partial
from itertools import repeat
from typing import Final

from ..files.bounds import counts
from ..frame.fields import Columns, counter, label, light, maybe
from ..host.source import Source
from ..terms import cpulist
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Memory, Table, recall

_FILE: Final = "/proc/net/softnet_stat"
TABLE: Final = Table(needed="drops of the backlogs", prompt=True, keep_open=(_FILE,), beside="snmp")

_LEAST: Final = 9  # columns, since before 2.6.32
_NAMED: Final = 12  # columns before the one that names the CPU


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One online CPU. The counters are 32 bits wide and wrap."""

    cpu: int = label("CPU number")
    processed: int = counter("packets processed", "packets")
    dropped: int = counter("packets dropped, backlog full", "packets")
    squeezed: int = counter("polls out of budget or time (time_squeeze)", "polls")
    received_rps: int | None = counter("RPS wake-ups from other CPUs", "wake-ups", default=None)
    flow_limited: int | None = counter("packets dropped by the flow limit", "packets", default=None)
    backlog: int | None = maybe("queued packets", "packets")
    input_queue: int | None = maybe("packets on the input queue", "packets")
    process_queue: int | None = maybe("packets on the process queue", "packets")


@dataclass
class _Last:
    rows: Columns[Row] | None = None


_WIDTH: Final = 9  # a column of 32 bits and the byte after it
_FIELDS: Final = (12, 0, 1, 2, 9, 10, 11, 13, 14)  # the column of each field of a row


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every online CPU. OSError without the file, ValueError if a line's CPU is not known, or none.

    Most columns of most hosts do not change: they stay the same objects.
    """
    text = source.text(_FILE)
    if not text.strip():
        raise ValueError(f"{_FILE} is empty")
    last = recall(memory, _Last)
    columns = _columns(text)
    if columns is not None:
        last.rows = Columns(Row, columns).like(last.rows)
        return last.rows
    words = split(text)
    if _named(words):
        return rows(words)
    return rows(words, cpulist.parse(source.text("/sys/devices/system/cpu/online")))


def _columns(text: str) -> list[Sequence[int | None]] | None:
    """The columns of lines that name their CPU, all at once; None for another format."""
    wide, odd = divmod(text.find("\n") + 1, _WIDTH)
    if odd or wide <= _NAMED:
        return None
    deep, rest = divmod(len(text), _WIDTH * wide)
    if rest or text[_WIDTH - 1 :: _WIDTH] != (" " * (wide - 1) + "\n") * deep:
        return None
    try:
        numbers = array("I", bytes.fromhex(text))
    except ValueError:
        return None
    if len(numbers) != wide * deep:  # a word has a space in it
        return None
    if sys.byteorder == "little":
        numbers.byteswap()
    if max(numbers[_NAMED::wide]) >= cpulist.LIMIT:
        return None
    return [numbers[at::wide] if at < wide else [None] * deep for at in _FIELDS]


def split(text: str) -> list[list[str]]:
    """The words of each line."""
    return [words for line in text.splitlines() if (words := line.split())]


def _named(table: list[list[str]]) -> bool:
    """Whether the lines name their CPUs: one that does not, as most do, cannot be read."""
    return 2 * sum(len(line) > _NAMED for line in table) > len(table)


def rows(table: list[list[str]], online: tuple[int, ...] = ()) -> Sequence[Row]:
    """The rows of these lines; `online` are their CPUs if the lines do not name them.

    ValueError if both are missing, or without a line that can be read.
    """
    named = _named(table)
    if not named and len(online) != len(table):
        raise ValueError(
            f"{_FILE}: {len(table)} lines do not name their CPUs, of which {len(online)} are online"
        )
    least = _NAMED + 1 if named else _LEAST
    cpus = repeat(None) if named else online
    return _lines.rows(zip(cpus, table), partial(_row, least), _FILE)  # noqa: B905 - one is endless


def _row(least: int, of: tuple[int | None, list[str]]) -> Row:
    """The row of a line; its CPU, if it does not name it, is beside it."""
    cpu, line = of
    if len(line) < least:
        raise ValueError(f"too few columns: {' '.join(line)[:60]!r}")
    more: list[int | None] = [*counts(line[9:15], 16)]
    more += [None] * (6 - len(more))
    rps, limited, backlog, own, waiting, processing = more
    cpu = own if cpu is None else cpu
    if cpu is None or cpu >= cpulist.LIMIT:
        raise ValueError(f"there is no CPU {cpu}")
    done, lost, squeezed = counts(line[:3], 16)
    return Row(cpu, done, lost, squeezed, rps, limited, backlog, waiting, processing)
