"""`why --to`: what the kernel drops of arriving packets while nettop looks, where it fits."""

from collections.abc import Callable, Iterable
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from way_tables import FAR, NEAR, SOUND, frame, link, qdisc, route

from nettop.collect import half_open, link_stats, nft_hooks, nft_rules
from nettop.collect.neighbour_states import Row as Neighbour
from nettop.commands import _way
from nettop.facts.way import Flow, walk

ABROAD = "198.51.100.9"
HOST: Any = {
    "links": [*SOUND["links"], link("ifb0", 9, kind="ifb", up=False)],
    "qdiscs": [qdisc("a0", "ingress", root=False)],
}


def host(counted: Callable[[str], str], failures: Iterable[int] = ()) -> Any:
    """A source: what it counts, and entries of connection tracking that were not inserted."""
    given, clock = iter(failures), count(0, 2)

    def text(path: str) -> str:
        if path.endswith("_count"):
            return "4\n"
        if path.endswith("nf_conntrack") and (found := next(given, None)) is not None:
            return f"entries insert_failed\n4 {found:x}\n"
        raise FileNotFoundError(path)

    return SimpleNamespace(counted=counted, wait=lambda _: True, now=lambda: next(clock), text=text)


DROPPED = f"2.000\nTC_INGRESS 4 __netif_receive_skb_core here 2 tcp 80 {FAR} 40000 {NEAR} 80\n"


@pytest.mark.parametrize(
    ("text", "drops", "found"),
    [
        (DROPPED, True, True),
        (DROPPED, False, False),
        ("2.000\n", True, False),
        ("odd", True, False),
    ],
)
def test_drops_of_the_flow_are_a_doubt(
    text: str, monkeypatch: pytest.MonkeyPatch, *, drops: bool, found: bool
) -> None:
    monkeypatch.setattr(half_open, "now", lambda _: [])
    source = host(lambda _: text)
    seen = frame(**HOST)
    way = walk(Flow(NEAR, 80, FAR, "a0"), seen)
    suspect = _way._observed(source, way, seen, drops=drops).suspect
    assert (suspect is not None) is found
    if suspect is not None:
        assert suspect.change == "ip link set ifb0 up"


def test_handshakes_that_are_repeated_show_the_way_of_what_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repeated = half_open.Row(NEAR, 80, 3, unheard=3, client=ABROAD)
    monkeypatch.setattr(half_open, "now", lambda _: [repeated])
    monkeypatch.setattr("nettop.host.bpf.arp.hops", lambda *_: ())
    seen = frame(fib=[*SOUND["fib"][:-1], route("0.0.0.0/0", "b0", "10.1.0.254")])
    way = walk(Flow(ABROAD, origin=NEAR), seen)
    assert way.suspect is None
    suspect = _way._observed(host(str), way, seen, drops=False).suspect
    assert suspect is not None
    assert suspect.saw.startswith(f"{NEAR} is an address of a0, and what it sends to {ABROAD}")


@pytest.mark.parametrize(("port", "told"), [(8472, True), (4789, False)])
def test_what_comes_to_another_port_tells_why_a_neighbour_behind_a_tunnel_is_silent(
    port: int, monkeypatch: pytest.MonkeyPatch, *, told: bool
) -> None:
    monkeypatch.setattr(half_open, "now", lambda _: [])
    text = f"2.000\nNO_SOCKET 4 __udp4_lib_rcv here 2 udp {port} {ABROAD} 40000 {NEAR} {port}\n"
    source = host(lambda _: text)
    tunnel = link("a0", 2, kind="vxlan", tunnel_port=4789, tunnel_remote=ABROAD)
    seen = frame(
        links=[SOUND["links"][0], tunnel, *SOUND["links"][2:]],
        link_stats=[link_stats.Row("a0", 2, 0, 40, *[0] * 21)],
        neighbour_states=[Neighbour("a0", FAR, 4, "failed")],
    )
    way = walk(Flow(FAR, 80), seen)
    assert way.decider is not None
    assert way.decider.place in _way.ASKED
    decider = _way._observed(source, way, seen, drops=True).decider
    assert decider is not None
    said = f"{ABROAD} sends to UDP port 8472, and a0 takes port 4789"
    assert (said in decider.saw) is told


