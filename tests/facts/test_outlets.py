"""Ways out of a router whose MTU is below that of a network behind it."""

from types import SimpleNamespace
from typing import Any

import pytest

from nettop.facts.kinds.outlet import Outlet, build
from nettop.frame.rates import Entry, Frame

ANY = "0.0.0.0/0"
GUEST = {"eth0": ("nic", 1454, ANY), "docker0": ("bridge", 1500, "172.17.0.1/16")}
FOUND = Outlet("eth0", 1454, "docker0", 1500, main=True, clamped=False)


def outlets(
    nics: Any, forwarding: bool | None = True, clamps: bool | None = False, mtu: int | None = None,
    tcp: tuple[Any, ...] = (),
) -> Any:  # fmt: skip
    """`nics`: kind, MTU, and the addresses of the network or that of the default route."""
    named = {name: [one for one in more if one != ANY] for name, (_, _, *more) in nics.items()}
    rows = {
        "routes": [SimpleNamespace(interface=name, to=ANY, mtu=mtu)
                   for name, (_, _, *more) in nics.items() if ANY in more],
        "addresses": [
            SimpleNamespace(interface=name, scope="global", address=one.partition("/")[0],
                            prefix=int(one.partition("/")[2]))
            for name, found in named.items() for one in found
        ],
        "netns_tcp": tcp,
    } | ({} if clamps is None else {"nft_chains": [SimpleNamespace(clamps=clamps)]})  # fmt: skip
    facts: Any = SimpleNamespace(
        host=SimpleNamespace(forwarding=forwarding),
        nics=[SimpleNamespace(name=name, kind=kind, mtu=mtu, up=True, carrier=True)
              for name, (kind, mtu, *_) in nics.items()],
    )  # fmt: skip
    made = {name: tuple(Entry(row, row) for row in found) for name, found in rows.items()}
    return build(Frame(0.0, 0.0, made), facts)


def socket(local: str, remote: str, **more: Any) -> Any:
    idle: dict[str, Any] = {"backoff": 0, "lost": 0, "mss": 1448, "rcv_ooopack": 0,
                            "rmem_alloc": 0, "recv_q": 0, "bytes_acked": 0.0,
                            "bytes_received": 0.0}  # fmt: skip
    return SimpleNamespace(local=local, remote=remote, **idle | more)


def test_a_bridge_of_containers_over_the_smaller_mtu_of_a_cloud() -> None:
    assert outlets(GUEST) == (FOUND,)


@pytest.mark.parametrize(("nics", "forwarding"), [
    (GUEST, False), (GUEST, None),
    (GUEST | {"eth0": ("nic", 1500, ANY)}, True),
    (GUEST | {"docker0": ("bridge", 1454, "172.17.0.1/16")}, True),
    (GUEST | {"docker0": ("bridge", 1500)}, True),  # no network of this host
    ({"eth0": ("nic", 1500, ANY), "eth1": ("nic", 9000, "10.1.0.1/24")}, True),  # offers 1500
])  # fmt: skip
def test_a_way_that_carries_what_others_send_has_no_fact(nics: Any, forwarding: Any) -> None:
    assert outlets(nics, forwarding) == ()


def test_the_mtu_of_the_default_route_counts_and_rules_that_were_not_read_are_unknown() -> None:
    nics = GUEST | {"eth0": ("nic", 1500, ANY)}
    (found,) = outlets(nics, mtu=1400, clamps=None)
    assert (found.mtu, found.clamped) == (1400, None)
    assert outlets(GUEST, clamps=True)[0].clamped is True


def test_a_tunnel_for_the_network_by_which_the_default_route_leads_out() -> None:
    nics = {"eth0": ("nic", 1500, ANY, "192.168.42.1/24"), "tun0": ("tunnel", 1304, "10.0.0.2/24")}
    assert outlets(nics) == (Outlet("tun0", 1304, "eth0", 1500, clamped=False),)


@pytest.mark.parametrize(("one", "stalled"), [
    (socket("172.17.0.2", "203.0.113.80", rcv_ooopack=1, rmem_alloc=2136), 1),
    (socket("172.17.0.2", "203.0.113.80", backoff=3, lost=1), 1),
    (socket("172.17.0.2", "203.0.113.80", backoff=1, lost=1), 0),
    (socket("172.17.0.2", "203.0.113.80", backoff=3, lost=1, mss=1380), 0),  # it fits
    (socket("172.17.0.2", "172.17.0.3", backoff=3, lost=1), 0),  # within the network
    (socket("203.0.113.80", "172.17.0.2", backoff=3, lost=1), 0),  # not behind it
    (socket("172.17.0.2", "203.0.113.80", rcv_ooopack=1, rmem_alloc=9000, recv_q=900), 0),
    (socket("172.17.0.2", "203.0.113.80", rcv_ooopack=1, rmem_alloc=2136, bytes_received=9.0), 0),
])  # fmt: skip
def test_a_container_that_misses_a_full_segment_stalls(one: Any, stalled: int) -> None:
    assert outlets(GUEST, tcp=(one,))[0].stalled == stalled
