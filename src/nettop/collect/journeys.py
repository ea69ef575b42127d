"""Where packets wait on their way through this host: times in buckets, by stage.

include/trace/events/irq.h, net.h, skb.h, sock.h and sched.h: `bpf.journey` says between which of
these points each stage is. The first reading loads
programs into the kernel and lets it stamp every packet, so the table is read on request only, and
needs root. A packet that waits in the ring of a NIC before the kernel polls it has no stamp yet.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..frame.fields import counter, gauge, label, light
from ..frame.rates import Partly
from ..terms.dataclass import dataclass
from . import _counted
from ._table import Table

TABLE: Final = Table(every=0.9, counted="journey", on_request=True, absent=True)
SOFTIRQS: Final = ("softirq-rx", "softirq-tx")
STAGES: Final = (*SOFTIRQS, "socket", "woken", "queue", "again")
_LAST: Final = 255  # bucket
_HEADER: Final = re.compile(r"(\d{1,9}\.\d{3}) (\d{1,15})", re.ASCII)


@light
@dataclass(frozen=True, slots=True)
class Row:
    """The packets of one subject whose time lies in one bucket."""

    stage: str = label("softirq-rx, softirq-tx, socket, woken, queue; again: a segment sent again")
    bucket: int = label("bucket of the time, see terms/buckets.py; 0 of what has none")
    where: str = label("network namespace: here or elsewhere; host: of all")
    port: str = label("port of the service; empty: unknown")
    number: str = label("CPU of a softirq, else number of the interface; empty: unknown")
    pid: int = label("process that reads; 0: none")
    name: str = label("name of the thread that reads; empty: none")
    packets: int = counter("packets, softirqs or wakeups since nettop began to look", "packets")
    seconds: float = gauge("counted for", "s", default=0.0)


class Journey(NamedTuple):
    """What was counted, and what was not."""

    seconds: float
    looked: float  # seconds of it in which the programs ran
    omitted: int  # packets of subjects that had no room
    absent: tuple[tuple[str, str], ...]  # stages that this kernel does not show, and why
    rows: Sequence[Row]
    why: str = ""  # lines that could not be read


def parse(text: str) -> Sequence[Row]:
    """The rows of `bpf.journey` lines; ValueError for any other."""
    known = journey(text)
    why = "; ".join(f"{stage}: {why}" for stage, why in known.absent)
    if why or known.why:
        return Partly([*known.rows], "; ".join(filter(None, (why, known.why))))
    return known.rows


def journey(text: str) -> Journey:
    """All that `bpf.journey` lines say; ValueError for other lines."""
    seconds, _, rest = text.partition("\n")
    header, _, lines = rest.partition("\n")
    told = _HEADER.fullmatch(header)
    if told is None:
        raise ValueError(f"not a journey: {header[:60]!r}")
    every = lines.splitlines()
    absent = [line[1:].partition(" ") for line in every if line.startswith("!")]
    counts = "\n".join(line for line in every if not line.startswith("!"))
    rows = _counted.rows(f"{seconds}\n{counts}", _row, "journey")
    why = rows.why if isinstance(rows, Partly) else ""
    return Journey(
        _counted.seconds(seconds), float(told[1]), int(told[2]),
        tuple((stage, words) for stage, _, words in absent), rows, why,
    )  # fmt: skip


def _row(line: str, seconds: float) -> Row:
    stage, bucket, packets, where, port, number, pid, name = line.split(" ", 7)
    place = _counted.number(bucket)
    if stage not in STAGES or place > _LAST:
        raise ValueError(f"not a stage with its bucket: {line[:60]!r}")
    return Row(
        stage, place, where, _counted.told(port), _counted.told(number),
        _counted.number(_counted.told(pid) or "0"), _counted.told(name),
        _counted.number(packets), seconds,
    )  # fmt: skip
