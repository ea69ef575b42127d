"""Answers to RTM_GETLINK without counters.

The kernel puts the counters of a link into each of its messages (`rtnl_fill_stats`,
net/core/rtnetlink.c), and no flag of the request omits them: RTEXT_FILTER_SKIP_STATS concerns
address families only. What it says of address families has the reachable time of neighbours, which
the kernel draws anew every five minutes for all links (`neigh_rand_reach_time`); nothing reads it
from here. Both become zero. So an answer changes if a link changes, not if a packet is sent: of a
thousand links, only those that changed are parsed and read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .codec import attributes, messages

# IFLA_STATS, IFLA_STATS64, IFLA_AF_SPEC (include/uapi/linux/if_link.h)
_UNSTEADY: Final = frozenset((7, 23, 26))
_NEWLINK: Final = 16
_HEAD: Final = 16  # bytes of struct ifinfomsg

Spans = Sequence[tuple[int, int]]
"""Start and end of the payload of each attribute that is zeroed."""


class Uncounted:
    """The last answer. Not for several threads at once."""

    def __init__(self) -> None:
        """No answer yet."""
        self._last = b""
        self._spans: Spans = ()

    def of(self, reply: bytes) -> bytes:
        """`reply` without counters: the same object as last time if nothing else changed.

        ValueError if an answer is cut off.
        """
        if len(reply) == len(self._last):  # the headers are compared too, so the spans hold
            bare = _zeroed(reply, self._spans)
            if bare == self._last:
                return self._last
        self._spans = tuple(_spans(reply))
        self._last = _zeroed(reply, self._spans)
        return self._last


def _zeroed(reply: bytes, spans: Spans) -> bytes:
    bare = bytearray(reply)
    for start, end in spans:
        bare[start:end] = bytes(end - start)
    return bytes(bare)


def _spans(reply: bytes) -> Iterator[tuple[int, int]]:
    for kind, start, end in messages(reply):
        if kind == _NEWLINK:
            for number, first, last in attributes(reply, start + _HEAD, end):
                if number in _UNSTEADY:
                    yield first, last
