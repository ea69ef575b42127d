"""Frames of two hosts: the other host with the sockets of both, then this one.

Of the other host the sockets are answered first, and those of this host are read before and after
that: a whole frame takes long, and a flow at 1 Gb/s sends ten thousand segments meanwhile. All that
is asked of the other host is one round trip.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, replace
from typing import Final

from ..frame.rates import Both, Close, Frame
from ..host.recording import AFTER, BEFORE, THERE, apart
from ..host.source import Source
from ..terms.dataclass import dataclass
from .ahead import First
from .sampler import Sampler

_SOCKETS: Final = ("sockets_tcp",)


class CloseSampler:
    """Takes frames of the other host, and the small frames, which have samplers of their own."""

    def __init__(self, here: Source, there: Sampler) -> None:
        """The source of this host; in a recording the small frames are entries apart."""
        self.there = there
        self._near, self._far = Sampler(here), Sampler(there.source, asks=False)
        self._before: Frame | None = None
        self._after: Frame | None = None
        self._clocks = 0.0, 0.0

    def take(self, wanted: Collection[str]) -> tuple[Frame, Close]:
        """The frame of the other host; the sockets of both. HostLostError if one is not read."""
        self._before = self._after = None
        frame = self.there.take(wanted, first=First(_SOCKETS, self.before, self.after))
        batched = self._after is not None
        if not batched:  # it answers each request at once
            self.before()
        with apart(self._far.source, THERE):
            there = self._far.take(_SOCKETS)
        if batched:
            there = replace(there, at=self._clocks[0], wall=self._clocks[1])
        else:
            self.after()
        assert self._before is not None  # noqa: S101
        assert self._after is not None  # noqa: S101
        return frame, Close(self._before, there, self._after)

    def before(self) -> None:
        """Read the sockets of this host before those of the other."""
        with apart(self._near.source, BEFORE):
            self._before = self._near.take(_SOCKETS)

    def after(self) -> None:
        """Read them after those of the other."""
        self._clocks = self.there.source.now(), self.there.source.wall()
        with apart(self._near.source, AFTER):
            self._after = self._near.take(_SOCKETS)


@dataclass(slots=True)
class BothSampler:
    """Takes frames of two hosts with the sampler of each."""

    here: Sampler
    there: Sampler
    _close: CloseSampler = field(init=False)

    def __post_init__(self) -> None:
        """The sources are those of the samplers."""
        self._close = CloseSampler(self.here.source, self.there)

    def take(self, wanted: Collection[str]) -> Both:
        """One frame of each host. HostLostError when one cannot be read."""
        there, close = self._close.take(wanted)
        return Both(self.here.take(wanted), there, close)
