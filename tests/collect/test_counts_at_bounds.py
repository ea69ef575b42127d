"""Numbers at the bounds of their fields: what the kernel may print, and what may be missing."""

from __future__ import annotations

import struct

import pytest

from nettop.collect import namespaces, sockets_tcp
from nettop.collect._shaping import htb
from nettop.collect.interrupts import _is_fixed
from nettop.host.netlink.codec import attribute


@pytest.mark.parametrize(
    ("counts", "fixed"),
    [
        (f"{7:11}{12:11}", True),
        (f"{10**10:11}{10**11 - 1:11}", False),  # the columns touch: they cannot be told apart
        (f"{7:11}{10**11:12}", False),  # one digit more than the column has
        (f"{7:11}", False),
        (f"{7:11}{12:10} ", False),
        (f"{7:11}{12:11}   PCI-MSIX", True),
    ],
)
def test_counts_have_fixed_columns_only_where_each_ends_at_its_column(
    counts: str, fixed: bool
) -> None:
    assert _is_fixed(f" 50:{counts}".encode(), (0, 1)) is fixed


def test_the_namespace_with_most_processes_is_the_hosts_where_process_1_is_closed() -> None:
    closed = namespaces._CLOSED
    assert namespaces._outermost(1, {1: [10, 11], 2: [12]}, 0, closed)
    assert not namespaces._outermost(1, {1: [10], 2: [12, 13]}, 0, closed)
    assert namespaces._outermost(1, {1: [10], 2: [12, 13]}, 1, closed)
    assert namespaces._outermost(1, {1: [10]}, 0, closed)
    assert not namespaces._outermost(1, {1: [10, 11], 2: [12]}, 0, 2)


def test_an_htb_class_above_32_gbit_has_its_rate_in_a_field_of_64_bits() -> None:
    """The 32-bit field holds all ones then; ceil has a 64-bit field of its own."""
    spec = struct.Struct("=8xI")
    head = attribute(1, spec.pack(0xFFFFFFFF) + spec.pack(125_000_000) + bytes(20))
    rate = attribute(6, struct.pack("=Q", 5_000_000_000))
    ceiling = attribute(7, struct.pack("=Q", 12_500_000_000))
    assert htb(head + rate) == (4e10, 1e9)
    assert htb(head + rate + ceiling) == (4e10, 1e11)
    assert htb(head + ceiling)[1] == 1e11


def test_attributes_that_touch_are_read_at_once() -> None:
    """Two attributes with nothing between them, and the first right behind the message's head."""
    size, info = sockets_tcp._MEMORY.size, sockets_tcp._INFO.size
    at = sockets_tcp._ATTRIBUTES_AT
    touching = sockets_tcp._numbers((at, at + size), (at + size, at + size + info))
    assert touching is not None
    assert touching.size == 16 + size + info
    assert sockets_tcp._numbers((at, at + size), (at + size - 1, at + size + info)) is None
    assert sockets_tcp._numbers((at, at + size - 1), (at + size, at + size + info)) is None
    assert sockets_tcp._numbers((at, at + size), (at + size, at + size + info - 1)) is None
