"""Queues of other namespaces: asked only where a flow moves data, with few questions."""

import struct
from typing import Any

from flow_tables import socket
from netlink_bytes import link, message, text

from nettop.collect import Memory, namespaces, netns_qdiscs, netns_tcp
from nettop.host.netlink.codec import Request, Space, attribute
from nettop.host.source import Live

POD, STILL = 4026532179, 4026532180
ROOT = 0xFFFFFFFF


def queue(kind: int, name: str, handle: int, parent: int, options: bytes) -> bytes:
    head = struct.pack("=BxHiIII", 0, 0, 2, handle, parent, 0)
    return message(kind, head + text(1, name) + attribute(2, options))


def ratespec(rate: int) -> bytes:
    return struct.pack("=8xI", rate)


ANSWERS = {
    "route/links": link(2, "eth0"),
    "route/addresses": message(
        20, struct.pack("=BBBBI", 2, 24, 0, 0, 2) + attribute(2, bytes([10, 9, 0, 1]))
    ),
    "route/qdiscs": queue(36, "htb", 0x10000, ROOT, b""),
    "route/classes/eth0": queue(
        40, "htb", 0x10010, ROOT, attribute(1, ratespec(1_000_000) + ratespec(5_000_000))
    ),
}


class Pod(Live):
    """Answers in one namespace, and keeps the questions."""

    asked: list[str]
    gone = False

    def netlink(self, request: Request) -> bytes:
        self.asked.append(request.name)
        assert request.space is not None
        if self.gone:
            raise ProcessLookupError(3, "the process ended")
        return ANSWERS[request.name.partition("@")[0]]


def memory(moved: int, **more: Any) -> Memory:
    """Two namespaces; a flow of the first one moved so many bytes since it began."""
    known: Memory = {}
    change(known, moved, **more)
    spaces = [Space("/proc/20/ns/net", POD), Space("/proc/30/ns/net", STILL)]
    known[namespaces.Known] = namespaces.Known(read=True, spaces=spaces)
    return known


def change(known: Memory, moved: int, **more: Any) -> None:
    def seen(amount: int, **other: Any) -> Any:
        row = socket(bytes_acked=amount, bytes_received=0, notsent=0)._replace(**other)
        return {b"1": (0, 0, row)}

    known[netns_tcp.Known] = netns_tcp.Known({POD: seen(moved, **more), STILL: seen(5000)})


def source() -> Pod:
    found = Pod()
    found.asked = []
    return found


def test_a_still_namespace_costs_no_question() -> None:
    host, known = source(), memory(0)
    assert netns_qdiscs.update(host, known) == []
    assert netns_qdiscs.update(host, known) == []
    assert host.asked == []


def test_a_namespace_that_moves_data_has_rows() -> None:
    host, known = source(), memory(0)
    netns_qdiscs.update(host, known)
    change(known, 10_000_000)
    root, leaf = netns_qdiscs.update(host, known)
    assert (root.namespace, root.interface, root.kind, root.handle) == (POD, "eth0", "htb", "1:")
    assert (leaf.kind, leaf.handle, leaf.leaf, leaf.rate) == ("class", "1:10", True, 40e6)
    assert root.addresses == leaf.addresses == ("10.9.0.1",)


def test_the_names_are_asked_seldom() -> None:
    host, known = source(), memory(0, notsent=9000)
    netns_qdiscs.update(host, known)
    assert len(host.asked) == 4
    host.asked = []
    netns_qdiscs.update(host, known)
    assert host.asked == [f"route/qdiscs@{POD}", f"route/classes/eth0@{POD}"]


def test_a_namespace_that_ended_has_no_rows_and_is_not_asked_again() -> None:
    host, known = source(), memory(0, notsent=9000)
    host.gone = True
    assert netns_qdiscs.update(host, known) == []
    assert len(host.asked) == 1
