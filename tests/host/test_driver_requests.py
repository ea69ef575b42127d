"""What the driver is asked by ioctl, byte by byte: recordings answer by name and would not tell."""

from __future__ import annotations

import struct

import pytest
from netlink_bytes import Fake

from nettop.host.netlink import driver


class Asked(Fake):
    """Answers with 200 zero bytes; keeps the question."""

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        self.request = request
        return request[:8] + bytes(192)


@pytest.mark.parametrize(
    ("flow", "number"), [("tcp4", 0x01), ("udp4", 0x02), ("tcp6", 0x05), ("udp6", 0x06)]
)
def test_a_flow_type_has_the_number_of_the_kernel(flow: str, number: int) -> None:
    """TCP_V4_FLOW … UDP_V6_FLOW of include/uapi/linux/ethtool.h; ETHTOOL_GRXFH is 0x29."""
    source = Asked()
    driver.hash_fields(source, "eth0", flow)
    assert struct.unpack_from("=II", source.request) == (0x29, number)
    assert len(source.request) == 200  # struct ethtool_rxnfc with its 8 bytes of data


def test_the_name_of_a_flow_type_is_asked_and_read_alike() -> None:
    assert {name: driver._FLOWS[number] for name, number in driver.FLOW_TYPES.items()} == {
        name: name for name in driver.FLOW_TYPES
    }
