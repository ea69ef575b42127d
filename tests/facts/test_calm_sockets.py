"""Packed sockets that move little: counted in groups, with the sums and rates of any others."""

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from packed_sockets import Sites, read
from tcp_bytes import socket, tcp_info

from nettop.collect import sockets_tcp
from nettop.facts import flow_words, flows, joined
from nettop.facts.landing import COMPUTED, Landed
from nettop.frame.fields import whole
from nettop.frame.pairs import Calm, entries
from nettop.frame.rates import Entry, Frame


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack the rows of every answer."""
    monkeypatch.setattr(sockets_tcp, "MANY", 0)


QUIET = {"notsent": 0}
CALM: list[tuple[dict[str, int], dict[str, Any], bool]] = [
    ({"acked": 1900, "received": 2900}, {}, True),
    ({"acked": 1500, "received": 4500}, {}, False),  # 3,000 bytes in one second
    ({"retrans": 6}, {}, False),
    ({"notsent": 1}, {}, False),
    ({"acked": 900}, {}, False),  # a counter cannot decrease: another socket
    ({}, {"recv_q": 1}, False),
    ({}, {"state": 8}, False),
    ({"cwnd": 11}, {}, True),
]


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize(("changed", "form", "calm"), CALM, ids=str)
def test_a_socket_that_moves_little_is_calm_and_has_the_rates_of_any_other(
    changed: dict[str, int], form: dict[str, Any], calm: bool
) -> None:
    seen: dict[bytes, Any] = {}
    before = entries(read(socket(7, info=tcp_info(**QUIET)), seen=seen), [], 0.0)
    rows = read(socket(7, info=tcp_info(**{**QUIET, **changed}), **form), seen)
    (entry,) = entries(rows, before, 1.0)
    assert isinstance(entry, Calm) == calm
    plain = Entry(whole(rows[0]), before=whole(before[0].now), seconds=1.0)
    if isinstance(entry, Calm):
        assert entry.rx_tx == (plain.rate("bytes_received"), plain.rate("bytes_acked"))
    assert entry == plain


@pytest.mark.usefixtures("packed")
def test_calm_sockets_are_paired_with_their_last_rows_wherever_they_are_listed() -> None:
    def table(numbers: list[int], acked: int) -> bytes:
        return b"".join(socket(n, info=tcp_info(**QUIET, acked=1000 + acked * n)) for n in numbers)

    seen: dict[bytes, Any] = {}
    before = entries(read(table([1, 2, 3, 4, 5], 0), seen=seen), [], 0.0)
    now: dict[bytes, Any] = {}
    found = entries(read(table([9, 1, 3, 5, 4], 1), seen, now), before, 1.0)
    assert [(one.now.cookie, one.rate("bytes_acked")) for one in found] == [
        (9, None), (1, 1.0), (3, 3.0), (5, 5.0), (4, 4.0),
    ]  # fmt: skip
    again = entries(read(table([9, 1, 3, 5, 4], 1), now), found, 1.0)
    assert all(isinstance(one, Calm) and one.still and one.rx_tx == (0, 0) for one in again)
    assert entries([one.now for one in again], again, 1.0) is again


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("why", ["the route", COMPUTED])
@pytest.mark.parametrize("speed", [None, 100_000.0, 10e9])
def test_sums_over_calm_sockets_are_those_of_whole_rows(
    why: str, speed: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Landing(Sites):
        ports: ClassVar[dict[str, Any]] = {"eth0": SimpleNamespace(speed=speed)}

        def site(self, *_: object) -> Landed:
            return Landed("eth0", "eth0", "rx-3", why)

    def summed() -> Any:
        seen: dict[bytes, Any] = {}
        table: Any = []
        for step in (0, 1):
            now: dict[bytes, Any] = {}
            parts = [
                socket(n, info=tcp_info(**QUIET, acked=1000 + 90 * step * n)) for n in range(60)
            ]
            rows = read(b"".join(parts), seen, now)
            seen, table = now, entries(rows, table, 1.0)
        found = flows.Sockets.of(table, (), Landing(), {4711: (1, "app")})
        return found.connections, found.by_nic, found.bulk, found.placed, found.uses

    packed = summed()
    monkeypatch.setattr(sockets_tcp, "MANY", 10**9)
    assert packed == summed()


@pytest.mark.usefixtures("packed")
def test_of_calm_sockets_those_that_move_most_are_shown() -> None:
    seen: dict[bytes, Any] = {}
    parts = [socket(n, info=tcp_info(**QUIET)) for n in range(1000)]
    before = entries(read(b"".join(parts), seen=seen), [], 0.0)
    for n in range(500):
        parts[n] = socket(n, info=tcp_info(**QUIET, acked=1001 + n))
    parts[0] = socket(0, info=tcp_info(**QUIET, acked=90_000))
    table = entries(read(b"".join(parts), seen), before, 1.0)
    found = flows.Sockets.of(table, (), Sites(), {})
    assert len(found.busiest) == flow_words.CALM + 1
    assert [entry.now.cookie for _, entry, _ in found.busiest[:3]] == [0, 499, 498]
    assert found.connections == 1000


@pytest.mark.usefixtures("packed")
def test_sockets_that_were_not_read_again_are_not_looked_at_for_openings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[object] = []

    def rated(entry: Entry[Any]) -> bool:
        looked.append(entry)
        return False

    table = entries(read(b"".join(socket(n) for n in range(500))), [], 0.0)
    joiner = joined.Joiner()
    first = joiner.build(Frame(0.0, 0.0, {"sockets_tcp": table})).more["opening"]
    monkeypatch.setattr(Entry, "rated", property(rated))
    assert joiner.build(Frame(1.0, 1.0, {"sockets_tcp": table})).more["opening"] is first
    assert len(first) == 1
    assert looked == []
