"""The programs with UDP sockets that are looked at while the host sends many datagrams."""

from typing import Any

from nettop.collect import _udp_senders, snmp, sockets_udp
from nettop.collect._table import Memory, recall
from nettop.collect._udp_senders import LEAST, MOST


def socket(inode: int, remote_port: int, send_q: int = 0) -> sockets_udp.Row:
    remote = "10.0.0.2" if remote_port else "0.0.0.0"
    return sockets_udp.Row(inode, "0.0.0.0", 9, remote, remote_port, False, send_q, 0, 0, 0)


def found(rates: list[float], *rows: sockets_udp.Row) -> list[int]:
    """The candidates after a reading a second at these rates; inode N is held by process N."""
    memory: Memory = {}
    recall(memory, sockets_udp.Known).rows = rows
    holders = {row.inode: row.inode for row in rows}
    sent, answer = 0.0, list[int]()
    for second, rate in enumerate([0.0, *rates]):
        sent += rate
        figures: Any = {"Udp.OutDatagrams": int(sent)}
        recall(memory, snmp.Known).rows = [snmp.row(figures)]
        answer = [*_udp_senders.candidates(memory, float(second), holders)]
        assert answer == [*_udp_senders.candidates(memory, second + 0.5, holders)], "not read again"
    return answer


def test_programs_with_udp_sockets_are_looked_at_while_the_host_sends_many() -> None:
    door, asks, full, stream = socket(1, 0), socket(2, 53), socket(3, 0, 900), socket(4, 9)
    assert found([LEAST], door, asks, full, stream) == [3, 4, 1]
    assert found([LEAST - 1], door, stream) == []
    assert found([LEAST, 0], stream) == []
    assert len(found([LEAST], *(socket(n, 9) for n in range(1, 30)))) == MOST


def test_what_the_kernel_does_not_count_makes_no_candidate() -> None:
    memory: Memory = {}
    recall(memory, sockets_udp.Known).rows = [socket(1, 9)]
    for second in range(3):
        recall(memory, snmp.Known).rows = [snmp.row({})]
        assert not _udp_senders.candidates(memory, float(second), {1: 1})
