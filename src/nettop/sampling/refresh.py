"""How long each table may go without a new reading, by the pane shown and the sockets seen.

A collector with `MAY_REST` is read every other second unless the pane shown names its table in
NEEDS. The search of /proc for the owners of sockets rests while every socket has a known process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from operator import is_
from typing import Any, Final

from .. import collect
from ..frame.rates import Frame

UNSEEN: Final = 2.0  # seconds between readings of a table with MAY_REST that no pane shows
REST: Final = 15.0  # seconds between searches when no socket is strange
STRANGE: Final = 60.0  # seconds in which the process of a new socket is searched for
_SOCKETS: Final = ("socket_owners", "sockets_tcp", "sockets_udp", "packet_sockets")


class RefreshPolicy:
    """Seconds that tables may wait; remembers since when sockets are strange."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._seen: tuple[Any, ...] = ()
        self._met: dict[int, float] = {}

    def of(self, frame: Frame | None, shown: Collection[str]) -> Mapping[str, float]:
        """The tables that may wait after `frame`, and how long; `shown` may not."""
        waits = dict.fromkeys(collect.resting().difference(shown), UNSEEN)
        if frame is not None and not self._strange(frame):
            waits["socket_owners"] = REST
        return waits

    def _strange(self, frame: Frame) -> bool:
        """Whether a socket of no known process was first seen a short while ago."""
        tables = tuple(map(frame.tables.get, _SOCKETS))
        if len(self._seen) != len(tables) or not all(map(is_, tables, self._seen)):
            self._seen = tables
            owned, *used = ({entry.now.inode for entry in table or ()} for table in tables)
            found = set[int]().union(*used) - owned - {0}
            self._met = {inode: self._met.get(inode, frame.at) for inode in found}
        return any(frame.at - at < STRANGE for at in self._met.values())
