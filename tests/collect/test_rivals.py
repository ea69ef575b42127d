"""Neighbours with two hardware addresses in turn, from bytes of netlink."""

import socket
import struct

import pytest
from netlink_bytes import Fake, link, message

from nettop.collect import rivals
from nettop.collect._table import Memory
from nettop.host.netlink.codec import attribute

REACHABLE, STALE, FAILED, PERMANENT = 0x02, 0x04, 0x20, 0x80
ONE, TWO, THREE = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"


def entry(
    hardware: str, address: str = "10.0.0.7", state: int = REACHABLE, index: int = 2,
    updated: int = 10_000,
) -> bytes:  # fmt: skip
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    head = struct.pack("=BxxxiHBB", family, index, state, 0, 1)
    body = attribute(1, socket.inet_pton(family, address))
    times = attribute(3, struct.pack("=IIII", 0, 0, updated, 1))
    return message(28, head + body + attribute(2, bytes.fromhex(hardware.replace(":", ""))) + times)


def seen(*answers: bytes) -> list[list[rivals.Row]]:
    memory, rows = Memory(), []
    for second, answer in enumerate(answers):
        source = Fake({"route/links": link(2, "eth0"), "route/neighbours": answer})
        source.at = float(second)
        rows.append(list(rivals.update(source, memory)))
    return rows


def test_an_address_that_comes_back_has_a_rival() -> None:
    row = rivals.Row("eth0", "10.0.0.7", f"{ONE} {TWO}")
    assert seen(entry(ONE), entry(TWO, state=STALE), entry(ONE), entry(ONE)) == [
        [], [], [row], [row],
    ]  # fmt: skip


@pytest.mark.parametrize(("ages", "found"), [
    ((20, 40, 60, 30), [0, 0, 0, 1]),  # changed between each two readings
    ((20, 40, 140, 30), [0, 0, 0, 0]),
    ((20, 40, 60, 130), [0, 0, 0, 0]),
])  # fmt: skip
def test_two_that_announce_themselves_in_step_with_the_readings(
    ages: tuple[int, ...], found: list[int]
) -> None:
    rows = seen(*(entry(ONE, updated=age) for age in ages))
    assert [len(one) for one in rows] == found
    assert all(row.hardware == f"{ONE} and another" for one in rows for row in one)


def test_a_standby_that_takes_over_is_no_rival() -> None:
    assert seen(entry(ONE), entry(TWO), entry(TWO), entry(THREE))[-1] == []


def test_an_entry_that_is_away_for_a_moment_is_remembered() -> None:
    (row,) = seen(entry(ONE), entry(TWO), entry(ONE, state=FAILED), entry(ONE))[-1]
    assert row.hardware == f"{ONE} {TWO}"


def test_an_old_rivalry_is_forgotten() -> None:
    rows = seen(entry(ONE), entry(TWO), *[entry(ONE)] * 122)
    assert (len(rows[2]), len(rows[-2]), len(rows[-1])) == (1, 1, 0)


def test_what_this_host_did_not_learn_is_not_compared() -> None:
    assert rivals.parse(entry(ONE, state=PERMANENT) + entry(ONE, index=9), {2: "eth0"}) == {}


def test_the_neighbours_of_a_large_network_are_not_compared() -> None:
    with pytest.raises(ValueError, match="KiB is not compared"):
        rivals.parse(entry(ONE) * 8000, {2: "eth0"})
    with pytest.raises(ValueError, match="cut off"):
        rivals.parse(message(28, bytes(8)), {2: "eth0"})
