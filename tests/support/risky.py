"""A device with a setting of each kind that may cut the link, and a change of one of them."""

import json
from collections.abc import Callable
from pathlib import Path

import fake_ethtool
import pytest

from nettop import settings
from nettop.changes import guard, plan
from nettop.changes.apply import Arm, Terms, apply
from nettop.changes.journal import Journal
from nettop.settings import Host, _ethtool, privflag, ring

MTU = "link.mtu@eth0"
MTU6 = "sysctl.net.ipv6.conf.eth0.mtu"
# each kind of setting that may cut the link, with another value
RISKY = {
    "link.mtu@eth0": "1400", "ring.rx@eth0": "4096", "pause.rx@eth0": "off",
    "privflag.odd@eth0": "on",
}  # fmt: skip


@pytest.fixture
def risky_device(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device with rings, flow control and flags, whose IPv6 MTU goes down with its own."""
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    file = tmp_path / "ethtool.json"
    file.write_text(json.dumps(fake_ethtool.DEVICE))
    fakes = fake_ethtool.functions(file)
    for kind in settings.kinds():  # a module that is loaded later would keep what is patched here
        settings.kind(kind)
    for module in (_ethtool, ring, privflag):
        for name in ("values", "field", "put"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, fakes[name])
    monkeypatch.setattr("nettop.host.netlink.ethtool.strings", fakes["strings"])
    six = tmp_path / "host/proc/sys/net/ipv6/conf/eth0/mtu"
    six.parent.mkdir(parents=True)
    six.write_text("1500\n")
    write = settings.write

    def both(to: Host, address: settings.Address, value: str) -> None:
        write(to, address, value)
        if address.kind == "link":
            six.write_text(f"{value}\n")

    monkeypatch.setattr(settings, "write", both)


def pauses(
    monkeypatch: pytest.MonkeyPatch, each: Callable[[float], object] = lambda _: None
) -> None:
    """The guard gets no signal, and waits for none: `each` gets the seconds."""

    def none(seconds: float) -> int:
        each(seconds)
        return 0

    monkeypatch.setattr(guard, "_signal", none)


def make(
    host: Host, book: Journal, setting: str = "link.mtu@eth0",
    arm: Arm = lambda *_: None,
) -> str:  # fmt: skip
    """Make a risky change; the value before it."""
    changes = plan.plan([(setting, RISKY[setting])], host.source)
    (made,) = apply(changes, host, book, Terms(confirm=60, arm=arm))
    assert made.state == "pending", made
    return made.before


def shows(host: Host, setting: str = "link.mtu@eth0") -> str:
    return settings.read(host.source, settings.parse(setting))
