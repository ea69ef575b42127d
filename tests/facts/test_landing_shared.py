"""Where flows land is kept once for flows between the same addresses, and no longer than them."""

from collections.abc import Iterator
from typing import Any

from flow_tables import HOST, frames, socket

from nettop.facts.joined import Joiner
from nettop.facts.kinds import kinds
from nettop.facts.landing import Landing
from nettop.frame.rates import Entry, Frame

FLOWS = 40


def landing(*moments: list[Any], **tables: Any) -> tuple[Joiner, Landing]:
    joiner = Joiner()
    for frame in frames(*({**HOST, **tables, "sockets_tcp": rows} for rows in moments)):
        joiner.build(frame)
    _inputs, value = joiner.memo.kept["landing"]
    assert isinstance(value, Landing)
    return joiner, value


def test_a_socket_bound_to_an_interface_lands_there() -> None:
    _, found = landing(
        [socket(1), socket(2, interface="lo"), socket(3, remote="192.0.2.9", local="192.0.2.1")]
    )
    assert [found.known[n].nic for n in (1, 2, 3)] == ["eth0", "lo", None]


def test_addresses_of_ended_flows_are_forgotten() -> None:
    first = [socket(n, remote=f"10.0.0.{2 + n}") for n in range(FLOWS)]
    later = [[socket(n) for n in (100, 100 + turn)] for turn in range(3)]
    _, found = landing(first, *later)
    assert len(found.shared) <= 2 * len(found.known)


# Sockets that were not read again are not looked at again for connection attempts. Counts.


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
