"""Processes that share a datagram port: the one that loses, and what the others do meanwhile."""

from __future__ import annotations

from nettop.advice.judge.inline_facts import facts
from nettop.collect import socket_owners, sockets_udp
from nettop.facts.kinds import sharing
from nettop.frame.rates import Entry, Frame


def socket(inode: int, drops: float, port: int = 9000, remote: int = 0) -> Entry[sockets_udp.Row]:
    row = sockets_udp.Row(inode, "0.0.0.0", port, "0.0.0.0", remote, False, 0, 0, 0, 50)
    rate = sockets_udp.Row(inode, "0.0.0.0", port, "0.0.0.0", remote, False, 0, 0, 0, drops)  # type: ignore[arg-type]
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
