"""Processes that share a datagram port: the one that loses, and what the others do meanwhile."""

from typing import Any

import pytest
from folded import folded

from nettop.advice.judge.inline_facts import facts
from nettop.collect import drop_reasons, socket_owners, sockets_udp, udp_connected
from nettop.collect._table import Memory, recall
from nettop.facts.kinds import resolver, sharing
from nettop.frame.rates import Entry, Frame


def socket(
    inode: int, drops: float, port: int = 9000, remote: int = 0, local: str = "0.0.0.0"
) -> Entry[sockets_udp.Row]:
    row = sockets_udp.Row(inode, local, port, "0.0.0.0", remote, False, 0, 0, 0, 50)
    rate = sockets_udp.Row(inode, local, port, "0.0.0.0", remote, False, 0, 0, 0, drops)  # type: ignore[arg-type]
    return Entry(row, rate)


def sharings(
    sockets: list[Entry[sockets_udp.Row]], owners: dict[int, int]
) -> tuple[sharing.Sharing, ...]:
    """`owners`: the process of each inode."""
    held = [Entry(socket_owners.Row(inode, pid, "worker")) for inode, pid in owners.items()]
    busy = {8: (90, 7), 9: (0, 1), 10: (0, 0)}
    processes = [{"pid": pid, "name": "worker", "user": user, "system": system}
                 for pid, (user, system) in busy.items()]  # fmt: skip
    frame = Frame(1.0, 1.0, {"sockets_udp": sockets, "socket_owners": held})
    return sharing.build(frame, facts({"processes": processes}, "server", 1.0))


OWNERS = {1: 8, 2: 9, 3: 10}


def test_the_process_that_loses_is_named_and_the_busiest_other_one_compared() -> None:
    (one,) = sharings([socket(1, 40.0), socket(2, 0.0), socket(3, 0.0)], OWNERS)
    assert (one.id, one.sockets, one.process, one.drops) == ("0.0.0.0:9000", 3, "worker[8]", 40.0)
    assert (one.others_drops, one.busy, one.others_busy) == (0.0, 97, 1)
    assert one.others == ("worker[9]", "worker[10]")


def test_without_losses_or_with_one_process_or_an_unknown_one_there_is_none() -> None:
    assert not sharings([socket(1, 0.0), socket(2, 0.0)], OWNERS)
    assert not sharings([socket(1, 40.0), socket(2, 0.0)], {1: 8, 2: 8})
    assert not sharings([socket(1, 40.0), socket(2, 0.0)], {1: 8})


def test_other_ports_and_connected_sockets_do_not_share() -> None:
    assert not sharings([socket(1, 40.0), socket(2, 0.0, port=9001)], OWNERS)
    assert not sharings([socket(1, 40.0), socket(2, 0.0, remote=53)], OWNERS)


@folded(("local", "owners", "wide"), [
    ("127.0.0.1", OWNERS, ("worker[9]",)), ("224.0.0.9", OWNERS, ()),  # each member gets a copy
    ("127.0.0.1", {1: 8, 2: 8}, ()),
])  # fmt: skip
def test_a_socket_at_one_address_takes_what_one_at_every_address_would(
    local: str, owners: dict[int, int], wide: tuple[str, ...]
) -> None:
    found = sharings([socket(1, 40.0, local=local), socket(2, 0.0)], owners)
    assert tuple(name for one in found for name in one.wide) == wide
    assert all((one.process, one.others, one.others_busy) == ("worker[8]", (), None)
               for one in found)  # fmt: skip


# Answers that no socket takes, for ports from which a server was asked.


def asked(*readings: list[int], remote: str = "10.0.0.9") -> list[udp_connected.Row]:
    memory: Memory = {}
    rows: Any = ()
    for number, ports in enumerate(readings):
        known = recall(memory, sockets_udp.Known)
        known.at = float(number)
        known.rows = [
            sockets_udp.Row(one, "10.0.0.1", one, remote, 123 if remote else 0, False, 0, 0, 0, 0)
            for one in ports
        ]  # fmt: skip
        rows = udp_connected.update(None, memory)  # type: ignore[arg-type]
    return list(rows)


def test_the_ports_of_closed_sockets_are_kept_up_to_a_number() -> None:
    assert asked([40001], [40002], []) == [udp_connected.Row("10.0.0.9", 123, (40001, 40002))]
    many = list(range(40000, 40000 + udp_connected.PORTS + 5))
    (row,) = asked(many, [40001])
    assert (len(row.asked), row.asked[-1]) == (udp_connected.PORTS, 40001)


def test_a_socket_that_is_not_connected_asks_nobody() -> None:
    assert asked([40001], remote="") == []


@pytest.mark.parametrize(("ends", "how"), [
    ({}, "they come from another address, or too late"),
    ({"source": "10.0.0.9", "source_port": 123}, "they come too late"),
    ({"source": "10.0.0.1", "source_port": 123}, "they come from 10.0.0.1:123"),
    ({"source": "10.0.0.9", "source_port": 999}, "they come from 10.0.0.9:999"),
])  # fmt: skip
def test_the_ports_without_a_socket_are_those_that_asked(ends: dict[str, Any], how: str) -> None:
    drops = [
        drop_reasons.Row(reason, "__udp4_lib_rcv", where, "2", protocol, port, 1, **ends)
        for reason, where, protocol, port in (
            ("NO_SOCKET", "here", "udp", "40001"), ("NO_SOCKET", "here", "udp", "9"),
            ("NO_SOCKET", "elsewhere", "udp", "40002"), ("NO_SOCKET", "here", "tcp", "40003"),
        )
    ]  # fmt: skip
    tables: dict[str, Any] = {"drop_reasons": drops, "udp_connected": asked([9, 40001, 40002])}
    frame = Frame(0.0, 0.0, {name: tuple(map(Entry, rows)) for name, rows in tables.items()})
    found = resolver.astray(frame, None)  # type: ignore[arg-type]
    assert found == (resolver.Astray("10.0.0.9:123", 3, 2, how, ("udp 10.0.0.9:123",)),)


def test_where_most_are_answered_the_others_came_late() -> None:
    drops = [drop_reasons.Row("NO_SOCKET", "__udp4_lib_rcv", "here", "2", "udp", "40001", 1)]
    tables: dict[str, Any] = {"drop_reasons": drops, "udp_connected": asked([40001, 40002])}
    frame = Frame(0.0, 0.0, {name: tuple(map(Entry, rows)) for name, rows in tables.items()})
    assert resolver.astray(frame, None) == ()  # type: ignore[arg-type]
