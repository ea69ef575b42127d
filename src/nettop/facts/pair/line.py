"""The stages of both hosts in one line, from the thread that writes to the thread that reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from ..limits import Limit, Reading
from . import BETWEEN

SENDING: Final = (
    "application", "thread", "sndbuf", "cwnd", "pacing", "qdisc", "tx-ring", "slot", "wire",
    "pause", "provider",
)  # fmt: skip
RECEIVING: Final = (
    "provider", "pause", "wire", "slot", "port", "ring", "core", "backlog", "rwnd", "rcvbuf",
    "thread", "application",
)  # fmt: skip
NETWORK: Final = frozenset({"path", "provider", "pause"})  # between the hosts


def stages(sender: Limit | None, receiver: Limit | None, ends: tuple[str, str]) -> list[Reading]:
    """The stages on the way; `ends` are the hosts of sender and receiver, `here` or `there`."""
    near = sorted(_own(sender, SENDING, ends[0]), key=lambda one: SENDING.index(one.stage))
    path = [
        replace(one, end=BETWEEN)
        for one in (sender.ladder if sender else ())
        if one.stage == "path"
    ]
    far = list(_own(receiver, RECEIVING, ends[1]))
    far += [
        replace(one, end=ends[1])
        for one in (sender.ladder if sender else ())
        if one.stage == "rwnd"
    ]
    return [*near, *path, *sorted(far, key=lambda one: RECEIVING.index(one.stage))]


def _own(limit: Limit | None, order: Iterable[str], end: str) -> Iterator[Reading]:
    """The stages of one end that are in `order`, with the host at which they are."""
    for one in limit.ladder if limit is not None else ():
        if one.stage in order and (one.end == "here" or one.stage in NETWORK):
            yield replace(one, end=BETWEEN if one.end != "here" else end)