@pytest.mark.parametrize(
    ("counted", "port", "told"),
    [
        ({"drops": "2.000\nTCP_MINTTL 9 tcp_v4_rcv here 2 tcp 80 {} 40000 {} 80\n"}, 80,
         "9 packets of it were dropped while nettop looked: The TTL is below what the socket"),
        ({"drops": "2.000\nTCP_MINTTL 9 tcp_v4_rcv here 2 tcp 80 {} 40000 {} 81\n"}, 80, ""),
        ({"calls": "2.000\nconnect EADDRNOTAVAIL 7 5 here {1} 80 app\n"}, 80,
         "7 calls of app[5] for it failed while nettop looked (connect, EADDRNOTAVAIL): No local"),
        ({"calls": "2.000\nconnect EADDRNOTAVAIL 7 5 here {0} 80 app\n"}, 80, ""),
        ({}, 80, ""),
    ],
)  # fmt: skip
def test_what_is_lost_or_fails_on_a_way_that_nothing_stops_is_told(
    counted: dict[str, str], port: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(half_open, "now", lambda _: [])
    texts = {name: text.format(FAR, NEAR) for name, text in counted.items()}
    source = host(lambda name: texts.get(name, "2.000\n"))
    seen = frame(**SOUND)
    way = walk(Flow(NEAR, port, FAR, "a0"), seen)
    assert way.decider is None
    step = _way._observed(source, way, seen, drops=True).steps[0]
    assert step.saw.startswith(told or way.steps[0].saw)
    assert (step.outcome == "suspect") is bool(told)


@pytest.mark.parametrize(("call", "told"), [
    ("listen;tcp; EADDRINUSE 7 5 here 0.0.0.0 80 new", True),
    ("listen;tcp; EADDRINUSE 7 5 here 0.0.0.0 81 new", False),
])  # fmt: skip
def test_who_wants_the_port_of_another_program_is_no_doubt(
    call: str, monkeypatch: pytest.MonkeyPatch, *, told: bool
) -> None:
    monkeypatch.setattr(half_open, "now", lambda _: [])
    source = host(lambda name: f"2.000\n{call}\n" if name == "calls" else "2.000\n")
    seen = frame(**SOUND)
    way = _way._observed(source, walk(Flow(NEAR, 80, FAR, "a0"), seen), seen, drops=True)
    last = way.steps[-1]
    assert (way.decider, way.suspect) == (None, None)
    assert (last.place == "calls") is told
    if told:
        assert last.saw == (
            "7 calls of new[5] for it failed while nettop looked (listen tcp, EADDRINUSE): Another "
            "socket listens at the address and port: app[7] has bound 0.0.0.0:80"
        )


@pytest.mark.parametrize(("failures", "told"), [((0, 60), True), ((60, 60), False), ((), False)])
def test_a_translation_without_a_port_is_seen_by_what_tracking_counts_meanwhile(
    failures: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, *, told: bool
) -> None:
    monkeypatch.setattr(half_open, "now", lambda _: [])
    text = f"2.000\nNETFILTER_DROP 60 nf_hook_slow here 2 tcp 80 {FAR} 40000 {NEAR} 80\n"
    does = ("immediate", 1, "c350"), ("immediate", 2, "c351"), ("nat", 0, 1, 2)
    seen = frame(
        nft_hooks=[nft_hooks.Row("ip", "nat", "p", "postrouting", 100, "nat", drops=False)],
        nft_rules=[nft_rules.Row("ip", "nat", "p", 2, does)],
    )
    way = walk(Flow(NEAR, 80, FAR, "a0"), seen)
    source = host(lambda _: text, failures)
    suspect = _way._observed(source, way, seen, drops=True).suspect
    assert suspect is not None
    no_port = "Address translation has no port left for the packet: rule of handle 2 in chain p"
    assert (no_port in suspect.saw) is told
