"""Interfaces of other namespaces: few questions where they rest, a bound where they are many."""

import struct
from collections import Counter

import pytest
from netlink_bytes import link, message, number

from nettop.collect import Memory, namespaces, netns_links
from nettop.frame.rates import Partly
from nettop.host.netlink.codec import Request, Space, attribute
from nettop.host.source import Live

POD = 4026532179
STEP = 1_000_000  # bytes that a namespace moves from one reading to the next


class Pods(Live):
    """Answers for every namespace; each moves its `steps` bytes a reading."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.index, self.slow, self.at = 2, 0.0, 0.0
        self.steps: Counter[int] = Counter()
        self.sent: Counter[int] = Counter()
        self.closed, self.dropped = 0, 3

    def now(self) -> float:
        return self.at

    def netlink(self, request: Request) -> bytes:
        assert request.space is not None
        self.asked.append(request.name)
        self.at += self.slow
        if request.space.inode == self.closed:
            raise PermissionError(1, "not permitted")
        if request.name.startswith("route/links"):
            return link(self.index, f"eth{self.index}", number(5, 70 + self.index))
        self.sent[request.space.inode] += self.steps[request.space.inode]
        words = [0] * 25
        words[1], words[3], words[7] = 5, self.sent[request.space.inode], self.dropped
        head = struct.pack("=BxHII", 0, 0, self.index, 1)
        return message(92, head + attribute(1, struct.pack("=25Q", *words)))


def known(count: int = 1) -> Memory:
    spaces = [Space(f"/proc/{20 + n}/ns/net", POD + n) for n in range(count)]
    return {namespaces.Known: namespaces.Known(read=True, spaces=spaces)}


def read(pods: Pods, memory: Memory) -> list[netns_links.Row]:
    pods.asked.clear()
    return list(netns_links.update(pods, memory))


def test_counters_of_an_interface_with_its_namespace() -> None:
    pods, memory = Pods(), known()
    pods.steps[POD] = STEP
    (row,) = read(pods, memory)
    assert (row.namespace, row.interface, row.tx_bytes, row.tx_dropped) == (POD, "eth2", STEP, 3)
    assert row.peer == 72
    assert pods.asked == [f"route/links@{POD}", f"route/counters@{POD}"]
    (row,) = read(pods, memory)
    assert row.tx_bytes == 2 * STEP
    assert pods.asked == [f"route/counters@{POD}"]


def test_of_a_namespace_with_many_interfaces_the_first_are_read() -> None:
    class Many(Pods):
        def netlink(self, request: Request) -> bytes:
            answers = []
            for self.index in range(2, 302):
                answers.append(super().netlink(request))
            return b"".join(answers)

    assert [row.index for row in read(Many(), known())] == [*range(2, 258)]


@pytest.mark.parametrize("dropped", [3, 0])  # 0: no counter has counted anything yet
def test_a_namespace_that_rests_is_asked_seldom(dropped: int) -> None:
    pods, memory = Pods(), known()
    pods.dropped = dropped
    asked = [bool(read(pods, memory) or pods.asked) for _ in range(12)]
    assert sum(asked) <= 4
    pods.steps[POD] = STEP
    moving = [bool(read(pods, memory)) for _ in range(12)]
    assert sum(moving[4:]) == 8


def test_a_new_interface_is_named() -> None:
    pods, memory = Pods(), known()
    pods.steps[POD] = STEP
    read(pods, memory)
    pods.index = 3
    assert [row.interface for row in read(pods, memory)] == ["eth3"]


def test_those_that_move_most_are_read_and_the_others_are_counted() -> None:
    many = netns_links.MOST + 5
    pods, memory = Pods(), known(many)
    pods.steps.update({POD + n: STEP * (n + 1) for n in range(many)})
    for _ in range(6):
        found = netns_links.update(pods, memory)
        assert len(found) <= netns_links.MOST
    assert isinstance(found, Partly)
    assert found.why == "the interfaces of 5 network namespaces are not read"
    assert {row.namespace for row in found} == {POD + n for n in range(5, many)}


def test_a_slow_reading_ends() -> None:
    pods, memory = Pods(), known(9)
    pods.slow = netns_links.SECONDS
    found = netns_links.update(pods, memory)
    assert len(found) < 3
    assert isinstance(found, Partly)


def test_one_that_may_not_be_entered_is_left_out() -> None:
    pods, memory = Pods(), known(2)
    pods.closed = POD
    pods.steps[POD + 1] = STEP
    assert [row.namespace for row in read(pods, memory)] == [POD + 1]
    assert len(read(pods, memory)) == 1
    assert f"route/links@{POD}" not in pods.asked
