"""Frames of two hosts: the other host first, then this one, then the sockets of both.

The sockets are read again in three small frames, since a whole frame takes long: a flow at 1 Gb/s
sends ten thousand segments meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ..frame.both import Both, Close
from .sampler import Sampler

_SOCKETS: Final = ("sockets_tcp",)


@dataclass(slots=True)
class BothSampler:
    """Takes frames of two hosts with the sampler of each."""

    here: Sampler
    there: Sampler
    _near: Sampler = field(init=False)  # of the small frames
    _far: Sampler = field(init=False)

    def __post_init__(self) -> None:
        """The small frames have samplers of their own: rates need the frame before."""
        self._near, self._far = Sampler(self.here.source), Sampler(self.there.source)

    def take(self, wanted: Collection[str]) -> Both:
        """One frame of each host. HostLostError when one cannot be read."""
        there = self.there.take(wanted)
        here = self.here.take(wanted)
        return Both(here, there, self._close())

    def _close(self) -> Close:
        before = self._near.take(_SOCKETS)
        there = self._far.take(_SOCKETS)
        return Close(before, there, self._near.take(_SOCKETS))
