"""Losses staged one kind after the other, and what the kernel says of each.

`main` runs in the near namespace of `veth.pair`; its arguments are the far one, and kinds.
"""

import json
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

import loss_ends
import loss_kinds
from loss_packets import KINDS, do, far, hardware
from veth import FAR, NEAR

from nettop.collect import drop_reasons
from nettop.collect._counted import UNKNOWN
from nettop.facts.accounting import account
from nettop.host.bpf.drops import Counter as Drops
from nettop.host.source import Live
from nettop.views.observer import Observer

assert loss_ends, loss_kinds  # they fill `KINDS`
# tcp_rcv_state_process() frees these as it does a SYN that is taken: a counter alone tells them
COUNTED: Final = ("a full queue of connections",)


class Result(NamedTuple):
    """What became of a kind: packets that were lost, and those with a reason of the table.

    Or with a place that has words there. `counted`: those that a counter alone tells; `why` the
    kind could not be staged.
    """

    name: str
    lost: int
    explained: int
    counted: int
    reasons: list[str]
    why: str = ""


def played(name: str, drops: Drops) -> Result:
    """Stage one kind."""
    steps = KINDS[name]()
    try:
        next(steps)
    except OSError as error:
        return Result(name, 0, 0, 0, [], str(error))
    if name in COUNTED:
        return counted(name, steps)
    before = reasons(drops)
    lost = next(steps) or 0
    found = reasons(drops) - before
    for _ in range(20):  # what is dropped later than the call ends
        if found.total() >= lost:
            break
        time.sleep(0.05)
        found = reasons(drops) - before
    with suppress(StopIteration):
        next(steps)
    return Result(name, lost, min(lost, found.total()), 0, [*found])


def counted(name: str, steps: Iterator[int | None]) -> Result:
    """Go on with a kind that is told by stage, in a look."""
    observer = Observer(Live())
    observer.deep = True
    first = observer.step()
    lost = next(steps) or 0
    observer.sampler.refresh()
    last = observer.step()
    with suppress(StopIteration):
        next(steps)
    one = account((first.frame, first.facts), (last.frame, last.facts))
    places = {place.counter: place.packets for place in one.places}
    return Result(name, lost, 0, min(lost, sum(one.stages.values())), [*places])


def reasons(drops: Drops) -> Counter[str]:
    """Packets that have a reason, with its place; what this host says by itself left out."""
    found = Counter[str]()
    for row in drop_reasons.parse(drops.text()):
        known = drop_reasons.words(row.reason, row.place).kind != UNKNOWN
        if known and row.place and row.where != "elsewhere" and row.protocol != "icmp6":
            found[f"{row.reason} {row.place}"] += row.packets
    return found


def main() -> None:
    """Print what became of each kind."""
    drops = Drops()
    with far(socket.AF_PACKET, socket.SOCK_RAW, 0) as door:
        door.bind(("eth0", 0))
        known = door.getsockname()[4].hex(":")
    do(f"ip neigh replace {FAR} lladdr {known} dev eth0 nud permanent",
       f"ip -n {sys.argv[1]} neigh replace {NEAR} lladdr {hardware().hex(':')} dev eth0 "
       "nud permanent")  # fmt: skip
    print(json.dumps([played(name, drops) for name in sys.argv[2:] or KINDS]))
