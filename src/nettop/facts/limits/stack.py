"""The interfaces that packets pass below the one of a flow: of a bond, bridge, VLAN or tunnel.

Of several below, the one that moves at least as much as the flow; where several do, none is known.
Which interface a tunnel uses is decided by the route of its remote address, which no table has: it
is the only other one that moves as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ..kinds.nic import Nic
from .looks import Look

MOVES: Final = 0.75  # of the rate of the flow: counters and sockets are read at different times
LEVELS: Final = 8  # a deeper stack is a loop
LOWEST: Final = ("nic", "veth", "loopback", "wireless")


def stack(look: Look) -> tuple[Look, ...]:
    """The look, then the same look at each interface below."""
    if look.nic is None or look.device is not None or look.nic.kind in LOWEST:
        return (look,)
    nic = look.nic
    return look.window.once(
        ("stack", look.over, look.target, look.direction), lambda: tuple(_stack(look, nic))
    )


def _stack(look: Look, nic: Nic) -> Iterator[Look]:
    yield look
    nics = {one.name: one for one in look.facts.nics}
    for _ in range(LEVELS):
        names = look.window.below.get(nic.name) or ()
        found = carries(look, [nics[name] for name in names if name in nics])
        if not names and nic.kind == "tunnel":
            found = _apart(look, nic, nics.values())
        if found is None:
            return
        nic = found
        yield replace(look, nic=nic)


def carries(look: Look, nics: Sequence[Nic]) -> Nic | None:
    """The only one of these that moves as much as the flow."""
    moving = [one for one in nics if 8 * moved(look, one) >= MOVES * look.rate]
    return moving[0] if len(moving) == 1 else None


def _apart(look: Look, tunnel: Nic, nics: Iterable[Nic]) -> Nic | None:
    """The interface that a tunnel uses; of a stack the upper one."""
    least = MOVES * moved(look, tunnel)
    moving = [
        one for one in nics
        if one.name != tunnel.name and one.kind != "loopback" and moved(look, one) >= least
    ]  # fmt: skip
    lower = {name for one in moving for name in look.window.below.get(one.name, ())}
    above = [one for one in moving if one.name not in lower]
    return above[0] if least and len(above) == 1 else None


def moved(look: Look, nic: Nic) -> float:
    """Bytes a second in the direction of the flow."""
    return look.window.counted(nic.name, f"{look.direction}_bytes") or 0.0
