"""Names that the file hosts(5) gives destinations in trouble: a line there may be old.

The C library reads it before it asks a name server (nsswitch.conf(5)), and a container has its own:
/proc/PID/root/etc/hosts of a process that fails to reach them. The addresses and the processes are
those of `ways.Asked`.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

from ..frame.fields import gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs, ways
from ._table import Memory, Table, parsed, recall

TABLE: Final = Table(every=10.0, asked=True, optional=True, memory="ways")

FILE: Final = "/etc/hosts"
LARGEST: Final = 1 << 20  # characters that are looked at: behind them are lists of blocked names


@dataclass(frozen=True, slots=True)
class Row:
    """One address, as one process sees it."""

    address: str = label("IP address")
    pid: int = label("process; 0: nettop")
    file: str = gauge("the file, as nettop sees it")
    names: tuple[str, ...] = gauge("the names that it gives the address")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Each address that is asked for, for each process; OSError where there is no such file."""
    asked, own = recall(memory, ways.Asked), source.text(FILE)
    wanted, rows = tuple({one.to: 0 for one in asked.questions}), list[Row]()
    for pid in (0, *asked.processes):
        path = f"/proc/{pid}/root{FILE}" if pid else FILE
        text = _sysfs.word(source, path) if pid else own
        if text is None:
            continue
        found = parsed(memory, path, (text, wanted), lambda it: names(*it))
        file = FILE if text.strip() == own.strip() else path
        rows += [Row(one, pid, file, found.get(one, ())) for one in wanted]
    return rows


def names(text: str, wanted: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The names of these addresses."""
    found: dict[str, tuple[str, ...]] = {}
    six = any(":" in one for one in wanted)
    for line in text[:LARGEST].splitlines():
        first, *rest = line.partition("#")[0].split() or [""]
        to = _address(first) if six and ":" in first else first
        if to in wanted:
            found[to] = (*found.get(to, ()), *rest)
    return found


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        return text
