"""Sockets that were not read again are not looked at again for connection attempts. Counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flow_tables import socket

from nettop.facts.joined import Joiner
from nettop.facts.kinds import kinds
from nettop.frame.rates import Entry, Frame


class Counted(list[Entry[Any]]):
    """Entries; counts how often all of them are looked at."""

    looks = 0

    def __iter__(self) -> Iterator[Entry[Any]]:
        self.looks += 1
        return super().__iter__()


def entries(count: int) -> Counted:
    waits = {"state": "syn-sent", "total_retrans": 3}
    return Counted(Entry(socket(n, inode=n + 1, **waits)) for n in range(count))


def test_attempts_are_counted_again_only_when_the_sockets_were_read() -> None:
    joiner, kind = Joiner(), kinds()["attempt"]
    facts: Any = None  # the sockets are enough
    table = entries(5)
    made = [joiner._own(kind, _frame(at, table), facts) for at in (1.0, 2.0, 3.0)]
    assert made[0] is made[1] is made[2]
    once = table.looks
    assert joiner._own(kind, _frame(4.0, entries(6)), facts) != made[0]
    assert table.looks == once > 0


def _frame(at: float, table: Counted) -> Frame:
    return Frame(at, at, {"sockets_tcp": table}, {}, {})
