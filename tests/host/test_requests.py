"""The bytes of every request to the kernel: recordings answer by name, so they do not notice them.

`pytest tests/host/test_requests.py --update` writes the golden file; compare it with the structures
in include/uapi/linux (rtnetlink.h, inet_diag.h, ethtool.h, ethtool_netlink.h) before committing it.
"""

import struct
from pathlib import Path

import pytest
from golden_text import same
from netlink_bytes import Fake

from nettop import collect
from nettop.collect.ways import Question
from nettop.host.netlink import driver
from nettop.host.netlink.codec import Request
from nettop.host.recording import Replay, load
from nettop.sampling.sampler import Sampler

ASKED = (
    Question("192.0.2.7", port=443),
    Question("2001:db8::7", "2001:db8::1", "lo", mark=7, protocol="udp", port=53),
)
HERE = Path(__file__).parents[1]
HOSTS = [HERE.parent / "rules/demo.host.gz", HERE / "hosts/vm-virtio-rss.host"]


def shown(body: bytes) -> str:
    """The bytes as hexadecimal text; the zeros at the end are counted."""
    text = body.rstrip(b"\0")
    return f"{text.hex() or '-'} +{len(body) - len(text)}"


class Asking(Replay):
    """A recording that remembers the requests, also those that it cannot answer."""

    def __init__(self, archive: bytes) -> None:
        super().__init__(archive)
        self.asked: dict[str, str] = {}

    def netlink(self, request: Request) -> bytes:
        dump = " dump" if request.dump else ""
        self.asked[request.name] = f"{request.family} {request.kind}{dump} {shown(request.body)}"
        return super().netlink(request)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        self.asked[name] = f"ioctl {shown(request)}"
        return super().statistics(interface, request, name)


@pytest.mark.parametrize("path", HOSTS, ids=lambda path: path.name.split(".")[0])
def test_the_bytes_of_each_request(path: Path, update: bool) -> None:
    source = Asking(load(str(path)))
    sampler = Sampler(source)
    sampler.ask(ASKED)
    sampler.take(collect.names())
    while source.wait(1):
        sampler.take(collect.names())
    text = "".join(f"{name}: {asked}\n" for name, asked in sorted(source.asked.items()))
    golden = HERE / "golden/requests" / f"{path.name.split('.')[0]}.txt"
    same(golden, text, update)


# What the driver is asked by ioctl, byte by byte: recordings answer by name and would not tell.


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
