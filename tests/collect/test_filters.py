"""Filters of tc with their actions, from answers as cls_api.c and act_api.c write them."""

import struct
from typing import Any

from netlink_bytes import link, message, text

from nettop.collect import filters
from nettop.host.netlink.codec import Request, attribute

NAMES = {2: "eth0", 3: "ifb0"}


def qdisc(name: str, handle: int, parent: int) -> bytes:
    return message(36, struct.pack("=BxHiIII", 0, 0, 2, handle, parent, 0) + text(1, name))


def tfilter(kind: str, options: bytes, stats: bytes = b"", priority: int = 5) -> bytes:
    head = struct.pack("=BxHiIII", 0, 0, 2, 0x800, 0x10000, priority << 16 | 8)
    return message(44, head + text(1, kind) + attribute(2, options) + stats)


def counted(drops: int = 0, refused: int = 0) -> bytes:
    return attribute(1, struct.pack("=QI", 9000, 90)) + attribute(
        3, struct.pack("=5I", 0, 0, drops, 0, refused)
    )


def action(kind: str, options: bytes, stats: bytes) -> bytes:
    return attribute(1, text(1, kind) + attribute(2, options) + attribute(4, stats))


def police(rate: int) -> bytes:
    return attribute(1, struct.pack("=IiIII8xI", 1, 2, 0, 15000, 2047, rate))


def mirred(does: int) -> bytes:
    return attribute(2, struct.pack("=IIiiiiI", 1, 0, 4, 1, 1, does, 3))


def only(answer: bytes) -> Any:
    (row,) = filters.parse(answer, NAMES, "1:")
    return row


def test_a_policer_has_its_rate_and_what_it_drops() -> None:
    row = only(
        tfilter("flower", attribute(3, action("police", police(37_500_000), counted(drops=28))))
    )
    assert (row.interface, row.parent, row.priority, row.kind) == ("eth0", "1:", 5, "flower")
    assert (row.action, row.rate, row.packets, row.drops) == ("police", 300e6, 90, 28)
    assert row.burst == 36_000  # 15,000 ticks of 64 ns at that rate
    wide = police(0xFFFFFFFF) + attribute(8, struct.pack("=Q", 12_500_000_000))
    assert only(tfilter("flower", attribute(3, action("police", wide, b"")))).rate == 100e9


def test_a_policer_of_the_old_form_counts_at_the_filter() -> None:
    row = only(tfilter("u32", attribute(6, police(125_000)), attribute(7, counted(drops=3))))
    assert (row.kind, row.action, row.rate, row.drops) == ("u32", "police", 1e6, 3)


def test_what_the_target_of_a_redirect_does_not_take_is_lost_and_of_a_mirror_is_not() -> None:
    row = only(tfilter("matchall", attribute(2, action("mirred", mirred(1), counted(0, 7)))))
    assert (row.action, row.target, row.drops) == ("redirect", "ifb0", 7)
    row = only(tfilter("matchall", attribute(2, action("mirred", mirred(2), counted(0, 7)))))
    assert (row.action, row.target, row.drops) == ("mirror", "ifb0", 0)


def test_a_program_that_decides_by_itself_has_its_name_and_counts_nothing() -> None:
    row = only(tfilter("bpf", text(7, "cil_from_netdev") + attribute(8, struct.pack("=I", 1))))
    assert (row.action, row.program, row.drops) == ("program", "cil_from_netdev", None)
    assert only(tfilter("bpf", attribute(5, bytes(8)))).program == "bytecode"
    assert filters.parse(tfilter("flower", b""), NAMES, "1:") == []
    assert filters.parse(tfilter("unknown", b""), NAMES, "1:") == []


def test_only_qdiscs_that_can_have_filters_are_asked() -> None:
    class Host:
        def __init__(self) -> None:
            self.asked: list[str] = []

        queues = qdisc("htb", 0x10000, 0xFFFFFFFF) + qdisc("clsact", 0xFFFF0000, 0xFFFFFFF1)

        def netlink(self, request: Request) -> bytes:
            self.asked.append(request.name)
            if request.name == "route/links":
                return link(2, "eth0")
            return self.queues if request.name == "route/qdiscs" else tfilter("flower", b"")

    host: Any = Host()
    assert filters.read(host) == []
    assert host.asked[2:] == [
        "route/filters/eth0/1:", "route/filters/eth0/ingress", "route/filters/eth0/egress",
    ]  # fmt: skip
    host.asked.clear()
    host.queues = qdisc("fq", 0x10000, 0xFFFFFFFF)
    assert filters.read(host) == []
    assert host.asked == ["route/qdiscs"]
