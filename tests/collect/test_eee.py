"""Energy Efficient Ethernet by netlink and by ioctl."""

import errno
import struct

from netlink_bytes import Fake, bitset, device, link, number, u8

from nettop.collect import eee
from nettop.host.netlink.codec import attribute


def test_eee_is_agreed_with_the_partner_or_only_advertised() -> None:
    raw = device(
        "eth0", bitset(2, 0b101, 0b111), bitset(3, 0b100, None), attribute(4, u8(1)),
        attribute(5, u8(1)), attribute(6, u8(1)), number(7, 17),
    )  # fmt: skip
    raw += device("eth1", attribute(4, u8(0)), attribute(5, u8(1)), attribute(6, u8(0)))
    first, second = eee.read(Fake({"ethtool/eee": raw}))
    assert (first.active, first.enabled, first.tx_lpi, first.tx_lpi_usecs) == (True, True, True, 17)
    assert (second.active, second.enabled, second.tx_lpi) == (False, True, False)
    assert second.tx_lpi_usecs is None


def test_eee_of_an_older_kernel_is_answered_by_ioctl() -> None:
    class Older(Fake):
        def statistics(self, interface: str, request: bytes, name: str) -> bytes:
            assert (interface, name, len(request)) == ("eth0", "eee/eth0", 40)
            return struct.pack("=10I", 0x44, 0x2F, 0x28, 0x28, 1, 1, 0, 30, 0, 0)

    source = Older({"ethtool/eee": errno.ENOENT, "route/links": link(2, "eth0")})
    assert list(eee.read(source)) == [eee.Row("eth0", True, True, False, 30)]
