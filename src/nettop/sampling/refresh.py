"""Which tables need not be read each second, by who looks at the screen and what moved.

Some are judged over seconds and shown by few panes. And whose sockets are whose is searched for all
over /proc: that can rest as long as every socket that is seen has its process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from operator import is_
from typing import Any, Final

from ..frame.rates import Frame

# Read in every other second where the pane that is looked at does not name them in its NEEDS.
# So is nettop's own share.
PATIENT: Final = frozenset(
    "interrupts links meself nicqueues packet_sockets qdiscs snmp sockets_tcp sockets_udp "
    "softirqs".split()
)
UNSEEN: Final = 2.0  # seconds between their readings
REST: Final = 15.0  # seconds between searches when no socket is strange
STRANGE: Final = 60.0  # seconds in which the process of a new socket is searched for
_SOCKETS: Final = ("socket_owners", "sockets_tcp", "sockets_udp", "packet_sockets")


class Patience:
    """Seconds that tables may wait; remembers since when sockets are strange."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._seen: tuple[Any, ...] = ()
        self._met: dict[int, float] = {}

    def of(self, frame: Frame | None, shown: Collection[str]) -> Mapping[str, float]:
        """The tables that may wait after `frame`, and how long; `shown` may not."""
        waits = dict.fromkeys(PATIENT.difference(shown), UNSEEN)
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
