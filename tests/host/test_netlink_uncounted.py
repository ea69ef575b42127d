"""An answer about links changes only if a link changes: counts of what is parsed and read again."""

import socket
import struct
import time

import pytest
from netlink_bytes import Fake, link, nest, number, text

from nettop.collect import Memory, links
from nettop.collect._turns import by_turns
from nettop.host.netlink import route
from nettop.host.netlink.codec import attribute, attributes, messages
from nettop.host.netlink.kernel import LONGEST, Kernel, Uncounted


def answer(counts: int, mtus: dict[int, int], reachable: int = 0) -> bytes:
    """160 veth links, in the order of the kernel: all have counted `counts`."""
    words = struct.pack("=25Q", *[counts] * 25)
    return b"".join(
        link(
            index, f"v{index}", number(4, mtus.get(index, 1500)), attribute(23, words),
            attribute(7, words[:92]), nest(18, text(1, "veth")),
            nest(26, attribute(10, struct.pack("=I", reachable))),
        )
        for index in range(1, 161)
    )  # fmt: skip


def test_other_counters_and_reachable_times_give_the_same_object() -> None:
    bare = Uncounted()
    first = bare.of(answer(0, {}))
    assert bare.of(answer(7, {})) is first
    assert bare.of(answer(8, {}, reachable=31000)) is first


def test_another_number_of_links_and_a_cut_answer() -> None:
    bare = Uncounted()
    bare.of(answer(1, {}))
    end = [end for _, _, end in messages(answer(2, {}))][158]
    assert sum(1 for _ in messages(bare.of(answer(2, {})[:end]))) == 159
    with pytest.raises(ValueError, match="wrong length"):
        bare.of(answer(2, {})[:-4])


def test_links_that_only_move_packets_are_neither_read_nor_parsed_again() -> None:
    bare, memory, rows = Uncounted(), Memory(), Memory()
    names = [f"v{n}" for n in range(1, 161)]
    reads: list[str] = []

    def read(name: str) -> str:
        reads.append(name)
        return name

    def look(counts: int, mtus: dict[int, int]) -> list[object]:
        reads.clear()
        source = Fake({"route/links": bare.of(answer(counts, mtus))})
        by_turns(source, memory, names, read)
        return list(links.update(source, rows))

    first = look(0, {})
    assert len(reads) == 160
    second = look(5, {})
    assert len(reads) == 10  # their turn
    assert all(a is b for a, b in zip(first, second, strict=True))
    third = look(6, {150: 9000})
    assert len(reads) == 11
    assert [at for at in range(160) if third[at] is not second[at]] == [149]


def test_the_kernel_gives_the_same_object_while_loopback_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel()
    kernel.ask(route.LINKS)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.sendto(b"x" * 1000, ("127.0.0.1", 9))
    later = time.monotonic() + LONGEST + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    second = kernel.ask(route.LINKS)
    kernel.close()
    for _, start, end in messages(second):
        for kind, a, b in attributes(second, start + route.IFINFO.size, end):
            assert kind not in (7, 23) or not any(second[a:b])
