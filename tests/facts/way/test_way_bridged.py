"""Frames that a bridge of this host forwards: the ports decide, not the routes."""

from typing import Any

import pytest
from way_tables import FAR, NEAR, SOUND, frame, link, route, switches, went

from nettop.collect import addresses, neighbour_states, nft_hooks, nft_rules, sysctls
from nettop.collect.fdb import Row as Entry
from nettop.facts.way import HIDDEN, Way

OTHER = "10.0.0.9"


def port(name: str, index: int, **more: Any) -> Any:
    usual = {"master": "br0", "slave_kind": "bridge", "port_state": "forwarding", "isolated": False}
    return link(name, index, **{**usual, **more})


def bridged(*ports: Any, to: str = OTHER, asks: int = 0, **tables: Any) -> Way:
    links = [*SOUND["links"], link("br0", 9, kind="bridge"), *ports]
    return went(to, frame(links=links, **tables), origin=FAR, arrives="p1", port=asks)


def test_a_frame_between_two_ports_is_not_routed() -> None:
    way = bridged(port("p1", 10), port("p2", 11))
    assert way.decider is None
    assert way.case == "forward"
    assert [step.place for step in way.steps] == ["bridge"]
    assert "bridged, not routed" in way.steps[0].saw


@pytest.mark.parametrize(
    ("ports", "saw", "change"),
    [
        ([port("p1", 10, isolated=True), port("p2", 11, isolated=True)],
         "the ports p1 and p2 of the bridge br0 are isolated: no frame passes between them",
         "bridge link set dev p1 isolated off"),
        ([port("p1", 10, port_state="blocking"), port("p2", 11)],
         "the port p1 of the bridge br0 is blocking", "bridge link set dev p1 state 3"),
        ([port("p1", 10, port_state="learning"), port("p2", 11)],
         "the port p1 of the bridge br0 is learning",
         "ip link set br0 type bridge stp_state 0; bridge link set dev p1 state 3"),
        ([port("p1", 10, up=False), port("p2", 11)], "the port p1 is down", "ip link set p1 up"),
        ([port("p1", 10, carrier=False), port("p2", 11)], "the port p1 has no carrier",
         "bring up the other end of p1, in its namespace"),
        ([port("p1", 10), port("p2", 11, port_state="disabled")],
         "no other port of the bridge br0 forwards", "bridge link set dev p2 state 3"),
        ([port("p1", 10)], "no other port of the bridge br0 forwards",
         f"ip link set PORT master br0 up, for the port to {OTHER}"),
    ],
)  # fmt: skip
def test_a_port_that_passes_nothing_is_named(ports: list[Any], saw: str, change: str) -> None:
    decider = bridged(*ports).decider
    assert decider is not None
    assert (decider.place, decider.saw, decider.change) == ("bridge", saw, change)


def test_some_isolated_ports_may_be_the_way() -> None:
    apart = [port("p1", 10, isolated=True), port("p2", 11, isolated=True), port("p3", 12)]
    way = bridged(*apart)
    assert way.decider is None
    assert "p1 and p2" in way.headline
    assert way.headline.startswith(f"packets to {OTHER} from {FAR} on p1 may be lost: ")
    assert bridged(port("p1", 10), *apart[1:]).suspect is None


DROP = [nft_rules.Row("ip", "filter", "forward", 7, (("immediate", 0, "0:"),))]


BOTH = (
    "nft insert rule ip filter forward tcp dport 80 accept; nft insert rule ip filter forward ct "
    "state established,related accept"
)


@pytest.mark.parametrize(
    ("value", "rules", "place", "change"),
    [
        ("1", [], "bridged", BOTH),
        ("1", DROP, "hooks", "nft delete rule ip filter forward handle 7"),
        ("0", DROP, "", ""),
    ],
)  # fmt: skip
def test_rules_of_ip_see_bridged_frames_with_br_netfilter(
    value: str, rules: list[Any], place: str, change: str
) -> None:
    """What lets packets pass lets the answers pass too: they meet the same policy."""
    chain = nft_hooks.Row("ip", "filter", "forward", "forward", 0, "filter", drops=True)
    decider = bridged(
        port("p1", 10), port("p2", 11), nft_hooks=[chain], nft_rules=rules, asks=80,
        sysctls=[sysctls.Row("net.bridge.bridge-nf-call-iptables", value)],
    ).decider  # fmt: skip
    assert (decider.place if decider is not None else "") == place
    if decider is not None:
        assert decider.change == (
            f"nettop set sysctl.net.bridge.bridge-nf-call-iptables 0, or {change}"
        )
        assert "bridge-nf-call-iptables is 1" in decider.saw


