"""The identity of a device in a network namespace whose sysfs is another one's."""

import pytest

from nettop.host.recording import Replay
from nettop.settings import _device

MAC = "02:00:00:00:00:01"


class Here(Replay):
    """A source that is taken for this machine."""

    live = True


def test_sysfs_of_another_namespace_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index that rtnetlink tells is another than that of sysfs: only rtnetlink counts."""
    monkeypatch.setattr(_device, "_asked", lambda _source, _nic: (7, MAC))
    source = Here("-- /sys/class/net/eth0/ifindex --\n2\n-- /sys/class/net/eth0/device@ --\nx\n")
    assert _device.identity(source, "eth0") == f"ifindex 7 address {MAC}"


@pytest.mark.parametrize(
    ("then", "now", "alike"),
    [
        ("ifindex 2 node 9", "ifindex 3 node 9", True),  # moved to another namespace
        ("ifindex 2 node 9", "ifindex 2 node 8", False),
        ("ifindex 2", "ifindex 3", False),
        ("ifindex 2", "ifindex 2 node 9", True),
        ("started 1", "started 1", True),
        ("started 1", "started 2", False),
    ],
)
def test_which_identities_are_of_one_device(then: str, now: str, alike: bool) -> None:
    assert _device.same(then, now) is alike
