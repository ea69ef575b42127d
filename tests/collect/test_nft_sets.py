"""Elements of sets and maps, from messages of nf_tables."""

import struct

from netlink_bytes import message
from nft_bytes import INET, be32, expression, nest, rule, text

from nettop.collect import nft_sets
from nettop.host.netlink.codec import attribute

HEAD = struct.pack(">BBH", INET, 0, 0)
INTERVAL, CONCATENATED = 4, 128


def declared(name: str, flags: int = 0) -> bytes:
    return message(0xA09, HEAD + text(1, "t") + text(2, name) + be32(3, flags))


def element(value: int, *more: bytes) -> bytes:
    return nest(1, nest(1, attribute(1, struct.pack(">H", value))), *more)


def elements(*found: bytes) -> bytes:
    return message(0xA0C, HEAD + text(1, "t") + text(2, "s") + nest(3, *found))


END, ANY = be32(3, 1), be32(3, 2)
DROP = nest(2, nest(2, be32(1, 0)))
JUMP = nest(2, nest(2, be32(1, -3), text(2, "more")))


def parsed(reply: bytes, *, intervals: bool = False) -> nft_sets.Row:
    return nft_sets.parse(reply, intervals, "inet", "t", "s")


def test_values_intervals_and_verdicts() -> None:
    assert parsed(elements(element(80), element(22))).elements == (
        ("0016", "0016", ""), ("0050", "0050", ""),
    )  # fmt: skip
    listed = elements(element(0, END), element(100, END), element(80), element(200))
    assert parsed(listed, intervals=True).elements == (("0050", "0063", ""), ("00c8", "ffff", ""))
    beside = elements(element(80), element(90), element(90, END), element(95, END))
    assert parsed(beside, intervals=True).elements == (("0050", "0059", ""), ("005a", "005e", ""))
    row = parsed(elements(element(80, DROP), element(81, JUMP)) + elements(nest(1, ANY, DROP)))
    assert row.elements == (("0050", "0050", "0:"), ("0051", "0051", "-3:more"))
    assert row.rest == "0:"


def test_the_sets_that_rules_look_up_are_asked_for() -> None:
    sets = declared("s") + declared("nets", INTERVAL) + declared("pairs", INTERVAL | CONCATENATED)
    looked = [expression("lookup", text(1, name)) for name in ("s", "nets", "pairs", "gone")]
    found = nft_sets.looked_up(sets, rule("in", 7, *looked) + rule("in", 8, looked[0]))
    assert list(found) == [("inet", "t", "s", False), ("inet", "t", "nets", True)]
