"""Forwarded packets that came and left by one interface, from counters of all interfaces."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nettop.facts.kinds.hairpin import Hairpin, build
from nettop.frame.rates import Frame

LOOP = {"lan": (150.0, 1.0), "wan": (4700.0, 4850.0)}
LO = {"lo": (9e6, 9e6)}


def hairpins(forwarded: float | None, nics: Any) -> Any:
    rows = tuple(
        SimpleNamespace(name=name, kind="loopback" if name == "lo" else "veth",
                        per_s=SimpleNamespace(rx_packets=came, tx_packets=left,
                                              tx_dropped=0.0, qdisc_drops=gone[0] if gone else 0.0))
        for name, (came, left, *gone) in nics.items()
    )  # fmt: skip
    facts: Any = SimpleNamespace(host=SimpleNamespace(ip_forwarded=forwarded), nics=rows)
    return build(Frame(0.0, 0.0, {}), facts)


def test_what_other_interfaces_cannot_have_carried_returned() -> None:
    assert hairpins(4800.0, LOOP | LO) == (Hairpin("wan", 4700.0 - 151.0, 150.0),)


@pytest.mark.parametrize(("forwarded", "nics"), [
    (None, LOOP), (0.0, LOOP),
    (4800.0, {"lan": (4800.0, 1.0), "wan": (1.0, 4800.0)}),  # from one to the other
    (4800.0, {"mgmt": (0.5, 0.5), "wan": (4700.0, 4700.0)}),  # a router with one arm
    (4800.0, {"lan": (None, None), "wan": (None, None)}),  # the first frame
    (4800.0, {"lan": (150.0, None), "wan": (4700.0, 4850.0)}),  # a driver that does not count
    (4800.0, {"lan": (150.0, 1.0, 4700.0), "wan": (4700.0, 4850.0)}),  # a queue that drops it all
    (4800.0, {"eth0": (4800.0, 4800.0), "eth0.5": (4800.0, 0.0), "eth0.6": (0.0, 4800.0)}),
])  # fmt: skip
def test_a_router_of_two_networks_returns_nothing(forwarded: float | None, nics: Any) -> None:
    assert hairpins(forwarded, nics) == ()
