"""Frames of two hosts: the other host first, then this one, then the sockets of both.

The sockets are read again in three small frames, since a whole frame takes long: a flow at 1 Gb/s
sends ten thousand segments meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ..frame.both import Both, Close
from ..host.apart import AFTER, BEFORE, THERE, apart
from ..host.source import Source
from .sampler import Sampler

_SOCKETS: Final = ("sockets_tcp",)


class CloseSampler:
    """Takes the small frames, with samplers of its own: rates need the frame before."""

    def __init__(self, here: Source, there: Source) -> None:
        """The sources of this host and of the other; in a recording these are entries apart."""
        self._near, self._far = Sampler(here), Sampler(there)

    def take(self) -> Close:
        """The sockets of both hosts. HostLostError when one cannot be read."""
        with apart(self._near.source, BEFORE):
            before = self._near.take(_SOCKETS)
        with apart(self._far.source, THERE):
            there = self._far.take(_SOCKETS)
        with apart(self._near.source, AFTER):
            return Close(before, there, self._near.take(_SOCKETS))


@dataclass(slots=True)
class BothSampler:
    """Takes frames of two hosts with the sampler of each."""

    here: Sampler
    there: Sampler
    _close: CloseSampler = field(init=False)

    def __post_init__(self) -> None:
        """The sources are those of the samplers."""
        self._close = CloseSampler(self.here.source, self.there.source)

    def take(self, wanted: Collection[str]) -> Both:
        """One frame of each host. HostLostError when one cannot be read."""
        there = self.there.take(wanted)
        here = self.here.take(wanted)
        return Both(here, there, self._close.take())
