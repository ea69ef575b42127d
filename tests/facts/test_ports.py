"""A service that cannot bind its port: who holds it, for all starts of the service together."""

from types import SimpleNamespace
from typing import Any

import pytest
from flow_tables import socket

from nettop.collect import failed_calls, socket_owners, sysctls
from nettop.collect.time_wait import RANGE, RESERVED
from nettop.facts.kinds.call import build
from nettop.facts.used_ports import holder
from nettop.frame.rates import Entry, Frame

OWN = socket(1, local_port=8080, remote="10.0.0.9", remote_port=443, inode=5)
DOOR = socket(1, local="0.0.0.0", local_port=8080, remote_port=0, state="listen", inode=5)


def calls(*sockets: Any, starts: int = 4) -> list[Any]:
    rows = [failed_calls.Row("bind", "EADDRINUSE", 70 + one, "here", "0.0.0.0", "8080", "apid", 1)
            for one in range(starts)]  # fmt: skip
    tables = {"failed_calls": rows, "sockets_tcp": sockets,
              "socket_owners": [socket_owners.Row(5, 9, "metricsd")]}  # fmt: skip
    frame = Frame(0.0, 0.0, {name: tuple(map(Entry, some)) for name, some in tables.items()})
    facts: Any = SimpleNamespace(host=SimpleNamespace(tcp_active=0.0, tcp_passive=0.0))
    return list(build(frame, facts))


@pytest.mark.parametrize(("row", "saw", "change"), [
    (OWN, "metricsd[9] holds port 8080 with its connection to 10.0.0.9:443",
     "net.ipv4.ip_local_reserved_ports=8080"),
    (DOOR, "metricsd[9] has bound 0.0.0.0:8080", "End metricsd[9]"),
])  # fmt: skip
def test_who_holds_the_port_of_a_service_is_named(row: Any, saw: str, change: str) -> None:
    (found,) = calls(row)
    assert (found.id, found.who, found.events) == ("apid/bind/EADDRINUSE", "apid", 4)
    assert saw in found.means
    assert change in found.advice


@pytest.mark.parametrize(("ports", "protocol", "saw", "change"), [
    ("1024 60999", "tcp", "holds port 8080 with its connection to 10.0.0.9:443",
     f"`ss -K sport = :8080; sysctl -w {RESERVED}=7000-7999,8080` frees the port"),
    ("32768 60999", "tcp", "holds port 8080 with its connection to 10.0.0.9:443",
     "let a process connect from another port: it binds this one itself"),
    ("32768 60999", "udp", "has port 8080 for 10.0.0.9:443 only",
     "let a process take datagrams of others too, by a socket that is not connected"),
])  # fmt: skip
def test_the_change_is_that_of_who_chose_the_port(
    ports: str, protocol: str, saw: str, change: str
) -> None:
    given = {RANGE: ports, RESERVED: "7000-7999"}
    rows = {f"sockets_{protocol}": [OWN], "sysctls": [sysctls.Row(*one) for one in given.items()]}
    frame = Frame(0.0, 0.0, {name: tuple(map(Entry, some)) for name, some in rows.items()})
    found = holder(frame, protocol, 8080)
    assert found is not None
    assert found.saw == f"a process {saw}"
    assert found.change.startswith(change)


def test_a_port_that_is_free_again_is_told_in_general() -> None:
    (found,) = calls(socket(1, local_port=8081))
    assert "ss -lntup sport = :8080" in found.advice


def test_two_processes_of_one_name_are_two() -> None:
    assert [one.who for one in calls(starts=2)] == ["apid[70]", "apid[71]"]
