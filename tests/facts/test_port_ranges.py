"""A range of local ports that begins among the ports of services, and who holds such ports."""

from types import SimpleNamespace
from typing import Any

from flow_tables import socket

from nettop.collect import addresses, socket_owners
from nettop.facts.kinds.destination import ranges as build
from nettop.frame.rates import Entry, Frame

RANGE, RESERVED = "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports"
OWN = addresses.Row("eth0", "10.0.0.1", 24, 4, "global")
PAIRS = ((7003, "10.0.0.2", 6443), (7010, "10.0.0.3", 7001), (7001, "10.0.0.4", 7002),
         (7002, "10.0.0.5", 7003), (9000, "198.51.100.9", 9000))  # fmt: skip


def ranges(low: str = "1024 65535", reserved: str = "", *, listens: int = 0) -> Any:
    rows = [socket(at, inode=at, local="10.0.0.1", local_port=port, remote=to, remote_port=there)
            for at, (port, to, there) in enumerate(PAIRS, 1)]  # fmt: skip
    if listens:
        rows.append(socket(9, local="0.0.0.0", local_port=listens, remote_port=0, state="listen"))
    tables: dict[str, list[Any]] = {
        "sockets_tcp": rows, "addresses": [OWN], "socket_owners": [socket_owners.Row(1, 5, "kub")],
    }  # fmt: skip
    facts: Any = SimpleNamespace(sysctls={RANGE: low, RESERVED: reserved})
    return build(Frame(0.0, 0.0, {name: tuple(map(Entry, some)) for name, some in tables.items()}),
                 facts)  # fmt: skip


def test_ports_at_which_neighbours_serve_are_held_by_connections() -> None:
    (one,) = ranges()
    assert (one.id, one.low, one.ports) == ("1024-65535", 1024, (7001, 7002, 7003))
    assert one.held[2] == "kub[5] from port 7003 to 10.0.0.2:6443"


def test_reserved_ports_those_that_are_listened_on_and_the_default_are_sound() -> None:
    assert ranges(reserved="7000-7001,7003")[0].ports == (7002,)
    assert ranges(listens=7003)[0].ports == (7001, 7002)
    assert ranges("32768 60999") == ()
    assert ranges("?") == ()
