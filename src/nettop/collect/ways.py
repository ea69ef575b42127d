"""The kernel's own route answers: RTM_GETROUTE with its parameters (`host.netlink.way`).

For a packet that arrives, its reverse path filter decides too. A refusal is an answer: its errno.
What the kernel learnt of a destination, by a redirect or a report of a smaller MTU, is in no table:
only its answer has it (rt_fill_info() of net/ipv4/route.c, rt6_fill_node() of net/ipv6/route.c).
The questions come from `Asked` in the memory of the sampler.
"""

import errno
from collections.abc import Mapping, Sequence
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes
from ..host.netlink.route import Question, answered, request
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall
from .fib import KINDS
from .routes import IPV4, expires, gateway

__all__ = ["Asked", "Question", "Row"]

TABLE: Final = Table(every=2.0, asked=True, optional=True)

UNASKED: Final = "unasked"  # in place of an errno: nobody could ask the kernel
REDIRECTED: Final = 0x00040000  # RTCF_REDIRECTED, of IPv4
BY_REDIRECT: Final = 1  # RTPROT_REDIRECT, of IPv6
_MTU: Final = 2  # RTAX_MTU: its bit in the locked metrics


@dataclass
class Asked:
    """The questions of the next reading."""

    questions: tuple[Question, ...] = ()
    processes: tuple[int, ...] = ()  # that fail to reach what they are about


@dataclass(frozen=True, slots=True)
class Row:
    """One question and the kernel's answer."""

    to: str = label("destination address")
    source: str = label("source address of the question")
    arrives: str = label("interface on which the packet arrives; empty: this host sends it")
    leaves: str = label("interface to which the socket is bound")
    mark: int = label("packet mark")
    protocol: str = label("tcp or udp")
    port: int = label("destination port; 0: none")
    user: int = label("number of the user who sends", default=0)
    error: str = gauge("errno of a refusal; empty: there is a route", default="")
    why: str = gauge("the sentence with the error", default="")
    kind: str = gauge("unicast local broadcast …", default="")
    network: str | None = maybe("network of the route that matched")
    table: int | None = maybe("routing table of that route")
    interface: str | None = maybe("outgoing interface")
    gateway: str | None = maybe("next hop")
    address: str | None = maybe("source address that the kernel takes")
    mtu: int | None = maybe("MTU of the route", "bytes")
    locked: bool = gauge("the MTU of the route is locked: path MTU discovery does not change it",
                         default=False)  # fmt: skip
    redirected: bool = gauge("the next hop was learnt by an ICMP redirect", default=False)
    learnt: bool = gauge("what is known of this destination has a time at which it is forgotten",
                         default=False)  # fmt: skip

    def answers(self, question: Question) -> bool:
        """Whether it is the answer to this question."""
        return all(getattr(self, name) == getattr(question, name) for name in question.__slots__)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """One row for each question; OSError if the interfaces cannot be listed."""
    questions = recall(memory, Asked).questions
    if not questions:
        return []
    names = route.names(source)
    return [_row(source, question, names) for question in questions]


def _row(source: Source, question: Question, names: Mapping[int, str]) -> Row:
    mine = (question.to, question.source, question.arrives, question.leaves, question.mark,
            question.protocol, question.port, question.user)  # fmt: skip
    try:
        answer = answered(source.netlink(request(question, names)))
    except OSError as error:
        refused = error.errno not in (errno.ENOENT, errno.EPERM, errno.ETIMEDOUT, None)
        name = errno.errorcode.get(error.errno or 0, UNASKED) if refused else UNASKED
        return Row(*mine, error=name, why=error.strerror or str(error))
    head, values = answer
    match: tuple[tuple[int, ...], Attributes] | None = None
    try:
        match = answered(source.netlink(request(question, names, match=True)))
    except OSError:  # an older kernel
        network = None
    else:
        to = match[1].get("to") or bytes(4 if head[0] == IPV4 else 16)
        network = route.prefix(to, match[0][1])
    chosen, metrics = values.get("source"), values.get("metrics", {})
    return Row(
        *mine,
        kind=KINDS.get(head[7], str(head[7])),
        network=network,
        table=values.get("table"),  # the match has the main one: RTM_F_LOOKUP_TABLE was not asked
        interface=names.get(values.get("interface", 0)),
        gateway=gateway(values),
        address=route.ip(chosen) if chosen else None,
        mtu=metrics.get("mtu"),
        locked=bool(metrics.get("lock", 0) & 1 << _MTU),
        redirected=bool(head[8] & REDIRECTED) if head[0] == IPV4 else head[5] == BY_REDIRECT,
        learnt=expires(values.get("cacheinfo", b"")) > 0,
    )