def test_what_the_bridge_itself_has_is_routed() -> None:
    ours = [*SOUND["addresses"], addresses.Row("br0", "10.7.0.1", 24, 4, "global")]
    pair = port("p1", 10), port("p2", 11)
    near, far = (bridged(*pair, to=to, addresses=ours) for to in ("10.7.0.8", "10.1.0.8"))
    assert [step.place for step in near.steps] == ["bridge"]
    assert any(step.place == "forwarding" for step in far.steps)
    assert went(NEAR, frame(), origin=FAR, arrives="a0").case == "input"


@pytest.mark.parametrize(
    ("places", "mode", "doubt"), [("lo", 1, True), ("lo", 0, False), ("a0", 1, False)]
)
def test_an_address_for_which_nobody_answers_arp(places: str, mode: int, doubt: bool) -> None:
    virtual = addresses.Row(places, "10.0.0.100", 32, 4, "global")
    way = went(
        "10.0.0.100", frame(
            addresses=[*SOUND["addresses"], virtual],
            interface_sysctls=[switches("all"), switches("a0", arp_ignore=mode)],
        ), origin=FAR, arrives="a0", port=80,
    )  # fmt: skip
    said = [step.saw for step in way.steps if step.place == "arp"]
    assert bool(said) is doubt
    if doubt:
        assert "a0 answers no ARP for 10.0.0.100: net.ipv4.conf.a0.arp_ignore is 1" in said[0]
    assert not any(step.place == "arp" for step in way.of(HIDDEN))


@pytest.mark.parametrize(
    ("mode", "saw"), [(0, "another host there"), (1, "a0 answers no ARP for 10.0.0.100")]
)
def test_a_silent_interface_with_an_address_of_its_network_elsewhere(mode: int, saw: str) -> None:
    """That another host has the address is a guess, which arp_ignore makes needless."""
    virtual = addresses.Row("lo", "10.0.0.100", 32, 4, "global")
    way = went(
        NEAR, frame(
            addresses=[*SOUND["addresses"], virtual],
            interface_sysctls=[switches("all"), switches("a0", arp_ignore=mode)],
        ), origin=FAR, arrives="a0",
    )  # fmt: skip
    (said,) = [step.saw for step in way.steps if step.place == "arp"]
    assert saw in said


def test_the_first_address_of_a_network_is_of_no_host() -> None:
    """A plugin of containers gives it to its tunnel, beside the bridge that has the network."""
    tunnel = addresses.Row("flannel.1", "10.0.0.0", 32, 4, "global")
    way = went(NEAR, frame(addresses=[*SOUND["addresses"], tunnel]), origin=FAR, arrives="a0")
    assert not [step for step in way.steps if step.place == "arp"]


@pytest.mark.parametrize(("kind", "noarp", "doubt"), [(1, True, True), (1, False, False),
                                                      (65534, True, False)])  # fmt: skip
def test_an_interface_without_arp_is_not_found(kind: int, noarp: bool, doubt: bool) -> None:
    links = [SOUND["links"][0], link("a0", 2, type=kind, noarp=noarp), *SOUND["links"][2:]]
    way = went(NEAR, frame(links=links), origin=FAR, arrives="a0", port=80)
    assert (way.suspect is not None and "a0 is NOARP" in way.suspect.saw) is doubt


