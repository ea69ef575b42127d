"""What a pod sends is limited by a queue or policer of the host: by its veth end, ifb or uplink."""

from collections.abc import Mapping
from typing import Any

from flow_tables import HOST, Tables, link
from folded import folded
from pod_tables import counted, limit_of_pod, pod

from nettop.collect import addresses, qdiscs, routes
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

MOVES = 130_000_000  # bytes/s: the 1 Gb/s of the pod with its headers
ROUTED = [routes.Row("10.0.0.0/24", "up0", 0, 254)]
LOST = {"total_retrans": 500, "bytes_acked": 125_000_000}
Links = Mapping[str, Mapping[str, Any]]
END: Links = {"veth9": {"kind": "veth", "link_netns": 0}}


def seen(
    links: Links, sent: Mapping[str, int], queue: Mapping[str, Any], *,
    routed: list[routes.Row] | None = None, entered: int = MOVES,
    rates: Mapping[str, float] | None = None, gauges: Mapping[str, Any] | None = None,
) -> Limit:  # fmt: skip
    """The limit of a pod that sends 1 Gb/s by veth9; `sent`: bytes a second of other interfaces."""

    def at(second: float) -> Tables:
        every = {**END, **links}
        plain = {"parent": "root", "handle": "1:", "kind": "tbf", "root": True, "backlog": 90_000,
                 "qlen": 9, "bytes": MOVES, "rate": 8.0 * MOVES, **queue}  # fmt: skip
        for name in ("bytes", "drops"):
            plain[name] = int((plain.get(name) or 0) * second)
        more: dict[str, Any] = {
            "links": [HOST["links"][0], *(
                link(name, 9 + place, **words) for place, (name, words) in enumerate(every.items())
            )],
            "netclass": [],
            "link_stats": [counted("veth9", second, rx=entered, tx=sent.get("veth9", 0)),
                           *(counted(name, second, tx=rate) for name, rate in sent.items()
                             if name != "veth9")],
            "qdiscs": [qdiscs.Row(**plain)],
            "addresses": [addresses.Row("lo", "127.0.0.1", 8, 4, "host")],
            "routes": routed or [],
        }  # fmt: skip
        return pod(second, more, rates=rates, gauges=gauges, moved={"tx_bytes": MOVES})

    return limit_of_pod(at)


BRIDGE: Links = {"br0": {"kind": "bridge"}, "veth9": {**END["veth9"], "master": "br0"},
                 "eth1": {"master": "br0"}}  # fmt: skip
WAYS: dict[str, tuple[Links, dict[str, int], str, list[routes.Row]]] = {
    "by route": ({"up0": {}}, {"up0": MOVES}, "up0", ROUTED),
    "by route below a bond": (
        {"up0": {"kind": "bond"}, "eth1": {"master": "up0"}},
        {"up0": MOVES, "eth1": MOVES}, "eth1", ROUTED,
    ),
    "by bridge": (BRIDGE, {"eth1": MOVES}, "eth1", []),
    "by bridge that has the route": (
        BRIDGE, {"br0": MOVES, "eth1": MOVES}, "eth1", [routes.Row("10.0.0.0/24", "br0", 0, 254)],
    ),
    "by bridge, in both directions": (BRIDGE, {"eth1": MOVES, "veth9": MOVES}, "eth1", []),
    "by bridge that has the route, in both directions": (
        BRIDGE, {"br0": MOVES, "eth1": MOVES, "veth9": MOVES}, "eth1",
        [routes.Row("10.0.0.0/24", "br0", 0, 254)],
    ),
    "by bridge, then by route": ({**BRIDGE, "up0": {}}, {"eth1": MOVES, "up0": MOVES}, "up0",
                                 ROUTED),
    "redirected to an ifb": ({"ifb0": {"kind": "ifb"}}, {"ifb0": MOVES}, "ifb0", []),
}  # fmt: skip


@folded(("links", "sent", "full", "routed"), WAYS.values(), ids=WAYS)
def test_a_shaper_of_the_host_limits_what_the_pod_sends(
    links: Links, sent: dict[str, int], full: str, routed: list[routes.Row]
) -> None:
    found = seen(links, sent, {"interface": full}, routed=routed)
    assert (found.direction, found.stage.stage, found.stage.end) == ("tx", "qdisc", "here")
    assert found.stage.name == f"tbf 1: of {full}", line(found)


OTHERS: dict[str, tuple[Links, dict[str, int], dict[str, Any]]] = {
    "the uplink sends less": ({"up0": {}}, {"up0": MOVES // 2}, {"routed": ROUTED}),
    "another interface": ({"up0": {}}, {"up0": MOVES}, {}),
    "two other ports that send as much": (
        {**BRIDGE, "up0": {"master": "br0"}}, {"up0": MOVES, "eth1": MOVES}, {}),
    "a bridge of others": (
        {"br0": {"kind": "bridge"}, "up0": {"master": "br0"}}, {"up0": MOVES}, {}),
    "two ifbs": ({"up0": {"kind": "ifb"}, "ifb1": {"kind": "ifb"}},
                 {"up0": MOVES, "ifb1": MOVES}, {}),
    "the end receives less": ({"up0": {}}, {"up0": MOVES},
                              {"routed": ROUTED, "entered": MOVES // 2}),
}  # fmt: skip


@folded(("links", "sent", "more"), OTHERS.values(), ids=OTHERS)
def test_a_shaper_that_the_pod_may_not_pass_does_not_limit(
    links: Links, sent: dict[str, int], more: dict[str, Any]
) -> None:
    found = seen(links, sent, {"interface": "up0"}, **more)
    assert all(one.stage != "qdisc" for one in found.ladder), line(found)


def test_a_full_class_that_passes_less_than_the_pod_sends_is_of_others() -> None:
    slow = {"interface": "up0", "bytes": MOVES // 4, "rate": 2.0 * MOVES}
    found = seen({"up0": {}}, {"up0": MOVES}, slow, routed=ROUTED)
    assert all(one.stage != "qdisc" for one in found.ladder), line(found)


POLICED = {"interface": "veth9", "parent": "ingress", "handle": "ffff:", "kind": "ingress",
           "root": False, "backlog": 0, "rate": None}  # fmt: skip


@folded(
    ("queue", "stage"),
    [
        ({**POLICED, "drops": 500}, "qdisc"),
        ({**POLICED, "drops": 200}, "path"),
        ({**POLICED, "drops": 500, "interface": "up0"}, "path"),
        ({**POLICED, "drops": 500, "parent": "root", "backlog": 0}, "path"),
        ({**POLICED, "drops": 500, "parent": "root", "interface": "up0"}, "qdisc"),
    ],
    ids=["policer", "drops less", "of what arrives at the uplink", "of what the pod receives",
         "queue of the uplink"],
)  # fmt: skip
def test_where_the_host_drops_what_the_pod_sends(queue: dict[str, Any], stage: str) -> None:
    found = seen({"up0": {}}, {"up0": MOVES}, queue, routed=ROUTED, rates=LOST,
                 gauges={"unacked": 380, "rtt": 5000, "min_rtt": 4000})  # fmt: skip
    assert found.stage.stage == stage, line(found)
    if stage == "qdisc":
        assert f"of {queue['interface']}" in found.stage.name
