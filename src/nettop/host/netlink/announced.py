"""Answers that stay valid until the kernel announces a change (rtnetlink multicast groups).

`RTNLGRP_LINK` announces changes of links, `RTNLGRP_TC` those of the root qdisc that a link names
(net/core/rtnetlink.c, net/sched/sch_api.c). A few counts in the answer change without one, such as
the users of promiscuous mode, so that an answer is kept for `LONGEST` seconds only.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Final

LONGEST: Final = 15.0  # seconds
_GROUPS: Final = 1 | 1 << 3  # RTMGRP_LINK and RTMGRP_TC (include/uapi/linux/rtnetlink.h)
_PROTOCOL: Final = 0  # NETLINK_ROUTE


class Announced:
    """The answers, and the socket that hears the announcements of one network namespace."""

    def __init__(self) -> None:
        """The socket is opened before the first question."""
        self._lock = threading.Lock()
        self._door: socket.socket | None = None
        self._answers: dict[str, tuple[float, bytes]] = {}

    def answer(self, name: str, ask: Callable[[], bytes]) -> bytes:
        """The same object as last time unless a change was announced; any error of `ask`."""
        with self._lock:
            now = time.monotonic()
            if self._heard():
                self._answers.clear()
            known = self._answers.get(name)
            if known is not None and now - known[0] < LONGEST:
                return known[1]
            data = ask()
            if known is not None and known[1] == data:
                data = known[1]
            self._answers[name] = now, data
            return data

    def close(self) -> None:
        """Close the socket and forget the answers."""
        with self._lock:
            self._answers.clear()
            if self._door is not None:
                self._door.close()
                self._door = None

    def _heard(self) -> bool:
        """Whether a change was announced since the last call, or may have been."""
        if self._door is None:
            kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
            door = socket.socket(socket.AF_NETLINK, kind, _PROTOCOL)
            try:
                door.bind((0, _GROUPS))
            except OSError:
                door.close()
                return True
            self._door = door
            return True
        heard = False
        while True:
            try:
                self._door.recv(1)  # the rest of the message is discarded
            except BlockingIOError:
                return heard
            except OSError:  # ENOBUFS: announcements were lost
                pass
            heard = True
