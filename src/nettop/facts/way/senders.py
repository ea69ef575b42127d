"""Who sends: the users of sockets, at which rules of policy routing may look (ip-rule(8)).

sock_diag tells the user of each socket (net/ipv4/inet_diag.c, inet_diag_msg_attrs_fill()). A call
that failed tells its process; its user is that of any socket of the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...collect.failed_calls import OPENED
from ...frame.rates import Frame
from ...terms.dataclass import dataclass

if TYPE_CHECKING:
    from ...collect.failed_calls import Row as Call


@dataclass(frozen=True, slots=True)
class Senders:
    """Users by the place to which a socket waits for its first answer, and by process."""

    places: Mapping[tuple[str, int], int]
    processes: Mapping[int, int]

    @classmethod
    def of(cls, frame: Frame) -> Senders:
        """Those of a frame; empty where no rule looks at users: the question is then the same."""
        if not any(row.users for row in frame.rows("routing_rules")):
            return cls({}, {})
        rows = [one for table in ("sockets_tcp", "sockets_udp") for one in frame.rows(table)]
        users = {one.inode: one.uid for one in rows if one.inode}
        places = {(one.remote.removeprefix("::ffff:"), one.remote_port): one.uid for one in rows
                  if getattr(one, "state", "") == "syn-sent"}  # fmt: skip
        processes = {
            call.pid: places[place] for call in frame.rows("failed_calls")
            if call.error != OPENED and (place := _place(call)) in places
        }  # fmt: skip
        processes |= {one.pid: users[one.inode] for one in frame.rows("socket_owners")
                      if one.pid is not None and one.inode in users}  # fmt: skip
        return cls(places, processes)

    def user(self, place: tuple[str, int], pid: int | None = None) -> int:
        """Who sends there; 0 where it is not known, or is root."""
        return self.places.get(place, 0) if pid is None else self.processes.get(pid, 0)


def _place(call: Call) -> tuple[str, int]:
    return call.address.removeprefix("::ffff:"), int(call.port) if call.port.isdecimal() else 0
