"""The program that reads a TUN or TAP interface: what it does not take is dropped.

drivers/net/tun.c, tun_net_xmit(): a packet that finds the ring of the queue full is dropped. Until
then it waits there, as at a link: a program without time on its core limits what it tunnels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....terms import units
from .. import Reading
from ..looks import Look
from ..stage import Stage
from . import cpu as cpus
from ._budget import BUSY

STAGES: Final[tuple[Stage, ...]] = ()  # it is the application
WAITED: Final = 0.05  # of the time, for a core
DROPS: Final = 1.0  # packets a second


def readings(look: Look) -> Iterator[Reading]:
    """That of an interface that sends."""
    nic = look.nic
    if not look.sends or nic is None or nic.driver != "tun":
        return
    if look.over == "flow":
        yield from _behind(look, nic.name)
    if look.over != "nic":
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


def _behind(look: Look, interface: str) -> Iterator[Reading]:
    """The program that takes the packets of a flow, if its busiest thread has no more time."""
    pids = [one.pid for one in look.facts.more.get("program", ()) if one.nic == interface]
    known = [one for pid in pids for one in cpus.threads(look, pid) or cpus.whole(look, pid)]
    busiest = max(known, key=lambda one: one.used, default=None)
    if busiest is None or busiest.used < BUSY:
        return
    why = f"it takes the packets of {interface}, and ran {units.share(busiest.ran)} of the time"
    if busiest.waited >= WAITED:
        why += f"; waited for a core {units.share(min(busiest.waited, 1.0 - busiest.ran))}"
    yield Reading("thread", "here", busiest.name, "measured", why, busiest.used,
                  busiest.carried(look.rate)[0], busiest.used, None, busiest.tid)  # fmt: skip
