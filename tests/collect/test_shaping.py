"""Rates of qdiscs and classes from the options that the kernel gives."""

import struct

import pytest
from folded import folded
from netlink_bytes import message, nest, text

from nettop.collect import classes, qdiscs
from nettop.collect.qdiscs import hfsc, htb, largest, qdisc, room
from nettop.host.netlink import route
from nettop.host.netlink.codec import Request, attribute
from nettop.host.source import Source

SPEC = struct.Struct("=8xI")


def u32(number: int, value: int) -> bytes:
    return attribute(number, struct.pack("=I", value))


def u64(number: int, value: int) -> bytes:
    return attribute(number, struct.pack("=Q", value))


def spec(*rates: int) -> bytes:
    """struct tc_tbf_qopt or tc_htb_opt: rates of 12 bytes, then other fields."""
    return attribute(1, b"".join(SPEC.pack(rate) for rate in rates) + bytes(20))


@folded(
    ("kind", "options", "rates"),
    [
        ("tbf", spec(25_000_000, 0), (2e8, None)),
        ("tbf", spec(0xFFFFFFFF, 0) + u64(4, 12_500_000_000), (1e11, None)),
        ("cake", u64(2, 1_250_000), (1e7, None)),
        ("cake", u64(2, 0), (None, None)),
        ("fq", u32(7, 6_250_000), (None, 5e7)),
        ("fq", u32(7, 0xFFFFFFFF), (None, None)),
        ("netem", bytes(24) + attribute(6, struct.pack("=IiIi", 125_000, 0, 0, 0)), (1e6, None)),
        ("fq_codel", u32(7, 5), (None, None)),
        ("tbf", b"", (None, None)),
        ("tbf", b"\x03\x00\x01\x00", (None, None)),
    ],
)
def test_the_rate_of_a_qdisc(
    kind: str, options: bytes, rates: tuple[float | None, float | None]
) -> None:
    assert qdisc(kind, options) == rates


@folded(
    ("kind", "options", "most"),
    [
        ("pfifo", struct.pack("=I", 3), "3 packets"),
        ("bfifo", struct.pack("=I", 9000), "9,000 bytes"),
        ("tbf", attribute(1, struct.pack("=24x3I", 9000, 2125, 0)), "9,000 bytes"),
        ("fq_codel", u32(2, 10_240), "10,240 packets"), ("fq", u32(1, 10_000), "10,000 packets"),
        ("codel", u32(2, 1000), "1,000 packets"), ("pie", u32(2, 1000), "1,000 packets"),
        ("netem", struct.pack("=6I", 0, 1000, 0, 0, 0, 0), "1,000 packets"),
        ("pfifo", b"", ""), ("fq", bytes(8), ""), ("mq", b"", ""), ("pfifo_fast", bytes(20), ""),
    ],
)  # fmt: skip
def test_the_most_that_a_qdisc_holds(kind: str, options: bytes, most: str) -> None:
    assert room(kind, options) == most


def test_the_rate_and_the_ceiling_of_a_class() -> None:
    assert htb(spec(125_000, 1_250_000)) == (1e6, 1e7)
    assert htb(spec(1, 1) + u64(6, 10**10) + u64(7, 2 * 10**10)) == (8e10, 16e10)
    assert htb(b"\x01\x00\x00\x00") == (None, None)


def curves(**rates: int) -> bytes:
    """Each struct tc_service_curve: a steep start for a while, then the rate."""
    numbers = {"real_time": 1, "shared": 2, "upper": 3}
    return b"".join(
        attribute(numbers[name], struct.pack("=III", 9, 9, rate)) for name, rate in rates.items()
    )


@folded(
    ("options", "rates"),
    [
        (curves(real_time=125_000, shared=125_000, upper=250_000), (1e6, 2e6)),
        (curves(real_time=125_000, shared=125_000), (1e6, None)),
        (curves(real_time=125_000), (1e6, 1e6)),
        (curves(shared=125_000), (None, None)),
        (curves(shared=125_000, upper=125_000), (None, 1e6)),
        (attribute(3, bytes(8)), (None, None)),
        (b"\x01\x00\x00\x00", (None, None)),
    ],
)
def test_the_rates_of_an_hfsc_class(
    options: bytes, rates: tuple[float | None, float | None]
) -> None:
    assert hfsc(options) == rates


