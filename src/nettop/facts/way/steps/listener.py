"""The socket that takes the packets of this host: net/ipv4/inet_hashtables.c, net/ipv4/udp.c."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from ...flow_words import EVERYWHERE, end
from ..flow import HIDDEN, PASSES, STOPS, Step
from ..host import address
from ..legs import IN, Leg

if TYPE_CHECKING:
    from ..host import Host

PLACE: Final = 110
_STOPPED: Final = "Tt"  # state of a process in /proc/PID/stat


def look(leg: Leg) -> Iterator[Step]:
    """Who listens at the port."""
    flow, host = leg.flow, leg.host
    if leg.role != IN or leg.back or not leg.hop.goes or not flow.port:
        return
    table = f"sockets_{flow.protocol}"
    show = f"ss -ln{flow.protocol[0]}p sport = :{flow.port}"
    if why := host.unread(table):
        yield Step("listener", HIDDEN, f"the sockets: {why}", show)
        return
    rows = [
        one for one in host.frame.rows(table)
        if one.local_port == flow.port
        and (one.state == "listen" if flow.protocol == "tcp" else not one.remote_port)
    ]  # fmt: skip
    mine = [one for one in rows if _takes(one.local, flow.to)]
    name = end(flow.to, flow.port)
    if not mine:
        if rows:
            one = rows[0]
            yield Step(
                "listener", STOPS, f"nothing listens at {name}: {_who(host, one.inode)} listens at "
                f"{end(one.local, one.local_port)} only", show,
                f"let the service listen at {flow.to} or at every address",
            )  # fmt: skip
        else:
            yield Step("listener", STOPS, f"nothing listens at {flow.protocol} port {flow.port}",
                       show, "start the service")  # fmt: skip
        return
    yield from _state(host, mine[0], name, show, flow.protocol)


def _takes(local: str, to: str) -> bool:
    if local in EVERYWHERE:
        return local == "::" or address(to).version == 4
    return address(local) == address(to)


def _state(host: Host, row: Any, name: str, show: str, protocol: str) -> Iterator[Step]:
    """The queue of the socket, and its process."""
    who, pid = _who(host, row.inode), _pid(host, row.inode)
    state = next((one.state for one in host.frame.rows("processes") if one.pid == pid), "")
    if state and state in _STOPPED:
        yield Step("listener", STOPS, f"{who}, which listens at {name}, is stopped by a signal",
                   f"ps -o pid,stat,cmd -p {pid}", f"kill -CONT {pid}")  # fmt: skip
    elif protocol == "tcp" and row.recv_q > row.send_q:
        yield Step("listener", STOPS, f"the accept queue of {who} at {name} is full "
                   f"({row.recv_q} of {row.send_q})", show,
                   f"{who} must accept its connections")  # fmt: skip
    else:
        yield Step("listener", PASSES, f"{who} listens at {end(row.local, row.local_port)}", show)


def _pid(host: Host, inode: int) -> int | None:
    rows = host.frame.rows("socket_owners")
    return next((one.pid for one in rows if one.inode == inode), None)


def _who(host: Host, inode: int) -> str:
    rows = host.frame.rows("socket_owners")
    return next((f"{one.name}[{one.pid}]" for one in rows if one.inode == inode), "a process")
