"""One connection of many that rest begins to move data: when it is seen, in counts.

The clock and the CPU time of readings are those of the test.
"""

import struct

import pytest
from tcp_bytes import socket, tcp_info

from nettop.host.netlink.codec import Request
from nettop.host.source import Live
from nettop.panes import flows
from nettop.sampling.refresh import SOCKETS_REST, RefreshPolicy
from nettop.terms.text import text_of
from nettop.views.build import Plans, scene_of
from nettop.views.observer import Observation, Observer
from nettop.views.past import History
from nettop.views.view import View

CONNECTIONS = 1001  # so many that only those that move are followed
COST = 0.5  # CPU seconds of one reading of the sockets
MARK = 0x123456789ABC
SNMP = "Tcp: InSegs OutSegs\nTcp: {} {}\n"


class Host(Live):
    """A host with connections of which one may move 100 kB/s; a moved clock."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__("/nowhere", host="large")
        self.live = True
        self.clock = clock
        self.at, self.began, self.dumps = 100.0, float("inf"), 0
        whole = b"".join(socket(n, info=tcp_info(notsent=0)) for n in range(CONNECTIONS))
        self.sockets = bytearray(whole)
        one = len(self.sockets) // CONNECTIONS
        self.acked = one * 7 + socket(7, info=tcp_info(acked=MARK)).index(struct.pack("=Q", MARK))

    def now(self) -> float:
        return self.at

    def seconds(self) -> float:
        """How long the one has moved."""
        return max(0.0, self.at - self.began)

    def data(self, path: str) -> bytes:
        if path != "/proc/net/snmp":
            raise FileNotFoundError(2, "no such file", path)
        sent = 70 * self.seconds() + self.at  # 1 segment/s of all the others
        return SNMP.format(int(sent / 2), int(sent)).encode()

    def listing(self, path: str) -> list[str]:
        raise FileNotFoundError(2, "no such directory", path)

    def netlink(self, request: Request) -> bytes:
        if request.name != "sock_diag/tcp":
            raise OSError(1, "not permitted")
        self.dumps += 1
        self.clock[0] += COST
        moved = 1000 + 100_000 * self.seconds()
        struct.pack_into("=Q", self.sockets, self.acked, int(moved))
        return bytes(self.sockets)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    clock = [0.0]
    monkeypatch.setattr("nettop.sampling.sampler.time.thread_time", lambda: clock[0])
    monkeypatch.setattr(RefreshPolicy, "_quiet", lambda *_: False)  # no interface is read here
    return Host(clock)


def test_a_new_mover_is_seen_within_twenty_seconds_and_the_age_is_shown(host: Host) -> None:
    observer = Observer(host)

    def look(seconds: int, each: int = 1) -> Observation:
        for _ in range(0, seconds, each):
            seen = observer.glance(flows.NEEDS)
            host.at += each
        return seen

    def moves(seen: Observation) -> bool:
        return bool(seen.facts.flows[0].tx_per_s)

    seen = look(120, each=5)
    before = host.dumps
    seen = look(180, each=5)
    assert host.dumps - before == 180 / SOCKETS_REST
    assert seen.stretched["sockets_tcp"] == SOCKETS_REST
    assert not moves(seen)
    assert seen.facts.host.tcp_flows == CONNECTIONS
    while observer.sampler.taken["sockets_tcp"][0] < host.at - 2.0:
        look(1)
    host.began = host.at  # just after they were read: the worst moment
    for _ in range(20):
        seen = look(1)
        if moves(seen):
            break
    assert moves(seen)
    assert seen.facts.flows[0].local_port
    ages = [look(1).ages["sockets_tcp"] for _ in range(15)]
    assert ages == [float(n) for n in range(1, 16)]
    lines = flows.lines(scene_of(seen, History(), Plans(host)), View(pane="flows"), 120, 30)
    assert "the busiest 65 of 1,001" in text_of(lines[0])
    assert ", read 0 s ago" in text_of(lines[0])
    for _ in range(20):
        seen = look(1)
    assert seen.facts.flows[0].tx_per_s == 100_000.0  # over the twenty seconds since


def test_where_much_moves_sockets_are_read_every_twenty_seconds(host: Host) -> None:
    observer = Observer(host)
    host.began = host.at
    for _ in range(45):
        seen = observer.glance(())
        host.at += 2.0
    assert seen.stretched["sockets_tcp"] == 20.0
    assert host.dumps <= 8
