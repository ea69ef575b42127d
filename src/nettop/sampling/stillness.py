"""Whether the TCP sockets of this host rest, by the host's count of segments.

To look at 100,000 connections takes a quarter of a second, and the search for their processes as
long again. While the host sends and receives almost no segment, none of them moves data: then both
may be repeated less often. More segments than before end that at once, whatever socket they belong
to.
"""

from __future__ import annotations

from typing import Final

from ..frame.rates import Frame
from ..terms.dataclass import dataclass

FEW: Final = 20.0  # segments/s, both directions: a host with more moves data
RISE: Final = 5.0  # segments/s above the least rate since the sockets were read: one moves data
REST: Final = 60.0  # seconds between readings of expensive sockets that rest, or of their owners
SOCKETS: Final = "sockets_tcp"
OWNERS: Final = "socket_owners"


@dataclass(slots=True)
class Stillness:
    """The segments since the sockets were read last."""

    sockets: object = None  # the table that was read last
    least: float | None = None  # segments/s
    risen: bool = False

    def longest(self, frame: Frame | None) -> dict[str, float]:
        """How many seconds the budget may let tables wait after this frame, if not as usual."""
        if frame is None or not self._rests(frame):
            return {}
        return dict.fromkeys((SOCKETS, OWNERS), REST)

    def _rests(self, frame: Frame) -> bool:
        sockets = frame.tables.get(SOCKETS)
        if sockets is None:
            return False
        if sockets is not self.sockets:
            self.sockets, self.least, self.risen = sockets, None, False
        counts = frame.tables.get("snmp", ())
        rates = [entry.rate(name) for entry in counts for name in ("tcp_in", "tcp_out")]
        known = [rate for rate in rates if rate is not None]
        if not rates or len(known) < len(rates):
            return False
        rate = sum(known)
        self.least = rate if self.least is None else min(rate, self.least)
        self.risen = self.risen or rate >= FEW or rate >= self.least + RISE
        return not self.risen
