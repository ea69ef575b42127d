"""The name of a flow and of its process, its rate, and the rate below which it is idle.

Panes and limits need these; the class `Flow` itself, of seventy fields, is not loaded for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..frame.rates import Entry, Frame
    from .kinds.flow import Flow

SHOWN: Final = 256  # flows shown: the busiest; sums are of all
CALM: Final = 64  # … of those that move little, of which a large host has thousands
MOST: Final = 0.8  # of an interface's rate: a flow with this share represents the interface
# states of a connection of which one direction is closed; the other may go on (shutdown(2))
HALF: Final = ("fin-wait-1", "fin-wait-2", "close-wait")
EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - of a socket that is bound to all addresses
QUIET: Final = 100e3  # bit/s; a flow that moves less and holds no data is idle


def total(values: Iterable[float | None]) -> float | None:
    """The sum of the known values; None without any."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def part(some: float | None, whole: float | None) -> float | None:
    """The share of a whole, 1 at most: counters that are read one after the other may disagree."""
    return min(1.0, some / whole) if some is not None and whole else None


def joined(entry: Entry[Any]) -> bool:
    """Whether a TCP socket is a flow: established, or half closed while a program moves bytes."""
    row = entry.now
    if row.state not in HALF:
        return bool(row.state == "established")
    moved = (entry.rate(name) or 0.0 for name in ("bytes_acked", "bytes_received"))
    return bool(row.inode and not entry.still and sum(moved))


def rate(flow: Flow) -> float | None:
    """Bytes/s of both directions together; None before the second sample."""
    return total((flow.rx_per_s, flow.tx_per_s))


def together(flows: Iterable[Flow]) -> float | None:
    """The sum of the rates that are known, bytes/s; None if none is, as for UDP sockets."""
    return total(map(rate, flows))


def peer(flow: Flow) -> str:
    """Address and port of the other end; a UDP socket may have none."""
    if flow.protocol == "tcp":
        return f"{flow.remote}:{flow.remote_port}"
    return f"udp {flow.remote}:{flow.remote_port}" if flow.remote_port else "udp, any"


def name(flow: Flow) -> str:
    """`LOCAL>REMOTE` with ports."""
    return f"{end(flow.local, flow.local_port)}>{end(flow.remote, flow.remote_port)}"


def end(address: str, port: int) -> str:
    """`ADDRESS:PORT`, an IPv6 address in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def owners(frame: Frame) -> dict[int, str]:
    """By inode the process that holds a socket, as name[pid]; sockets without one are left out."""
    return {row.inode: f"{row.name}[{row.pid}]" for row in frame.rows("socket_owners") if row.pid}
