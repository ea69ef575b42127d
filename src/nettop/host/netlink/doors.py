"""Sockets, also for a process that can open none any more (`files.descriptors`)."""

from __future__ import annotations

import socket
from contextlib import suppress

from ...files import descriptors


class _Kept(socket.socket):
    """A socket whose descriptor outlives it."""

    def close(self) -> None:
        """Leave the descriptor open."""
        self.detach()

    def __del__(self) -> None:
        """A socket that nobody holds leaves it open as well."""
        self.detach()


def door(family: int, kind: int, protocol: int = 0) -> socket.socket:
    """A new socket; the kept one, without what it had still to read, if none can be opened."""
    try:
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        kept = _Kept(fileno=descriptors.instead(error, family, kind, protocol))
        with suppress(OSError):
            while kept.recv(1, socket.MSG_DONTWAIT):
                pass
        return kept
    descriptors.keep(made.fileno(), family, kind, protocol)
    return made
