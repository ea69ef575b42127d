"""Fewer receive queues of a veth than the other end sends on: the kernel would warn."""

import pytest
from netlink_bytes import Fake, link, nest, number, text

from nettop import settings
from nettop.settings import channels


def veth(elsewhere: bool = False, kind: str = "veth") -> Fake:
    """`va`, its peer `vb` or a peer in another namespace."""
    more = [number(37, 0)] if elsewhere else []
    one = link(2, "va", number(5, 3), nest(18, text(1, kind)), *more)
    return Fake({"route/link/va": one, "route/links": one + link(3, "vb")})


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "values", lambda _source, _what, _nic: {"tx_count": 4})


def warned(source: Fake, setting: str, value: str) -> str:
    return " ".join(settings.warns(source, settings.parse(setting), value))


def test_fewer_receive_queues_than_the_peer_sends_on_are_warned_of() -> None:
    said = warned(veth(), "channels.rx@va", "2")
    assert "sends on 4 queues" in said
    assert "first set its transmit channels to 2" in said


def test_a_peer_in_another_namespace_may_send_on_more() -> None:
    assert "may send on more than 2 queues" in warned(veth(elsewhere=True), "channels.rx@va", "2")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("channels.rx@va", "4"), ("channels.rx@va", "1"), ("channels.tx@va", "2")],
)
def test_other_values_are_not(setting: str, value: str) -> None:
    assert warned(veth(), setting, value) == ""


def test_other_interfaces_are_not() -> None:
    assert warned(veth(kind="bond"), "channels.rx@va", "2") == ""
    assert warned(Fake({}), "channels.rx@va", "2") == ""
    assert warned(Fake({}), "ring.rx@va", "2") == ""
