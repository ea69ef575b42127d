"""How long each table may go without a new reading.

A collector with `MAY_REST` is read every other second unless the visible pane names its table in
NEEDS. The search of /proc for the owners of sockets pauses while all sockets have known processes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import is_
from typing import Final

from .. import collect
from ..frame.rates import Frame

UNSEEN: Final = 2.0  # seconds between readings of a table with MAY_REST that no pane shows
REST: Final = 15.0  # seconds between searches while every socket has a known process
UNKNOWN: Final = 60.0  # seconds in which the process of a new socket is searched for
_SOCKETS: Final = (
    "socket_owners", "sockets_tcp", "sockets_udp", "packet_sockets", "netns_tcp", "netns_udp",
)  # fmt: skip


class RefreshPolicy:
    """How long tables may wait; remembers since when sockets have no known process."""

    def __init__(self) -> None:
        """No frame yet."""
        self._seen: tuple[Sequence[object] | None, ...] = ()
        self._met: dict[int, float] = {}

    def of(self, frame: Frame | None, shown: Collection[str]) -> Mapping[str, float]:
        """Seconds that each table may wait after `frame`; the tables `shown` may not."""
        waits = dict.fromkeys(collect.resting().difference(shown), UNSEEN)
        if frame is not None and not self._unknown(frame):
            waits["socket_owners"] = REST
        return waits

    def _unknown(self, frame: Frame) -> bool:
        """Whether a socket without a known process appeared a short time ago."""
        tables = tuple(map(frame.tables.get, _SOCKETS))
        if len(self._seen) != len(tables) or not all(map(is_, tables, self._seen)):
            self._seen = tables
            owned, *used = ({entry.now.inode for entry in table or ()} for table in tables)
            new = set[int]().union(*used) - owned - {0}
            self._met = {inode: self._met.get(inode, frame.at) for inode in new}
        return any(frame.at - at < UNKNOWN for at in self._met.values())
