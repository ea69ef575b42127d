"""IPsec policies, and the number of states: XFRM_MSG_GETPOLICY, XFRM_MSG_GETSADINFO.

net/xfrm/xfrm_user.c. The states themselves are not read, because the answer has their keys. Both
requests need CAP_NET_ADMIN.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import route, xfrm
from ..host.netlink.codec import decode, messages, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, asked=True, optional=True)

_DIRECTIONS: Final = ("in", "out", "fwd")


@dataclass(frozen=True, slots=True)
class Row:
    """One policy."""

    direction: str = label("in out fwd")
    index: int = label("its number")
    to: str = gauge("destination network")
    source: str = gauge("source network")
    priority: int = gauge("the lowest is tried first")
    protocol: int = gauge("IP protocol; 0: any", default=0)
    port: int = gauge("destination port; 0: any", default=0)
    blocks: bool = gauge("packets are dropped", default=False)
    peer: str | None = maybe("other end of the tunnel or transport; None: sent as they are")
    states: int | None = maybe("IPsec states of this host", "entries")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every policy of the host. OSError, also without CAP_NET_ADMIN."""
    policies = xfrm.policies(source)
    states = xfrm.states(source) if policies else b""
    return parsed(memory, "xfrm_policies", (policies, states), lambda both: parse(*both))


def parse(policies: bytes, states: bytes) -> list[Row]:
    """The rows of both answers; ValueError if one is cut off."""
    count = None
    for _, start, end in messages(states):
        count = decode(states, start + 4, end, xfrm.SADINFO).get("count")
    rows = []
    for start, end in of_kind(policies, xfrm.NEWPOLICY, xfrm.POLICY_SIZE, "an IPsec policy"):
        selector = xfrm.SELECTOR.unpack_from(policies, start)
        to, source, port, mask, family, bits, source_bits, protocol = selector
        priority, index, direction, action = xfrm.RULE.unpack_from(policies, start + xfrm.RULE_AT)
        size = 4 if family == 2 else 16
        template = decode(policies, start + xfrm.POLICY_SIZE, end, xfrm.POLICY).get("template", b"")
        if direction < len(_DIRECTIONS) and family in (2, 10):
            peer = xfrm.end(template, comes=_DIRECTIONS[direction] != "out")
            rows.append(
                Row(
                    _DIRECTIONS[direction], index, route.prefix(to[:size], bits),
                    route.prefix(source[:size], source_bits), priority, protocol,
                    int.from_bytes(port, "big") if any(mask) else 0, action == xfrm.BLOCK,
                    route.ip(peer) if peer and any(peer) else "any" if peer else None, count,
                )
            )  # fmt: skip
    return rows
