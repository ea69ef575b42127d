"""The MTU of an interface, and that of the interfaces above, which the kernel lowers with it."""

from pathlib import Path

import pytest

from nettop import settings
from nettop.changes import guard, plan
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.changes.undo import undo
from nettop.settings import Host

ABOVE = {"eth0": ("bond0",), "bond0": ("bond0.5", "bond0.6"), "bond0.5": ("br0",)}
ALL = ("eth0", "bond0", "bond0.5", "bond0.6", "br0")


@pytest.fixture
def stacked(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """eth0 below a bond with two VLANs, one of them in a bridge; the MTU of each by its name."""
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    for place, name in enumerate(ALL):
        folder = tmp_path / "host/sys/class/net" / name
        folder.mkdir(exist_ok=True)
        (folder / "ifindex").write_text(f"{place + 2}\n")
        (folder / "mtu").write_text("1500\n" if name != "bond0.6" else "1480\n")
        for upper in ABOVE.get(name, ()):
            (folder / f"upper_{upper}").symlink_to(f"../{upper}")
    write = settings.write

    def lowers(to: Host, address: settings.Address, value: str) -> None:
        """As in the kernel: the MTU of those above goes down, and none is above that below."""
        for lower, uppers in ABOVE.items():
            if address.nic in uppers and int(value) > int(shown(to, lower)):
                raise OSError(34, "Numerical result out of range")
        write(to, address, value)
        for upper in ABOVE.get(address.nic, ()):
            known = (tmp_path / "host/sys/class/net" / upper).exists()
            if known and int(shown(to, upper)) > int(value):
                lowers(to, settings.parse(f"link.mtu@{upper}"), value)

    monkeypatch.setattr(settings, "write", lowers)
    return {name: shown(host, name) for name in ALL}


def shown(host: Host, name: str) -> str:
    return settings.read(host.source, settings.parse(f"link.mtu@{name}"))


@pytest.mark.parametrize("way", ["guard", "undo"])
def test_all_have_their_values_again(
    host: Host, book: Journal, stacked: dict[str, str], way: str
) -> None:
    terms = Terms(confirm=60 if way == "guard" else 0, arm=lambda *_: None)
    (made,) = apply(plan.plan([("link.mtu@eth0", "1400")], host.source), host, book, terms)
    assert {name: shown(host, name) for name in ALL} == dict.fromkeys(ALL, "1400")
    assert "link.mtu@br0 1500 → 1400" in made.because
    (back,) = guard.revert(book, 1) if way == "guard" else undo(book, host, (1,))
    assert back.state == {"guard": "reverted", "undo": "undone"}[way]
    assert {name: shown(host, name) for name in ALL} == stacked


def test_what_another_program_set_above_since_stays(
    host: Host, book: Journal, stacked: dict[str, str], tmp_path: Path
) -> None:
    terms = Terms(confirm=0, arm=lambda *_: None)
    apply(plan.plan([("link.mtu@eth0", "1400")], host.source), host, book, terms)
    (tmp_path / "host/sys/class/net/bond0.6/mtu").write_text("1300\n")
    undo(book, host, (1,))
    assert shown(host, "bond0.6") == "1300"
    assert shown(host, "bond0.5") == "1500"


def test_ipv6_above_keeps_its_least_mtu(
    host: Host, stacked: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "host/proc/net").mkdir(parents=True, exist_ok=True)
    (tmp_path / "host/proc/net/if_inet6").write_text("fd00 04 40 00 80 bond0.5\n")
    address = settings.parse("link.mtu@eth0")
    assert settings.limits(host.source, address).min == 1280


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
@pytest.mark.parametrize("together", [True, False])
def test_a_change_of_an_interface_above_goes_back_to_its_own_value(
    host: Host, book: Journal, stacked: dict[str, str], order: tuple[int, int], *, together: bool
) -> None:
    terms = Terms(confirm=0, arm=lambda *_: None)
    pairs = [("link.mtu@eth0", "1400"), ("link.mtu@bond0.6", "1300")]
    for some in [pairs] if together else [pairs[:1], pairs[1:]]:
        made = apply(plan.plan(some, host.source), host, book, terms)
        assert [one.state for one in made] == ["applied"] * len(some)
    for number in order:
        assert [one.state for one in undo(book, host, (number,))] == ["undone"]
    assert {name: shown(host, name) for name in ALL} == stacked


@pytest.mark.parametrize("stranger", [True, False])
def test_an_interface_above_is_known_by_what_it_is(
    host: Host, book: Journal, stacked: dict[str, str], tmp_path: Path, *, stranger: bool
) -> None:
    terms = Terms(confirm=60, arm=lambda *_: None)
    apply(plan.plan([("link.mtu@eth0", "1400")], host.source), host, book, terms)
    net = tmp_path / "host/sys/class/net"
    (net / "br0").rename(net / "lan")
    if stranger:
        (net / "br0").mkdir()
        (net / "br0/ifindex").write_text("77\n")
        (net / "br0/mtu").write_text("1400\n")
    (back,) = guard.revert(book, 1)
    assert back.state == "reverted"
    assert shown(host, "lan") == "1500"
    assert not stranger or shown(host, "br0") == "1400"
