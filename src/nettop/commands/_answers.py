"""Whether datagrams of programs of this host to an address are answered, as far as sockets show.

A program that asks from a connected socket closes it with the answer or after its timeout. Sockets
that are seen again and again without data have asked in vain; those with an answer are gone within
milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..collect import sockets_udp
from ..facts.way.flow import SUSPECT, Step

if TYPE_CHECKING:
    from ..facts.way import Flow
    from ..host.source import Source

_READINGS: Final = 12
_EVERY: Final = 0.2  # seconds between two: shorter than a timeout, longer than an answer takes
LEAST: Final = 2  # sockets that waited: one may be kept by a program that asks rarely


def unanswered(source: Source, flow: Flow) -> Step | None:
    """A step if sockets to the destination of the flow wait and end without an answer.

    OSError and ValueError as `sockets_udp.update`.
    """
    seen: dict[int, int] = {}
    answered: set[int] = set()
    first: set[int] = set()
    last: set[int] = set()
    for number in range(_READINGS):
        rows = [
            row for row in sockets_udp.update(source, {})
            if (row.remote, row.remote_port) == (flow.to, flow.port) and row.inode
        ]  # fmt: skip
        last = {row.inode for row in rows}
        first = last if not number else first
        answered |= {row.inode for row in rows if row.recv_q}
        seen = {inode: seen.get(inode, 0) + 1 for inode in last} | {
            inode: count for inode, count in seen.items() if inode not in last
        }
        if number + 1 < _READINGS and not source.wait(_EVERY):
            break
    kept = answered | (first & last)
    waited = [inode for inode, count in seen.items() if count > 1 and inode not in kept]
    if len(waited) < LEAST:
        return None
    return Step(
        "answers", SUSPECT,
        f"{len(waited)} sockets of this host asked {flow.name} while nettop looked, and no answer "
        "reached them", f"tcpdump -ni any udp port {flow.port} and host {flow.to}",
        f"see whether {flow.name} answers: its program, a firewall there, or an answer that comes "
        "from another address or port, which a connected socket does not take",
    )  # fmt: skip
