"""Packed rows of TCP sockets: the same as whole ones, found again, and small."""

import tracemalloc
from dataclasses import fields, replace
from typing import Any

import pytest
from netlink_bytes import Fake, message, text
from packed_sockets import Sites, read
from tcp_bytes import socket, tcp_info

from nettop.collect import _tcp_row, sockets_tcp
from nettop.collect._table import Memory
from nettop.collect._tcp_row import PackedRow
from nettop.facts import flow_words, flows
from nettop.facts.limits.window import Track, _moves
from nettop.frame.fields import values, whole
from nettop.frame.pairs import entries
from nettop.frame.rates import Entry
from nettop.sampling.sampler import Sampler

AGES: dict[str, Any] = {"last_sent": None, "last_received": None}  # not in a packed row
NUMBERS = (
    "mss", "unacked", "lost", "pmtu", "rtt", "rttvar", "ssthresh", "cwnd", "rcv_space", "retrans",
    "pacing", "max_pacing", "acked", "received", "segs_out", "segs_in", "notsent", "min_rtt",
    "delivery", "busy", "rwnd", "sndbuf", "delivered", "sent", "again", "needless", "reordered",
    "gaps", "offered", "options", "scales", "flags",
)  # fmt: skip
KINDS: list[dict[str, Any]] = [
    {}, {"recv_q": 5}, {"state": 8}, {"state": 77}, {"ipv6": True}, {"congestion": "bbr"},
    {"interface": 3}, {"expires": 9}, {"info": tcp_info(ssthresh=0x7FFFFFFF, min_rtt=0xFFFFFFFF)},
    {"info": tcp_info(pacing=(1 << 64) - 1, delivery=0)}, {"info": tcp_info(options=0)},
]  # fmt: skip


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack the rows of every answer."""
    monkeypatch.setattr(sockets_tcp, "MANY", 0)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_each_attribute_but_the_age_is_that_of_the_whole_row(
    kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = replace(read(socket(7, **kind))[0], **AGES)
    monkeypatch.setattr(sockets_tcp, "MANY", 0)
    (small,) = read(socket(7, **kind))
    assert isinstance(small, PackedRow)
    assert whole(small) == row
    assert whole(small).interface == row.interface
    assert small == row
    assert row == small
    assert values(small) == values(row)
    for one in fields(sockets_tcp.Row):
        assert getattr(small, one.name) == getattr(row, one.name), one.name


@pytest.mark.usefixtures("packed")
def test_a_listening_socket_and_one_of_an_older_kernel_are_not_packed() -> None:
    seen: dict[bytes, Any] = {}
    raw = socket(1, state=10) + socket(2, info=tcp_info(224)) + socket(3, memory=8)
    first = read(raw, seen=seen)
    assert [type(row) for row in first] == [sockets_tcp.Row] * 3
    again = read(raw, seen)
    assert all(old is new for old, new in zip(first, again, strict=True))


@pytest.mark.usefixtures("packed")
def test_a_message_with_attributes_in_another_order_is_not_packed() -> None:
    usual, name = socket(7), text(4, "cubic")
    assert usual.endswith(name)
    (row,) = read(message(20, usual[16:88] + name + usual[88 : -len(name)]))
    assert type(row) is sockets_tcp.Row
    assert (row.congestion, row.rtt) == ("cubic", 250)


@pytest.mark.usefixtures("packed")
def test_an_idle_socket_keeps_its_row_and_a_changed_one_does_not() -> None:
    seen: dict[bytes, Any] = {}
    (first,) = read(socket(7), seen=seen)
    (same,) = read(socket(7, info=tcp_info(ages=99999), expires=5), seen)
    assert same is first
    for name in NUMBERS:
        (other,) = read(socket(7, info=tcp_info(**{name: 6})), seen)
        assert other is not first, name
        assert other != first, name
    (later,) = read(socket(8), seen)  # another cookie is another socket
    assert (later.cookie, later is first) == (8, False)


def test_a_socket_is_found_again_when_a_host_gets_many_and_when_it_has_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = []
    seen: dict[bytes, Any] = {}
    table: Any = []
    for acked, many in ((0, 10**9), (1000, 0), (3000, 0), (6000, 10**9), (10000, 10**9)):
        monkeypatch.setattr(sockets_tcp, "MANY", many)
        now: dict[bytes, Any] = {}
        rows = read(socket(7, info=tcp_info(acked=acked)), seen, now)
        seen, table = now, entries(rows, table, 1.0)
        counts.append(table[0].rate("bytes_acked"))
        assert table[0].per_s is None or table[0].per_s.bytes_acked == counts[-1]
        assert table[0].unpacked() == table[0]
    assert counts == [None, 1000.0, 2000.0, 3000.0, 4000.0]


@pytest.mark.usefixtures("packed")
def test_rates_of_packed_rows_are_those_of_whole_ones() -> None:
    old = read(socket(7))[0]
    new = read(socket(7, info=tcp_info(acked=5000, received=9000, retrans=6, busy=10_000)))[0]
    small = Entry(new, before=old, seconds=2.0)
    large = Entry(whole(new), before=whole(old), seconds=2.0)
    for name in ("bytes_acked", "bytes_received", "total_retrans", "busy_time", "drops"):
        assert small.rate(name) == large.rate(name) is not None
    assert small.unpacked().rate("bytes_acked") == 2000.0
    assert type(small.unpacked().now) is sockets_tcp.Row
    assert small.per_s == large.per_s
    assert type(small.per_s) is sockets_tcp.Row
    assert small.unpacked().per_s == large.per_s  # also after it was computed
    still = Entry(old, before=old, seconds=2.0, still=True).unpacked()
    assert still.still
    assert still.rate("bytes_acked") == 0.0
    assert Entry(old).unpacked().per_s is None


@pytest.mark.parametrize("known", [0, 1, 20])
def test_new_sockets_of_any_form_have_the_rows_of_whole_ones(
    known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms: list[dict[str, Any]] = [
        *KINDS, {"state": 10}, {"info": tcp_info(224)}, {"memory": 8}, {"congestion": "dctcp"},
        {"congestion": "reno"},
    ]  # fmt: skip
    numbers = [form for form in range(len(forms)) for _ in range(3)]
    parts = [socket(at, **forms[form]) for at, form in enumerate([*numbers, *reversed(numbers)])]
    rows = [replace(row, **AGES) for row in read(b"".join(parts))]
    monkeypatch.setattr(sockets_tcp, "MANY", 0)
    seen: dict[bytes, Any] = {}
    read(b"".join(parts[:known]), seen=seen)
    now: dict[bytes, Any] = {}
    packed = read(b"".join(parts), seen, now)
    # a socket that is not packed has an age
    assert [replace(whole(row), **AGES) for row in packed] == rows
    assert len(now) == len(parts)
    again = read(b"".join(parts), now)
    assert all(old is new for old, new in zip(packed, again, strict=True))


@pytest.mark.usefixtures("packed")
def test_of_new_sockets_of_one_form_only_the_first_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    find = sockets_tcp._layout

    def layout(reply: bytes, at: int, end: int) -> Any:
        looked.append(at)
        return find(reply, at, end)

    def fits(reply: bytes, at: int, known: Any) -> bool:
        looked.append(at)
        return True

    monkeypatch.setattr(sockets_tcp, "_layout", layout)
    monkeypatch.setattr(sockets_tcp, "_fits", fits)
    rows = read(
        b"".join([*map(socket, range(50)), socket(50, state=10), *map(socket, range(51, 99))])
    )
    assert len(rows) == 99
    assert len(looked) == 3


@pytest.mark.usefixtures("packed")
def test_only_the_busiest_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [socket(n) for n in range(1000)]
    seen: dict[bytes, Any] = {}
    before = entries(read(b"".join(parts), seen=seen), [], 0.0)
    for n in range(500):
        parts[n] = socket(n, info=tcp_info(acked=2000 + n))
    table = entries(read(b"".join(parts), seen), before, 1.0)
    unpacked: list[int] = []
    unpack = PackedRow.whole

    def counted(self: PackedRow) -> sockets_tcp.Row:
        unpacked.append(self.cookie)
        return unpack(self)

    monkeypatch.setattr(_tcp_row.PackedRow, "whole", counted)
    found = flows.Sockets.of(table, (), Sites(), {4711: (1, "app")})
    assert found.connections == 1000
    assert found.uses[1].tcp == 1000
    assert found.uses[1].tx == sum(1000.0 + n for n in range(500))
    assert len(found.busiest) == flow_words.SHOWN
    assert 0 < len(unpacked) <= 2 * flow_words.SHOWN  # now and before
    assert [entry.now.cookie for _, entry, _ in found.busiest[:3]] == [499, 498, 497]
    unpacked.clear()
    track = Track(lambda row: row.cookie, _moves, brisk=lambda entry: entry.now.bytes_acked > 2100)
    track.add(1.0, table)
    assert len(track.series) == 399
    assert not unpacked
    for _ in range(3):
        (entry,) = track.entries(499)
        assert (type(entry.now), entry.now.bytes_acked) == (sockets_tcp.Row, 2499)
    assert unpacked == [499, 499]  # now and before, once


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("numbers", [
    [1, 2, 3, 4, 5, 6], [2, 3, 4, 5], [1, 3, 5, 6], [9, 1, 2, 3, 4, 5, 6],
    [1, 2, 9, 3, 4, 5, 6, 10], [6, 5, 4, 3, 2, 1], [4, 9, 1, 6], [], [9],
], ids=str)  # fmt: skip
def test_sockets_that_come_go_and_change_places_keep_their_rows(numbers: list[int]) -> None:
    seen: dict[bytes, Any] = {}
    forms: dict[int, dict[str, Any]] = {
        2: {"state": 10},
        4: {"ipv6": True},
        5: {"congestion": "bbr"},
    }
    before = {
        row.cookie: row
        for row in read(b"".join(socket(n, **forms.get(n, {})) for n in range(1, 7)), seen=seen)
    }
    moved = socket(3, info=tcp_info(acked=777))
    now: dict[bytes, Any] = {}
    rows = read(
        b"".join(moved if n == 3 else socket(n, **forms.get(n, {})) for n in numbers),
        seen, now,
    )  # fmt: skip
    assert [row.cookie for row in rows] == numbers
    assert len(now) == len(numbers)
    for row in rows:
        assert (row is before.get(row.cookie)) == (row.cookie in before and row.cookie != 3)
        if row.cookie == 3:
            assert row.bytes_acked == 777


@pytest.mark.usefixtures("packed")
def test_unchanged_sockets_are_compared_without_a_search() -> None:
    class Searched(dict[bytes, Any]):
        count = 0

        def get(self, *key: Any) -> Any:
            self.count += 1
            return super().get(*key)

    parts, seen = [socket(n) for n in range(100)], Searched()
    read(b"".join(parts), seen=seen)
    parts[40] = socket(40, recv_q=3)
    read(b"".join(parts), seen)
    assert seen.count == 0
    read(b"".join([*parts[:50], socket(1000), *parts[51:]]), seen)
    assert seen.count == 2  # the new one, and the next, before which one has ended


@pytest.mark.usefixtures("packed")
def test_a_cut_off_answer_is_an_error_also_where_all_were_known() -> None:
    seen: dict[bytes, Any] = {}
    raw = socket(1) + socket(2)
    read(raw, seen=seen)
    for end in range(len(socket(1)) + 1, len(raw)):
        with pytest.raises(ValueError, match=r"cut off|wrong length"):
            read(raw[:end], seen)


@pytest.mark.usefixtures("packed")
def test_sums_of_idle_sockets_are_those_of_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def summed() -> list[Any]:
        found: list[Any] = []
        seen: dict[bytes, Any] = {}
        table: Any = []
        for acked in (0, 0, 0, 5000):
            now: dict[bytes, Any] = {}
            parts = [socket(n, ipv6=n % 2 == 0) for n in range(1, 30)]
            parts.append(socket(30, info=tcp_info(acked=acked)))
            rows = read(b"".join(parts), seen, now)
            seen, table = now, entries(rows, table, 1.0)
            one = flows.Sockets.of(table, (), Sites(), {4711: (1, "app")})
            busy = sorted((rate, entry.now.cookie) for rate, entry, _ in one.busiest)
            found.append((one.connections, one.by_nic, one.uses, busy))
        return found

    packed = summed()
    monkeypatch.setattr(sockets_tcp, "MANY", 10**9)
    assert packed == summed()
    assert packed[0][2][1].rx is None
    assert packed[2][2][1].rx == 0.0


def test_many_sockets_that_move_take_little_memory() -> None:
    parts = [bytearray(socket(n)) for n in range(2000)]
    source = Fake({"sock_diag/tcp4": b"".join(parts), "sock_diag/tcp6": b""})
    sampler = Sampler(source)
    sampler.take(["sockets_tcp"])  # fills the caches
    sampler.last, sampler.memory = None, {}
    memory: Memory = {}
    tracemalloc.start()
    sampler.memory["sockets"] = memory
    for round_ in range(3):
        answer = b"".join(
            socket(n, info=tcp_info(acked=1000 * round_, received=round_ << 33, busy=round_ << 34))
            for n in range(2000)
        )
        source.netlinks = {"sock_diag/tcp4": answer, "sock_diag/tcp6": b""}
        sampler.take(["sockets_tcp"])
        del answer
    source.netlinks = {}
    size, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / 2000 < 1250  # bytes, two readings; whole rows take 2,400
