"""A setting of an interface that rtnetlink tells, or that this kernel does not have."""

import pytest

from nettop.host.recording import Replay
from nettop.settings import Address, link


def test_an_attribute_that_this_kernel_lacks_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "attributes", lambda _source, _nic: {"gso_max_size": 65536})
    source = Replay("-- /proc/uptime --\n1 1\n")
    assert link.read(source, Address("link", "gso-max-size", "eth0")) == "65536"
    with pytest.raises(FileNotFoundError, match="this kernel has no gso-ipv4-max-size"):
        link.read(source, Address("link", "gso-ipv4-max-size", "eth0"))