def part(kind: int, handle: int, parent: int, name: str, options: bytes) -> bytes:
    head = struct.pack("=BxHiIII", 0, 0, 2, handle, parent, 0)
    basic = attribute(1, struct.pack("=QI", 900, 9))
    queue = attribute(3, struct.pack("=5I", 2, 300, 7, 0, 5))
    return message(kind, head + text(1, name) + nest(2, options) + nest(7, basic, queue))


class Shaped:
    """A host whose eth0 has HTB and whose eth1 has not; it is asked about classes once."""

    kind = "htb"
    options = attribute(2, struct.pack("=5I", 3, 10, 0x10, 0, 0))  # default 10

    def __init__(self) -> None:
        self.asked: list[str] = []

    def netlink(self, request: Request) -> bytes:
        self.asked.append(request.name)
        if request.name == "route/links":
            return b"".join(
                message(
                    16,
                    struct.pack("=BxHiII", 0, 1, index, 0, 0)
                    + text(3, f"eth{index - 2}")
                    + text(6, self.kind if index == 2 else "mq"),
                )
                for index in (2, 3)
            )
        if request.name == "route/qdiscs":
            return part(36, 0x10000, 0xFFFFFFFF, self.kind, self.options)
        return part(40, 0x10001, 0xFFFFFFFF, "htb", spec(125_000_000, 125_000_000)) + part(
            40, 0x10010, 0x10001, "htb", spec(6_250_000, 12_500_000)
        )


def test_the_classes_of_htb_and_which_is_a_leaf() -> None:
    source = Shaped()
    given: Source = source  # type: ignore[assignment]
    top, leaf = classes.read(given)
    assert (top.interface, top.handle, top.parent, top.leaf) == ("eth0", "1:1", "root", False)
    assert (leaf.handle, leaf.parent, leaf.leaf) == ("1:10", "1:1", True)
    assert (top.default, leaf.default) == (False, True)
    assert (leaf.rate, leaf.ceiling, leaf.backlog, leaf.drops) == (5e7, 1e8, 300, 7)
    assert source.asked.count("route/classes/eth0") == 1
    assert "route/classes/eth1" not in source.asked


def test_the_classes_of_hfsc() -> None:
    class Other(Shaped):
        kind = "hfsc"
        options = struct.pack("=H", 0x10)

        def netlink(self, request: Request) -> bytes:
            if request.name == "route/classes/eth0":
                self.asked.append(request.name)
                return part(40, 0x10010, 0x10000, "hfsc", curves(shared=125_000, upper=250_000))
            return super().netlink(request)

    source = Other()
    given: Source = source  # type: ignore[assignment]
    (leaf,) = classes.read(given)
    assert (leaf.kind, leaf.leaf, leaf.rate, leaf.ceiling) == ("hfsc", True, None, 2e6)
    assert leaf.default


def test_a_host_without_htb_is_not_asked_for_its_qdiscs() -> None:
    class Plain(Shaped):
        def netlink(self, request: Request) -> bytes:
            return super().netlink(request).replace(b"htb", b"tbf")

    source = Plain()
    given: Source = source  # type: ignore[assignment]
    assert classes.read(given) == []
    assert source.asked == ["route/links"]


def test_a_qdisc_has_its_rate() -> None:
    raw = part(36, 0x10000, 0xFFFFFFFF, "tbf", spec(25_000_000, 0))
    (row,) = qdiscs.parse(raw, {2: "eth0"})
    assert (row.rate, row.flow_rate) == (2e8, None)


def test_classes_that_are_cut_off_are_an_error() -> None:
    with pytest.raises(ValueError, match="a traffic class is cut off"):
        classes.parse(message(route.NEWCLASS, b"\0" * 4), {2: "eth0"})


@folded(
    ("kind", "options", "frame"),
    [
        ("tbf", attribute(1, struct.pack("=8xI12xIII", 125_000, 3000, 62_500, 0)), 500),
        ("tbf", b"", None),
        ("netem", struct.pack("=6I", 0, 1000, 0xFFFFFFFF, 0, 0, 0), 0),
        ("netem", struct.pack("=6I", 0, 1000, 0x7FFFFFFF, 0, 0, 0), None),
        ("netem", b"", None),
        ("bfifo", struct.pack("=I", 1400), 1400),
        ("fq_codel", b"", None),
    ],
)
def test_the_largest_frame_that_a_qdisc_lets_pass(
    kind: str, options: bytes, frame: int | None
) -> None:
    assert largest(kind, options) == frame
