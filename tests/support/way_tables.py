"""Tables of a host with `a0` (10.0.0.1/24) and `b0` (10.1.0.1/24), for walks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nettop.collect import (
    addresses,
    fib,
    interface_sysctls,
    links,
    neighbour_states,
    processes,
    qdiscs,
    routing_rules,
    socket_owners,
    sockets_tcp,
    ways,
)
from nettop.facts.way import Flow, Way, walk
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

Tables = Mapping[str, Sequence[Any]]
NEAR, FAR, GATEWAY = "10.0.0.1", "10.0.0.2", "10.0.0.254"


def link(name: str, index: int, **more: Any) -> links.Row:
    usual = {"type": 1, "kind": "veth", "loopback": name == "lo", "up": True, "running": True,
             "promisc": False, "carrier": True, "mtu": 1500}  # fmt: skip
    return links.Row(name, index, **{**usual, **more})


def route(to: str, interface: str | None, gateway: str | None = None, **more: Any) -> fib.Row:
    named = {"table": 254, "metric": 0, "hop": 0, "kind": "unicast", **more}
    family = 6 if ":" in to else 4
    return fib.Row(family=family, to=to, interface=interface, gateway=gateway, **named)


def rule(priority: int, table: int, **more: Any) -> routing_rules.Row:
    return routing_rules.Row(4, priority, 0, **{"action": "lookup", "table": table, **more})


def switches(
    name: str, forwarding: int = 0, rp_filter: int = 0, **more: int
) -> interface_sysctls.Row:
    return interface_sysctls.Row(name, forwarding, rp_filter, forwarding, **more)


def listener(local: str, port: int, **more: Any) -> sockets_tcp.Row:
    """A listening socket of process app[7]."""
    none = dict.fromkeys(sockets_tcp.Row.__dataclass_fields__)
    known = {"cookie": 1, "namespace": 0, "family": 4, "local": local, "local_port": port,
             "remote": "0.0.0.0", "remote_port": 0, "state": "listen", "recv_q": 0, "send_q": 128,
             "uid": 0, "inode": 70}  # fmt: skip
    return sockets_tcp.Row(**{**none, **known, **more})


def process(state: str = "S") -> processes.Row:
    return processes.Row(7, 7, 1, "app", thread=False, state=state, user=0.0, system=0.0)


def qdisc(interface: str, kind: str, *, root: bool = True, **more: Any) -> qdiscs.Row:
    return qdiscs.Row(interface, "root" if root else "ingress", "1:", kind, root, **more)


SOUND: Final[Tables] = {
    "links": [link("lo", 1, type=772, kind="", mtu=65536), link("a0", 2), link("b0", 3)],
    "addresses": [
        addresses.Row("lo", "127.0.0.1", 8, 4, "host"), addresses.Row("a0", NEAR, 24, 4, "global"),
        addresses.Row("b0", "10.1.0.1", 24, 4, "global"),
    ],
    "fib": [
        route("127.0.0.0/8", "lo", table=255, kind="local"),
        route("10.0.0.1/32", "a0", table=255, kind="local"),
        route("10.0.0.0/24", "a0", source=NEAR), route("10.1.0.0/24", "b0", source="10.1.0.1"),
        route("0.0.0.0/0", "a0", GATEWAY),
    ],
    "routing_rules": [rule(0, 255), rule(32766, 254), rule(32767, 253)],
    "neighbour_states": [
        neighbour_states.Row("a0", FAR, 4, "reachable", "02:00:00:00:00:02"),
        neighbour_states.Row("a0", GATEWAY, 4, "stale", "02:00:00:00:00:fe"),
    ],
    "interface_sysctls": [switches("all"), switches("a0"), switches("b0")],
    "qdiscs": [],
    "sockets_tcp": [listener("0.0.0.0", 80)],
    "socket_owners": [socket_owners.Row(70, 7, "app")],
    "processes": [process()],
    "ways": [],
    "nft_hooks": [],
    "nft_rules": [],
    "xfrm_policies": [],
}  # fmt: skip


def frame(*without: str, **changed: Sequence[Any]) -> Frame:
    """The sound host with some tables in other words; those in `without` were not read."""
    tables = {name: rows for name, rows in {**SOUND, **changed}.items() if name not in without}
    missing = dict.fromkeys(without, "not permitted")
    return Frame(0.0, 0.0, {n: entries(rows, (), 1.0) for n, rows in tables.items()}, missing)


def answer(to: str, error: str = "", **more: Any) -> ways.Row:
    """What the kernel says of packets that this host sends to `to`."""
    asked = {"source": "", "arrives": "", "leaves": "", "mark": 0, "protocol": "tcp", "port": 0}
    return ways.Row(**{"to": to, **asked, "error": error, **more})


def went(to: str, seen: Frame, **more: Any) -> Way:
    return walk(Flow(to, **more), seen)
