"""A UDP socket that sends: its send buffer, or a program that offers no more.

A program sleeps in a call that sends while the memory of its datagrams fills the send buffer (net/
core/sock.c, sock_alloc_send_pskb()); it is free again once they have left the card. So a queue or a
card behind it is as full. What the program waits for otherwise, `feed` and `cpu` say.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....terms import units
from .. import Reading, sampled
from ..looks import Look
from ..stage import Stage
from ..window import share

STAGES: tuple[Stage, ...] = ()


def readings(look: Look) -> Iterator[Reading]:
    """The send buffer of a UDP socket, and its program."""
    flow = look.flow
    if look.over != "socket" or not look.sends or flow is None or flow.pid is None:
        return
    known = list(sampled.threads(look, (flow.pid,)))
    waits = max((one.gives for one in known), default=0.0)
    owner = f"{flow.process}[{flow.pid}]"
    why = f"{owner} waits {units.share(waits)} of the time for room in the send buffer of its "
    why += "socket: the queue or the card behind it takes no more"
    used = max(waits, share(bool(entry.now.send_q) for entry in look.udp))
    yield Reading("sndbuf", "here", "send buffer of the socket", "measured", why, used, None, waits)
    ran = max((one.ran for one in known), default=0.0)
    why = f"this host sends {units.per_second(look.facts.host.udp_out or 0.0, 'datagrams')}, and "
    why += f"of the programs with UDP sockets {owner} does: it ran or waited for a core "
    why += f"{units.share(ran)} of the time"
    yield Reading("application", "here", owner, "inferred", why, None, None,
                  max(0.0, 1.0 - ran - waits))  # fmt: skip
