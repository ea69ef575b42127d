"""What the kernel learnt of a destination, from a redirect or a router on the way."""

from __future__ import annotations

from typing import Any

import way_tables as host
from way_tables import FAR, answer, frame, went


def test_a_next_hop_that_was_learnt_by_a_redirect_is_a_suspect() -> None:
    learnt = answer("192.0.2.9", kind="unicast", network="0.0.0.0/0", table=254, interface="a0",
                    address=host.NEAR, gateway="10.0.0.3", redirected=True)  # fmt: skip
    way = went("192.0.2.9", frame(ways=[learnt]))
    assert way.decider is None
    assert way.suspect is not None
    words = f"redirect that this host accepted, where route 0.0.0.0/0 has {host.GATEWAY}"
    assert words in way.suspect.saw
    assert "net.ipv4.conf.a0.accept_redirects=0; ip route flush cache" in way.suspect.change


def test_an_mtu_that_was_learnt_is_not_that_of_the_route() -> None:
    known: dict[str, Any] = {
        "network": "10.0.0.0/24",
        "table": 254,
        "interface": "a0",
        "address": host.NEAR,
    }
    learnt = answer(FAR, kind="unicast", mtu=552, locked=True, learnt=True, **known)
    way = went(FAR, frame(ways=[learnt]))
    assert any("mtu 552, learnt from a router" in one.saw for one in way.steps)
    assert way.suspect is None
