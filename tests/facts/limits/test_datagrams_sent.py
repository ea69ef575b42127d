"""A UDP socket that sends: which one it is, and what limits its program."""

from dataclasses import replace
from typing import Any

import pytest
from asleep import asleep
from flow_tables import HOST, Tables
from limit_frames import limits

from nettop.collect import snmp, socket_owners, sockets_udp, threads
from nettop.facts.limits import Limit, Reading, words
from nettop.facts.limits.interfaces import Interfaces

SLEEPS = {"call": "clock_nanosleep", "kind": "timer"}
SENDS = {"call": "sendto", "kind": "output", "object": "socket:[101]"}
READS = {"call": "recvfrom", "kind": "input", "object": "socket:[102]"}
POLLS = {"call": "epoll_wait", "kind": "events"}
RUNS = {"state": "R", "call": ""}
FILE = {"call": "read", "kind": "input", "object": "/data/film", "state": "D", "filesystem": "ext4"}
NAMES = {7: "caster", 8: "taker", 9: "other"}


def socket(inode: int, remote_port: int, **more: Any) -> sockets_udp.Row:
    remote = "10.0.0.2" if remote_port else "0.0.0.0"
    plain = {"ipv6": False, "send_q": 0, "recv_q": 0, "uid": 0, "drops": 0}
    return sockets_udp.Row(inode, "10.0.0.1", inode, remote, remote_port, **{**plain, **more})


def sent(
    *programs: tuple[float, dict[str, Any]], sockets: dict[int, Any] | None = None,
    out: float = 4000.0, received: float = 0.0,
) -> list[Limit]:  # fmt: skip
    """The limits of sockets; program 7, 8 … ran so much and waits so, and has socket 101, 102 …"""
    udp = sockets or {}

    def at(s: float) -> Tables:
        numbered = [*enumerate(programs, 7)]
        figures = {"Udp.OutDatagrams": int(out * s), "Udp.InDatagrams": int(received * s)}
        return {
            **HOST, "snmp": [snmp.row(figures)], "sockets_tcp": [],
            "sockets_udp": [udp.get(pid, socket(pid + 94, 5004)) for pid, _ in numbered],
            "socket_owners": [socket_owners.Row(pid + 94, pid, NAMES[pid]) for pid, _ in numbered],
            "threads": [threads.Row(pid, pid, 5, NAMES[pid], "S", ran * s, 0.0, 0, runs=int(9 * s))
                        for pid, (ran, _) in numbered],
            "waits": [asleep(**{"pid": pid, "tid": pid, "started": 5, "name": NAMES[pid],
                                   "state": "S", **wait}) for pid, (_, wait) in numbered],
        }  # fmt: skip

    return [one for one in limits(at) if one.over == "socket"]


@pytest.mark.parametrize(("ran", "wait", "stage", "why"), [
    (0.05, SLEEPS, "timer", "caster[7] sleeps 95% of the time by itself (clock_nanosleep)"),
    (0.95, RUNS, "thread", "ran 95% of the time"),
    (0.05, FILE, "disk-read", "caster[7] waits 95% of the time in read() of /data/film (ext4)"),
    (0.1, SENDS, "sndbuf", "waits 90% of the time for room in the send buffer of its socket"),
    (0.1, {**SLEEPS, "state": "T"}, "stopped", "caster[7] is stopped by a signal 90%"),
    (0.3, POLLS, "application", "this host sends 4,000 datagrams/s, and of the programs with UDP"),
])  # fmt: skip
def test_what_limits_a_program_that_sends_datagrams(
    ran: float, wait: dict[str, Any], stage: str, why: str
) -> None:
    (found,) = sent((ran, wait))
    assert (found.target, found.direction) == ("10.0.0.1:101>10.0.0.2:5004", "tx")
    assert (found.stage.stage, found.rate, found.stage.capacity) == (stage, None, None)
    assert why in found.stage.because
    assert words.line(found).startswith("caster sends datagrams, limited by")
    assert words.busiest([found]) is found


def test_a_host_that_sends_few_datagrams_has_no_sender() -> None:
    assert sent((0.05, SLEEPS), out=40.0) == []


def test_the_program_that_sends_is_the_one_that_runs_and_does_not_read() -> None:
    def names(*programs: tuple[float, dict[str, Any]], **more: Any) -> list[str | None]:
        return [one.process for one in sent(*programs, **more)]

    assert names((0.05, SLEEPS), (0.2, READS)) == ["caster"]
    assert names((0.05, SLEEPS), (0.04, SLEEPS)) == [], "either may send"
    assert names((0.05, SLEEPS), (0.005, SLEEPS)) == ["caster"]
    assert names((0.0, SLEEPS)) == [], "it does not run"
    assert names((0.05, {"call": None})) == [], "its calls may not be read: it may take datagrams"
    assert names((0.05, POLLS), received=3000.0) == [], "it answers"
    assert names((0.05, SLEEPS), received=3000.0) == ["caster"]
    unread = {8: socket(102, 0, recv_q=900)}
    assert names((0.05, SLEEPS), (0.9, RUNS), sockets=unread) == ["caster"]
    asks = {7: socket(101, 53)}
    assert names((0.05, SLEEPS), sockets=asks) == [], "it asks a name server"


def test_what_is_seen_to_send_comes_before_what_runs() -> None:
    full = {8: socket(102, 0, send_q=90_000)}
    (found,) = sent((0.2, SLEEPS), (0.01, SLEEPS), sockets=full)
    assert (found.process, found.target) == ("taker", "10.0.0.1:102")
    both = [one.process for one in sent((0.2, SENDS), (0.01, SLEEPS), sockets=full)]
    assert both == ["caster", "taker"]


def test_an_interface_without_tcp_is_limited_as_the_socket_that_sends_through_it() -> None:
    (socket,) = sent((0.05, SLEEPS))
    way = Limit("nic", "eth0", "tx", 1e6, stage=Reading("unknown", "there"), nic="eth0")
    (found,) = Interfaces().build([way], [socket])
    assert (found.stage.stage, found.flow, found.process) == ("timer", socket.target, "caster")
    (other,) = Interfaces().build([replace(way, direction="rx")], [replace(socket, nic=None)])
    assert other.flow is None
