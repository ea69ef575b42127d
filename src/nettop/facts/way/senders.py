"""Who sends: users and addresses of sockets, at which rules of routing may look (ip-rule(8)).

sock_diag tells the user of each socket (net/ipv4/inet_diag.c, inet_diag_msg_attrs_fill()). A call
that failed tells its process; its user is that of any socket of the process.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...collect.failed_calls import OPENED
from ...collect.failed_calls import Row as Call
from ...frame.rates import Frame
from ...terms.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Senders:
    """Users by the place to which a socket waits for its first answer, and by process."""

    places: Mapping[tuple[str, int], int]
    processes: Mapping[int, int]
    sources: Mapping[tuple[str, int], str]  # the address of the socket that waits

    @classmethod
    def of(cls, frame: Frame) -> Senders:
        """Those of a frame, as far as a rule looks at them: else the question is the same."""
        rules = frame.rows("routing_rules")
        rows = [one for table in ("sockets_tcp", "sockets_udp") for one in frame.rows(table)]
        waits = {(one.remote.removeprefix("::ffff:"), one.remote_port): one for one in rows
                 if getattr(one, "state", "") == "syn-sent"}  # fmt: skip
        sources = {place: one.local.removeprefix("::ffff:") for place, one in waits.items()
                   if any(row.source for row in rules)}  # fmt: skip
        if not any(row.users for row in rules):
            return cls({}, {}, sources)
        users = {one.inode: one.uid for one in rows if one.inode}
        processes = {
            call.pid: waits[place].uid for call in frame.rows("failed_calls")
            if call.error != OPENED and (place := _place(call)) in waits
        }  # fmt: skip
        processes |= {one.pid: users[one.inode] for one in frame.rows("socket_owners")
                      if one.pid is not None and one.inode in users}  # fmt: skip
        return cls({place: one.uid for place, one in waits.items()}, processes, sources)

    def user(self, place: tuple[str, int], pid: int | None = None) -> int:
        """Who sends there; 0 where it is not known, or is root."""
        return self.places.get(place, 0) if pid is None else self.processes.get(pid, 0)


def _place(call: Call) -> tuple[str, int]:
    return call.address.removeprefix("::ffff:"), int(call.port) if call.port.isdecimal() else 0
