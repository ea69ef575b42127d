"""The flows that lose segments in a tunnel, also where a routing rule or a namespace hides it."""

from dataclasses import replace
from typing import Any

from flow_tables import link, socket

from nettop.advice.judge.inline_facts import facts
from nettop.collect import routes, translated
from nettop.facts.kinds import attempt, tunnel
from nettop.frame.rates import Entry, Frame

FLOW = {
    "id": "tcp 10.8.0.2:1-192.0.2.9:2", "protocol": "tcp", "nic": "eth0", "remote": "192.0.2.9",
    "wants": True, "tx_per_s": 40e3, "loss_ratio": 0.3, "min_rtt": 0.02, "backoff": 3,
    "mss": 1368, "pmtu": 1420, "process": "app",
}  # fmt: skip
ETH = {"name": "eth0", "mtu": 1500, "per_s": {"tx_bytes": 90e3}}


def tun(name: str = "wg0", mtu: int = 1420, sent: float = 80e3) -> dict[str, Any]:
    return {"name": name, "kind": "tunnel", "mtu": mtu, "per_s": {"tx_bytes": sent},
            "features": {"tx-checksum-ip-generic": True}}  # fmt: skip


def seen(*nics: dict[str, Any], elsewhere: bool = False, **more: Any) -> tunnel.Tunnel:
    whole = facts({"nics": [ETH, *nics], "flows": [{**FLOW, **more}]}, "server", 1.0)
    if elsewhere:
        pod = tuple(replace(one, namespace="pod", nic=None) for one in whole.flows)
        whole = replace(whole, flows=(), elsewhere=pod)
    kinds = {"wg0": "wireguard", "vx0": "vxlan"}
    rows = [link(one["name"], 7, kind=kinds[one["name"]]) for one in nics]
    frame = Frame(1.0, 1.0, {"links": [Entry(row) for row in rows]})
    return tunnel.build(frame, whole)[0]


def test_a_flow_that_is_routed_into_the_tunnel_is_told_with_its_loss() -> None:
    one = seen(tun(), nic="wg0")
    assert (one.loss, one.trip, one.remote, one.process) == (0.3, 0.02, "192.0.2.9", "app")
    assert (one.stuck, one.checksums) == (1, True)


def test_the_path_mtu_tells_the_tunnel_where_a_routing_rule_chose_it() -> None:
    assert seen(tun()).stuck == 1
    assert seen(tun(), pmtu=1500).loss is None, "the path MTU of the interface itself"
    assert seen(tun(), tun("vx0")).loss is None, "two tunnels have this MTU"
    assert seen(tun(sent=9e3)).loss is None, "the tunnel moves less than the flow"
    assert seen(tun(), wants=False).loss is None
    assert seen(tun(mtu=1500), pmtu=1500).loss is None, "the interface has this MTU too"


def test_a_pod_is_in_the_tunnel_of_its_host_unless_it_speaks_to_the_internet() -> None:
    vx0 = tun("vx0", 1450)
    assert seen(vx0, elsewhere=True, pmtu=1450, remote="10.42.7.9").loss == 0.3
    assert seen(vx0, elsewhere=True, pmtu=1450, remote="9.9.9.9").loss is None


def test_full_segments_are_stuck_after_two_losses_in_turn() -> None:
    assert seen(tun(), backoff=1).stuck == 0
    assert seen(tun(), mss=1200).stuck == 0


def tracked(*rows: tuple[str, bool]) -> Frame:
    """A host that sends to pods behind vx0, and translates connections to these."""
    entries = [translated.Row("tcp", "10.0.0.1", 41000 + at, "10.233.0.1", 443, to, 8443,
                              "10.42.0.0", answered)
               for at, (to, answered) in enumerate(rows)]  # fmt: skip
    ways = [routes.Row("10.42.7.0/24", "vx0", 0, 254, gateway="10.42.7.0"),
            routes.Row("0.0.0.0/0", "eth0", 0, 254, gateway="10.0.0.254")]  # fmt: skip
    waits = socket(1, state="syn-sent", remote="10.233.0.1", remote_port=443, total_retrans=3)
    tables: dict[str, list[Any]] = {
              "links": [link("vx0", 7, kind="vxlan")], "translated": entries, "routes": ways,
              "sockets_tcp": [waits]}  # fmt: skip
    return Frame(1.0, 1.0, {name: tuple(map(Entry, some)) for name, some in tables.items()})


def test_translated_connections_are_followed_into_the_tunnel() -> None:
    whole = facts({"nics": [ETH, tun("vx0", 1450)]}, "server", 1.0)
    dead = ("10.42.7.9", False), ("10.42.7.9", False), ("10.42.7.8", False), ("9.9.9.9", False)
    (one,) = tunnel.build(tracked(*dead), whole)
    assert (one.silent, one.replied) == (2, 0)
    (one,) = tunnel.build(tracked(*dead, ("10.42.7.8", True)), whole)
    assert (one.silent, one.replied) == (1, 1)
    frame = tracked(*dead)
    (wait,) = attempt.build(frame, whole)
    assert wait.leaves == "eth0", "the entry that is read last"
    (wait,) = attempt.build(tracked(*dead[:3]), whole)
    assert (wait.id, wait.leaves) == ("10.233.0.1:443", "vx0")
    bare = replace(frame, tables={"links": frame.tables["links"]})
    assert tunnel.build(bare, whole)[0].silent is None
