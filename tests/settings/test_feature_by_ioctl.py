"""Features of a kernel before 5.7: ETHTOOL_GFEATURES and ETHTOOL_SFEATURES."""

import struct
from typing import cast

import pytest
from netlink_bytes import Fake, link

from nettop.host.netlink.kernel import Kernel
from nettop.settings import Host, feature
from nettop.settings._ethtool import put


def test_features_of_an_old_kernel_are_read_and_set_by_ioctl() -> None:
    names = (
        struct.pack("=III", 0x1B, 4, 2) + b"rx-gro".ljust(32, b"\0") + b"rx-lro".ljust(32, b"\0")
    )
    answers = {
        "features/eth0": struct.pack("=II4I", 0x3A, 1, 3, 1, 1, 0),
        "count/4/eth0": struct.pack("=IIQI", 0x37, 0, 1 << 4, 2),
        "names/4/eth0": names,
    }
    netlinks: dict[str, bytes | int] = {
        "ethtool/features/eth0": 2, "ethtool/strings/features": 2, "route/links": link(2, "eth0"),
    }  # fmt: skip
    states = feature.states(Fake(netlinks, answers), "eth0")
    assert {name: (one.on, one.fixed) for name, one in states.items()} == {
        "rx-gro": (True, False),
        "rx-lro": (False, False),
    }
    sent = []

    class Old(Kernel):
        def change(self, family: str, kind: int, body: bytes, flags: int = 0) -> None:
            raise FileNotFoundError(2, "this kernel has no ethtool netlink")

        def ioctl(self, interface: str, request: bytes) -> bytes:
            sent.append((interface, request))
            return names + bytes(len(request) - len(names)) if request[0] == 0x1B else request

    put(cast("Host", Old()), "features", "eth0", {"rx-lro": True})
    assert sent[-1] == ("eth0", struct.pack("=II2I", 0x3B, 1, 2, 2))
    with pytest.raises(ValueError, match="rx-fast: not known"):
        put(cast("Host", Old()), "features", "eth0", {"rx-fast": True})
