"""The bytes of every request to the kernel: recordings answer by name, so they do not notice them.

`pytest tests/host/test_requests.py --update` writes the golden file; compare it with the structures
in include/uapi/linux (rtnetlink.h, inet_diag.h, ethtool.h, ethtool_netlink.h) before committing it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_text import same

from nettop import collect
from nettop.collect.ways import Question
from nettop.host.recording import Replay, load
from nettop.host.request import Request
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
