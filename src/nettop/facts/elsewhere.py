"""Flows of other network namespaces: pods, containers, `ip netns`.

Their routes, interfaces and receive queues are not those of this namespace, so the flows have none.
Rules do not judge them: the settings of a rule are those of this namespace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Final

from ..collect.sockets_tcp import Row as TcpRow
from ..collect.sockets_udp import Row as UdpRow
from ..frame.rates import Frame
from . import Facts, flows
from .flow_words import CALM, SHOWN
from .kinds.core import Core
from .kinds.flow import Flow
from .kinds.process import Tasks
from .landing import Landed
from .memo import Memo
from .port import Port

NAMED: Final = 4  # namespaces that are named
WHY: Final = "of another network namespace"


def names(frame: Frame) -> dict[int, str]:
    """The name of each other namespace, by inode; its inode where two have the same name."""
    known = frame.rows("namespaces")
    count = Counter(row.name for row in known)
    return {row.inode: row.name if count[row.name] == 1 else f"net:[{row.inode}]" for row in known}


def limited(frame: Frame, facts: Facts) -> list[str]:
    """One sentence for each namespace with limited flows, with the command that judges them."""
    known = names(frame)
    mounted = {known[row.inode] for row in frame.rows("namespaces") if row.mounted}
    limits = Counter(
        one.namespace for one in facts.limits if one.namespace is not None and one.over != "nic"
    )
    lines = []
    for name, number in limits.most_common(NAMED):
        more = " or more" * (number in (CALM, SHOWN))
        what = f"{number}{more} flow{'s' * (number > 1)}"
        where = f": nettop --netns {name} advise" if name in mounted else ""
        lines.append(f"not judged here: {what} of network namespace {name}{where}")
    left = len(limits) - NAMED
    if left > 0:
        lines.append(f"not judged here: flows of {left} more network namespaces")
    return lines


class Sites:
    """The sites of sockets of other namespaces: no interface, no queue, the name with `@SPACE`."""

    ports: Mapping[str, Port] = {}

    def __init__(self, spaces: Mapping[int, str]) -> None:
        """`spaces`: the name of each namespace, by inode."""
        self.spaces = spaces

    def begin(self) -> None:
        """Start a frame; nothing is kept from the last one."""

    def site(self, key: Hashable, protocol: str, row: TcpRow | UdpRow) -> Landed:  # noqa: ARG002
        """The site of a socket."""
        inode = getattr(row, "namespace", 0)
        space = self.spaces.get(inode) or f"net:[{inode}]"
        return Landed(None, None, None, WHY, space)


def build(
    frame: Frame, owners: Mapping[int, tuple[int, str]], tasks: Tasks, cores: Mapping[int, Core],
    kept: flows.Kept, memo: Memo,
) -> tuple[Flow, ...]:  # fmt: skip
    """The busiest flows, and UDP sockets that lose or hold datagrams, as those of this namespace.

    `owners` maps an inode to the process and its name. `kept` and `memo` are for the next call: the
    sockets are joined again only after they were read again.
    """
    tcp, udp = frame.tables.get("netns_tcp", ()), frame.tables.get("netns_udp", ())
    if not tcp and not udp:
        return ()
    spaces = memo.get("spaces", (frame.tables.get("namespaces"),), lambda: names(frame))
    sites = Sites(spaces)
    sockets = memo.get(
        "elsewhere",
        (tcp, udp, spaces, owners),
        lambda: flows.Sockets.of(tcp, udp, sites, owners),
        rates=True,
    )
    return flows.build(sockets, flows.FlowInputs(sites, {}, {}, cores, tasks, {}, kept=kept))