@pytest.mark.parametrize(("isolated", "verdict"), [(2, "decider"), (1, None)])
def test_hosts_behind_one_bridge_are_not_routed(isolated: int, verdict: str | None) -> None:
    """The ports are not known: the address of the other host says only the bridge."""
    ports = [port(f"p{n}", 9 + n, isolated=n <= isolated) for n in (1, 2)]
    own = [*SOUND["addresses"], addresses.Row("br0", "10.9.0.1", 24, 4, "global")]
    ways = [*SOUND["fib"], route("10.9.0.0/24", "br0", source="10.9.0.1")]
    links = [*SOUND["links"], link("br0", 9, kind="bridge"), *ports]
    way = went("10.9.0.3", frame(links=links, addresses=own, fib=ways), origin="10.9.0.2")
    assert [step.place for step in way.steps if step.place in ("forwarding", "route")] == []
    assert "both are behind the bridge br0" in way.steps[0].saw
    decider = way.decider
    assert (None if decider is None else "decider") == verdict
    assert decider is None or "p1 and p2 of the bridge br0 are isolated" in decider.saw


@pytest.mark.parametrize(("known", "doubts"), [
    ([], True), ([Entry("p2", "02:00:00:00:00:09", "", 0, "br0")], False),
])  # fmt: skip
def test_a_port_that_neither_floods_nor_has_an_entry(known: list[Entry], doubts: bool) -> None:
    way = bridged(port("p1", 10), port("p2", 11, floods=False), fdb=known)
    assert (way.suspect is not None) is doubts
    if way.suspect is not None:
        assert "no entry for a host behind p2" in way.suspect.saw


def test_a_locked_port_drops_who_has_no_entry_there() -> None:
    ports = [port("p1", 10, locked=True), port("p2", 11)]
    suspect = bridged(*ports, fdb=[]).suspect
    assert suspect is not None
    assert suspect.saw == (
        "br0 drops what comes by p1 from hardware addresses without a forwarding entry there "
        "(locked, 802.1X), as from 10.0.0.2"
    )
    known: dict[str, Any] = {
        "neighbour_states": [neighbour_states.Row("br0", FAR, 4, "stale", "02:00:00:00:00:02")]
    }
    decider = bridged(*ports, fdb=[], **known).decider
    assert decider is not None
    assert decider.change.startswith("bridge fdb add 02:00:00:00:00:02 dev p1 master static; or")
    let_in = Entry("p1", "02:00:00:00:00:02", "", 0, "br0", "static")
    assert bridged(*ports, fdb=[let_in], **known).suspect is None
    elsewhere = Entry("p2", "02:00:00:00:00:02", "", 0, "br0")
    assert bridged(*ports, fdb=[elsewhere], **known).decider is not None


@pytest.mark.parametrize(("to", "flag", "querier", "saw"), [
    (OTHER, "broadcasts", False,
     f"questions (ARP) for {OTHER} from other ports not to p2 (bcast_flood off)"),
    ("239.1.1.1", "multicasts", False,
     "frames for 239.1.1.1 from other ports not to p2 (mcast_flood off)"),
    ("239.1.1.1", "multicasts", True, ""), ("239.1.1.1", "multicasts", None, ""),
    ("239.1.1.1", "broadcasts", False, ""), (OTHER, "multicasts", False, ""),
])  # fmt: skip
def test_a_port_that_is_left_out_of_what_is_for_all(
    to: str, flag: str, querier: bool | None, saw: str
) -> None:
    pair = [port("p1", 10), port("p2", 11, **{flag: False})]
    links = [*SOUND["links"], link("br0", 9, kind="bridge", querier=querier), *pair]
    ask = frame(links=links), {"origin": FAR, "arrives": "p1"}
    decider = went(to, ask[0], **ask[1]).decider
    assert (decider.saw if decider else "") == (saw and f"the bridge br0 sends {saw}")
    if decider is not None:
        assert decider.change.startswith("bridge link set dev p2 ")
    third = [*links, port("p3", 12)]  # which may be the way
    assert went(to, frame(links=third), **ask[1]).decider is None


