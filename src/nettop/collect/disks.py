"""What the devices do for which programs wait that move network data: /proc/diskstats.

Documentation/admin-guide/iostats.rst. `waits` stores the devices in the shared memory; nothing is
read without one. The time in which a device has a request (io_ticks) tells its use only where it
serves one at a time: an SSD or an array that is always in use may have room for far more.
"""

from typing import Final

from ..frame.fields import counter, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import threads
from ._descriptors import Known
from ._table import Memory, Table, recall

TABLE: Final = Table(every=0.45, optional=True, memory=threads.TABLE.memory)

_SECTOR: Final = 512  # bytes, whatever the device has
_FIELDS: Final = 11  # of each kernel


@dataclass(frozen=True, slots=True)
class Row:
    """One block device or partition."""

    device: str = label("device number MAJOR:MINOR")
    name: str = label("name of the device")
    reads: int = counter("reads completed", "requests")
    read: int = counter("bytes read", "bytes")
    reading: float = counter("time of all reads", "s")
    writes: int = counter("writes completed", "requests")
    written: int = counter("bytes written", "bytes")
    writing: float = counter("time of all writes", "s")
    busy: float = counter("time with a request", "s")
    queued: float = counter("time of all requests together", "s")


def update(source: Source, memory: Memory) -> list[Row]:
    """The devices for which programs wait. OSError when there is no /proc."""
    if threads.Moving not in memory:
        source.listing("/proc")
    wanted = recall(memory, Known).devices
    every = parse(source.text("/proc/diskstats")) if wanted else ()
    return [row for row in every if row.device in wanted]


def parse(text: str) -> list[Row]:
    """One row for each line; a line of another form has none."""
    rows = []
    for line in text.splitlines():
        place, words = line.split()[:3], line.split()[3 : 3 + _FIELDS]
        if len(words) < _FIELDS or not all(map(str.isdecimal, words)):
            continue
        major, minor, name = place
        reads, _, read, reading, writes, _, written, writing, _, busy, queued = map(int, words)
        rows.append(Row(
            f"{major}:{minor}", name, reads, _SECTOR * read, reading / 1e3, writes,
            _SECTOR * written, writing / 1e3, busy / 1e3, queued / 1e3,
        ))  # fmt: skip
    return rows
