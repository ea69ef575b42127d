"""One moment of two hosts: a frame of each, and their TCP sockets read close together."""

from __future__ import annotations

from ..terms.dataclass import dataclass
from .rates import Frame


@dataclass(frozen=True, slots=True)
class Close:
    """The TCP sockets of both hosts; the other host was read between `before` and `after`.

    No clock is compared: what this host counted at the moment of `there` lies between what it
    counted in `before` and in `after`.
    """

    before: Frame
    there: Frame
    after: Frame


@dataclass(frozen=True, slots=True)
class Both:
    """The frames of this host (`here`) and of the other (`there`)."""

    here: Frame
    there: Frame
    close: Close
