"""The delay line of emulated paths: when packets arrive, in which order, and what is lost."""

from __future__ import annotations

import delay_line


def test_packets_arrive_in_order_half_a_round_trip_later() -> None:
    line = delay_line.Line(0.5)
    line.take(b"first", 10.0)
    line.take(b"second", 10.25)
    assert list(line.due(10.25)) == []
    assert line.wait(10.25) == 0.25
    assert list(line.due(10.5)) == [b"first"]
    assert list(line.due(99.0)) == [b"second"]
    assert line.wait(99.0) is None


def test_a_late_packet_is_due_at_once() -> None:
    line = delay_line.Line(0.5)
    line.take(b"packet", 10.0)
    assert line.wait(11.0) == 0.0


def test_a_full_line_loses_what_comes() -> None:
    line = delay_line.Line(0.5, most=10)
    for packet in (b"12345678", b"123", b"12"):
        line.take(packet, 0.0)
    assert list(line.due(0.5)) == [b"12345678", b"12"]
    line.take(b"1234567890", 1.0)  # the room is free again
    assert list(line.due(1.5)) == [b"1234567890"]
