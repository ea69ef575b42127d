"""Sockets that ask an address in vain, as readings of the sockets show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nettop.commands import _way
from nettop.facts.way import Flow

TO = Flow("10.0.0.9", 53, protocol="udp")


class Readings:
    """A source whose UDP sockets are those of one reading after the other, then of the last."""

    def __init__(self, *readings: str) -> None:
        self._left: Iterator[str] = iter(readings)
        self._last = ""

    def text(self, path: str) -> str:
        """The file; /proc/net/udp6 is not there."""
        if path != "/proc/net/udp":
            raise FileNotFoundError(path)
        self._last = next(self._left, self._last)
        return self._last

    def wait(self, seconds: float) -> bool:
        """At once."""
        return seconds > 0

    def now(self) -> float:
        """Of no account."""
        return 0.0


def sockets(*inodes: int, unread: int = 0, port: int = 53) -> str:
    rows = [
        f" 1: 0100000A:9C40 0900000A:{port:04X} 01 00000000:{unread:08X} 00:00000000 00000000 0 0 "
        f"{inode} 2 0 0" for inode in inodes
    ]  # fmt: skip
    return "\n".join(["  sl  local_address rem_address", *rows]) + "\n"


def outcome(*readings: str) -> Any:
    source: Any = Readings(*readings)
    return _way.unanswered(source, TO)


def test_sockets_that_wait_and_end_without_an_answer_are_counted() -> None:
    found = outcome(*[sockets(1)] * 3, *[sockets(2)] * 3, *[sockets(3)] * 3, sockets())
    assert "3 sockets of this host asked 10.0.0.9:53" in found.saw
    assert "port 53 and host 10.0.0.9" in found.command


@pytest.mark.parametrize("readings", [
    [sockets(1, 2)],  # a forwarder keeps its sockets
    [sockets(1), sockets(2), sockets(3), sockets()],  # each is gone at the next reading
    [sockets(1), sockets(1), sockets(1, unread=80), sockets(2), sockets(2), sockets(2, unread=9),
     sockets()],
    [*[sockets(1, port=123)] * 3, *[sockets(2, port=123)] * 3, sockets()],
    [*[sockets(1)] * 3, sockets()],  # one
])  # fmt: skip
def test_answers_and_sockets_that_stay_tell_nothing(readings: list[str]) -> None:
    assert outcome(*readings) is None
