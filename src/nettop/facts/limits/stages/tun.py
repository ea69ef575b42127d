"""The program that reads a TUN or TAP interface: what it does not take is dropped.

drivers/net/tun.c, tun_net_xmit(): a packet that finds the ring of the queue full is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....terms import units
from .. import Reading
from ..looks import Look
from ..stage import Stage

STAGES: Final[tuple[Stage, ...]] = ()  # it is the application
DROPS: Final = 1.0  # packets a second


def readings(look: Look) -> Iterator[Reading]:
    """That of an interface that sends."""
    nic = look.nic
    if look.over != "nic" or not look.sends or nic is None or nic.driver != "tun":
        return
    lost, taken = look.counted("tx_dropped") or 0.0, look.counted("tx_packets") or 0.0
    if lost < DROPS or look.device is not None:
        return
    who = next((one for one in look.facts.more.get("program", ()) if one.nic == nic.name), None)
    name = f"{who.name}[{who.pid}]" if who is not None else "program behind it"
    why = f"its queue is full: {units.per_second(lost, 'packets')} are dropped, and "
    why += f"{units.per_second(taken, 'packets')} are taken"
    held = lost / (lost + taken)
    yield Reading("application", "here", name, "measured", why, None, None, held)
