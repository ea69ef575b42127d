"""Connections that end before they are read twice: none of them has a rate, or a limit."""

from __future__ import annotations

from typing import Any

from ..frame.rates import Frame
from ..terms import units
from ..terms.dataclass import dataclass
from .flow_words import end


@dataclass(slots=True)
class Brief:
    """The connections of one end, ADDRESS[:PORT] or :PORT, that were new at each reading."""

    name: str  # of that end; empty: of none
    readings: int = -1  # at the first one every connection is new
    found: int = 0  # readings with new ones
    most: int = 0  # bytes that one of them had moved
    trip: int | None = None  # us, the shortest round trip

    def add(self, frame: Frame) -> None:
        """Count those of one reading."""
        entries = frame.tables.get("sockets_tcp", ())
        self.readings += 1
        rows = [one.now for one in entries if not one.rated] if self.readings and self.name else ()
        new = [row for row in rows if row.bytes_acked or row.bytes_received if self._has(row)]
        self.found += bool(new)
        for row in new:
            self.most = max(self.most, row.bytes_acked or 0, row.bytes_received or 0)
            trips = (self.trip, row.min_rtt or row.rtt or None)
            self.trip = min((one for one in trips if one is not None), default=None)

    def _has(self, row: Any) -> bool:
        ends = (row.local, row.local_port), (row.remote, row.remote_port)
        names = [end(address.removeprefix("::ffff:"), port) for address, port in ends]
        hosts = (one.rpartition(":")[0] for one in names)
        return self.name in (*names, *hosts) or any(
            self.name[0] == ":" and one.endswith(self.name) for one in names
        )

    def words(self) -> str:
        """What they have in common; empty: none was new that had moved data."""
        if not self.found:
            return ""
        each = "Each begins with a handshake and a small congestion window"
        each += f" (round trip {units.seconds(self.trip / 1e6)})" if self.trip else ""
        return (
            f"no lasting flow from or to {self.name} is active, but short ones pass: at "
            f"{self.found} of {self.readings} readings there was a new connection, with up to "
            f"{units.size(self.most)} moved. {each}. One that is kept (HTTP keep-alive, a pool), "
            "or larger pieces on each, saves that time"
        )
