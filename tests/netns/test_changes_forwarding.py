"""Parameters of all interfaces: the kernel writes them to each one, and undo gives each its own."""

import pytest
from changes_netns import Nettop

pytestmark = pytest.mark.netns
KEPT = ("ipv4.ip_forward", "ipv4.conf.all.accept_redirects", "ipv4.conf.va.forwarding",
        "ipv4.conf.vb.forwarding", "ipv4.conf.default.forwarding", "ipv6.conf.all.forwarding",
        "ipv6.conf.va.forwarding", "ipv6.conf.vb.forwarding")  # fmt: skip


def shown(nettop: Nettop) -> dict[str, str]:
    values = nettop.see("sysctl", "-n", *(f"net.{name}" for name in KEPT)).split()
    return dict(zip(KEPT, values, strict=True))


@pytest.mark.parametrize(
    "name", ["ipv4.ip_forward", "ipv4.conf.all.forwarding", "ipv6.conf.all.forwarding"]
)
def test_undo_gives_each_interface_its_own_value(nettop: Nettop, name: str) -> None:
    nettop.see("sysctl", "-qw", "net.ipv4.ip_forward=0", "net.ipv6.conf.all.forwarding=0")
    own = ("ipv4.conf.all.accept_redirects=0", "ipv4.conf.vb.forwarding=1",
           "ipv6.conf.vb.forwarding=1")  # fmt: skip
    nettop.see("sysctl", "-qw", *(f"net.{one}" for one in own))
    before = shown(nettop)
    assert nettop("set", f"sysctl.net.{name}", "1")[0]["state"] == "applied"
    assert shown(nettop)[f"{name[:4]}.conf.va.forwarding"] == "1"
    assert nettop("undo", "--all")[0]["state"] == "undone"
    assert shown(nettop) == before


@pytest.mark.parametrize("where", ["va", "all"])
def test_addresses_that_undo_could_not_put_back_are_not_removed(nettop: Nettop, where: str) -> None:
    nettop.see("ip", "-6", "addr", "add", "fd00::7/64", "dev", "va")
    try:
        name = f"sysctl.net.ipv6.conf.{where}.disable_ipv6"
        (told,) = nettop("set", name, "1", code=4)
        assert "would remove the IPv6 addresses of va, and undo could not" in told["because"]
        assert "fd00::7" in nettop.see("ip", "-6", "addr", "show", "dev", "va")
        assert nettop("set", name.replace(where, "default"), "1")[0]["state"] == "applied"
        assert nettop("undo", "--all")[0]["state"] == "undone"
    finally:
        nettop.see("ip", "-6", "addr", "del", "fd00::7/64", "dev", "va")
