"""One question about a route: RTM_GETROUTE with its parameters (rtnetlink(7)).

net/ipv4/route.c, inet_rtm_getroute(); net/ipv6/route.c, inet6_rtm_getroute(). With an incoming
interface the kernel answers as for a packet that arrives there.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping
from socket import AF_INET, AF_INET6, inet_pton
from typing import Final

from ...terms.dataclass import dataclass
from . import route
from .codec import Attributes, Request, attribute, decode, messages

_LOOKUP_TABLE, _FIB_MATCH = 0x1000, 0x2000  # RTM_F_*; the second since Linux 4.13
DST, SRC, IIF, OIF, MARK, UID, IP_PROTO, DPORT = 1, 2, 3, 4, 16, 25, 27, 29  # RTA_*
_PROTOCOLS: Final = {"tcp": 6, "udp": 17}


@dataclass(frozen=True, slots=True)
class Question:
    """What the kernel is asked; empty fields are left out."""

    to: str
    source: str = ""  # source address
    arrives: str = ""  # interface on which the packet comes in
    leaves: str = ""  # interface to which the socket is bound
    mark: int = 0
    protocol: str = "tcp"
    port: int = 0
    user: int = 0  # who sends

    @property
    def name(self) -> str:
        """The parameters as a recording has them."""
        words = [self.to]
        for word in ("source", "arrives", "leaves", "mark", "protocol", "port", "user"):
            value = getattr(self, word)
            if value and (word != "protocol" or self.port):
                words += [word, str(value)]
        return "route/way/" + "/".join(words)


def request(question: Question, names: Mapping[int, str], *, match: bool = False) -> Request:
    """The request; OSError for an interface that is not there, ValueError for no address."""
    family = AF_INET6 if ":" in question.to else AF_INET
    to = inet_pton(family, question.to)
    known = {name: index for index, name in names.items()}
    body = attribute(DST, to)
    if question.source:
        body += attribute(SRC, inet_pton(family, question.source))
    for number, interface in ((IIF, question.arrives), (OIF, question.leaves)):
        if interface:
            if interface not in known:
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
            body += attribute(number, struct.pack("=I", known[interface]))
    if question.mark:
        body += attribute(MARK, struct.pack("=I", question.mark))
    if question.user:
        body += attribute(UID, struct.pack("=I", question.user))
    if question.port:
        body += attribute(IP_PROTO, struct.pack("=B", _PROTOCOLS[question.protocol]))
        body += attribute(DPORT, struct.pack(">H", question.port))
    bits, flags = 8 * len(to), _FIB_MATCH if match else _LOOKUP_TABLE
    head = route.RTMSG.pack(family, bits, bits if question.source else 0, 0, 0, 0, 0, 0, flags)
    name = question.name + "/match" if match else question.name
    return Request("route", route.GETROUTE, head + body, name)


def answered(reply: bytes) -> tuple[tuple[int, ...], Attributes]:
    """The head and the attributes of the one route; OSError for none."""
    for kind, start, end in messages(reply):
        if kind == route.NEWROUTE and end - start >= route.RTMSG.size:
            head = route.RTMSG.unpack_from(reply, start)
            return head, decode(reply, start + route.RTMSG.size, end, route.ROUTE)
    raise OSError(errno.ENOENT, "the kernel gave no route")