@pytest.mark.parametrize(("hairpin", "stops"), [(True, False), (False, True), (None, True)])
def test_a_port_in_hairpin_mode_sends_frames_back(hairpin: bool | None, stops: bool) -> None:
    mac = "02:00:00:00:00:09"
    links = [*SOUND["links"], link("br0", 9, kind="bridge"), port("p1", 10, hairpin=hairpin),
             port("p2", 11)]  # fmt: skip
    entry = Entry("p1", mac, "", 0, "br0", "learned")
    way = went(OTHER, frame(links=links, fdb=[entry]), origin=FAR, arrives="p1", hardware=mac)
    assert (way.decider is not None) is stops


@pytest.mark.parametrize(("state", "sticky", "suspect"), [
    ("static", True, True), ("permanent", False, True), ("learned", False, False),
])  # fmt: skip
def test_an_entry_set_by_hand_may_lead_frames_to_the_wrong_port(
    state: str, sticky: bool, suspect: bool
) -> None:
    mac = "02:00:00:00:00:09"
    links = [*SOUND["links"], link("br0", 9, kind="bridge"), port("p1", 10), port("p2", 11)]
    seen = [neighbour_states.Row("br0", OTHER, 4, "reachable", mac)]
    entry = Entry("p2", mac, "", 0, "br0", state, sticky=sticky)
    tables = frame(links=links, fdb=[entry], neighbour_states=seen)
    way = went(OTHER, tables, origin=FAR, arrives="p1")
    assert way.decider is None
    assert (way.suspect is not None) is suspect
    if way.suspect is not None:
        assert way.suspect.change == f"bridge fdb del {mac} dev p2 master"


ITSELF = "10.1.0.9"  # a container that asks its own published address
MASKED = nft_rules.Row("ip", "nat", "post", 3, (("masq",),))
GIVEN = nft_rules.Row("ip", "nat", "pre", 2, (("immediate", 1, "0a010009"), ("nat", 1, 1)))
HAIRPIN, MASQUERADE = "bridge link set dev p1 hairpin on", f"-s {ITSELF} -d {ITSELF} -j MASQUERADE"


@pytest.mark.parametrize("arrives", ["p1", "b0"])
@pytest.mark.parametrize(("hairpin", "masked", "seen", "told"), [
    (False, False, True, (HAIRPIN, MASQUERADE)), (False, True, True, (HAIRPIN,)),
    (True, False, True, (MASQUERADE,)), (True, True, True, ()), (False, True, False, ()),
])  # fmt: skip
def test_a_container_that_asks_its_own_published_address(
    arrives: str, hairpin: bool, masked: bool, seen: bool, told: tuple[str, ...]
) -> None:
    """The bridge has the frame translated already where the port is known."""
    mac = "02:00:00:00:00:09"
    ports = [link("b0", 3, kind="bridge"), port("p1", 10, master="b0", hairpin=hairpin)]
    tables = frame(
        links=[*(one for one in SOUND["links"] if one.interface != "b0"), *ports],
        fdb=[Entry("p1", mac, "", 0, "b0", "learned")],
        neighbour_states=[neighbour_states.Row("b0", ITSELF, 4, "reachable", mac)],
        nft_hooks=[nft_hooks.Row("ip", "nat", "pre", "prerouting", -100, "nat", drops=False),
                   nft_hooks.Row("ip", "nat", "post", "postrouting", 100, "nat", drops=False)],
        nft_rules=[GIVEN, *([MASKED] if masked else [])],
        sysctls=[sysctls.Row("net.bridge.bridge-nf-call-iptables", str(int(seen)))],
        interface_sysctls=[switches("all", 1), switches("a0", 1), switches("b0", 1)],
    )  # fmt: skip
    bridged = arrives == "p1"
    if bridged and not seen:
        return
    way = went(ITSELF if bridged else NEAR, tables, origin=ITSELF, arrives=arrives, port=80)
    found = way.decider
    if not told:
        assert found is None or "its own destination" not in found.saw
        return
    assert found is not None
    assert f"{ITSELF} is its own destination" in found.saw
    assert ("(hairpin off)" in found.saw) is (HAIRPIN in told)
    assert [one in found.change for one in (HAIRPIN, MASQUERADE)] == [
        one in told for one in (HAIRPIN, MASQUERADE)
    ]
