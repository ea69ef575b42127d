"""A program that passes data on, and waits for another of its sockets meanwhile."""

from __future__ import annotations

from typing import Final

from ...terms import units
from ..flow_words import end
from ..flow_words import name as flow_name
from ..kinds.flow import Flow
from .looks import Look
from .sampled import SOCKET, Cause, Shares

ALIKE: Final = 0.25  # of the larger rate: the difference of two flows that carry the same data
# bytes in for a byte out, at the least: what is compressed grows; of two clients of one port both
# would be ends of what one sends to the other
GROWS, PASSED = 0.005, 0.5
DNS: Final = 53  # the port of a name server


def on(look: Look, name: str, thread: Shares, kind: str) -> Cause | None:
    """A program that passes data on, and waits for its other connection.

    The call tells the socket; one of another client, from which hardly a byte comes, is none of
    what this flow carries. Of one that waits for events it is the only flow that carries about
    as much the other way: one into which more waits to be sent, or one from another host.
    """
    row, share = thread.rows[kind], units.share(thread.parts[kind])
    others = [
        one for one in look.facts.flows
        if one.pid == row.pid and one.protocol == "tcp" and look.flow is not None
        and one.inode != look.flow.inode
        and _pair(look, one, row.object if kind == SOCKET else "")
    ]  # fmt: skip
    if len(others) != 1:
        return None
    remote = end(others[0].remote, others[0].remote_port)
    if kind == SOCKET:
        does = "for data of" if look.sends else "until it can send to"
        why = f"{name} waits {share} of the time {does} {remote}"
    else:
        why = f"{name} waits {share} of the time for events, and "
        why += f"sends on what {remote} sends" if look.sends else f"{remote} takes no more"
    return Cause("relay", name, thread.parts[kind], why, other=flow_name(others[0]))


def datagrams(look: Look, name: str, thread: Shares) -> Cause | None:
    """A program that waits for datagrams: for a name server, or for what it passes on."""
    row, part = thread.rows[SOCKET], thread.parts[SOCKET]
    if not row.port or not look.sends:
        return None
    why = f"{name} waits {units.share(part)} of the time for datagrams (UDP) "
    if not row.remote:
        return Cause("relay", name, part, f"{why}at port {row.port}")
    why += f"of {end(row.remote, row.port)}"
    if row.port == DNS:
        return Cause("request", name, part, f"{why}, a name server")
    return Cause("relay", name, part, why)


def _pair(look: Look, other: Flow, told: str) -> bool:
    """Whether a flow of the same program goes on with this one; `told`: the socket of the call."""
    flow = look.flow
    if flow is None or (not told and look.sends and other.remote == flow.remote):
        return False
    rates = (flow.tx_per_s, other.rx_per_s) if look.sends else (flow.rx_per_s, other.tx_per_s)
    here, there = (one or 0.0 for one in rates)
    if told:
        least = PASSED if other.local_port == flow.local_port else GROWS
        return told == f"socket:[{other.inode}]" and there >= least * here
    alike = min(here, there) > 0.0 and abs(here - there) <= ALIKE * max(here, there)
    return alike and bool(look.sends or other.notsent)
