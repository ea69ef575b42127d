"""A call that fails follows what refuses it, a drop the cgroup that has no memory for it."""

from typing import Any

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Finding
from nettop.config import rules_folder

CALL = {
    "id": "app[7]/sendto/EPERM", "call": "sendto", "error": "EPERM", "kind": "refused",
    "means": "forbidden", "events": 50, "per_s": 10.0, "to": "192.0.2.1",
}  # fmt: skip
DROP = {
    "id": "NETFILTER_DROP/nft_do_chain", "reason": "NETFILTER_DROP", "kind": "turned away",
    "means": "a rule", "advice": "look", "packets": 50, "per_s": 10.0, "rules": ["ip/out/OUT/2"],
}  # fmt: skip


def found(**table: Any) -> dict[str, Finding]:
    judge = Judge(load([rules_folder()]), muted=(), window=0.0)
    seen = facts(table, "server", 1000.0)
    return {one.rule: one for one in [*judge.judge(seen).findings, *judge.judge(seen).findings]}


def test_a_call_that_fails_follows_the_filter_rule_that_refuses_it() -> None:
    named = found(calls=[{**CALL, "by": ["ip/out/OUT/2"]}], drops=[DROP])
    assert named["calls-fail"].cause == named["packets-turned-away"].id
    assert found(calls=[CALL], drops=[DROP])["calls-fail"].cause == ""


def test_a_datagram_that_comes_back_follows_its_reader() -> None:
    back = {**CALL, "error": "EAGAIN", "kind": "returned", "share": 1.0, "by": ["640"]}
    reader = {"id": "logd[640]", "type": "dgram", "waiting": 8448, "pid": 640}
    program = {"pid": 640, "name": "logd", "state": "sleeps", "does": "sleeps", "cure": "look"}
    named = found(calls=[back], backends=[reader], programs=[program])
    assert named["calls-fail"].cause == named["unix-socket-not-read"].id


@pytest.mark.parametrize(
    ("reason", "whose", "cause"),
    [
        ("PROTO_MEM", "tcp port 443", True), ("TCP_INVALID_SEQUENCE", "tcp port 443", True),
        ("PROTO_MEM", "tcp port 80", False), ("NETFILTER_DROP", "tcp port 443", False),
    ],
)  # fmt: skip
def test_a_cgroup_without_memory_explains_the_segments_that_find_none(
    reason: str, whose: str, *, cause: bool
) -> None:
    group = {"cgroup": "/pod", "refused": 30, "processes": ["app[9]"], "ports": [443]}
    drop = {"id": f"{reason}/f", "reason": reason, "kind": "loss", "whose": whose, "packets": 900,
            "per_s": 180, "rule": "", "ports": [whose]}  # fmt: skip
    named = found(memcgs=[group], drops=[drop])
    expected = "cgroup-refuses-socket-memory@/pod" if cause else ""
    assert named["packets-dropped-by-reason"].cause == expected


def test_a_cgroup_without_room_explains_a_program_that_cannot_start_a_process() -> None:
    server = {"pid": 9, "name": "ftpd", "state": "forks", "held": True, "refused": 12}
    for pids, cause in ((["ftpd[9]"], "cgroup-refuses-processes@/box"), (["web[8]"], "")):
        group = {"cgroup": "/box", "limit": 14, "refused": 12, "processes": pids}
        named = found(
            task_limits=[group], programs=[server], processes=[{"pid": 9, "name": "ftpd"}]
        )
        assert named["program-held"].cause == cause


@pytest.mark.parametrize(("error", "explained"), [("EADDRNOTAVAIL", True), ("ETIMEDOUT", False)])
def test_used_up_ports_explain_the_calls_that_find_none(error: str, *, explained: bool) -> None:
    call = {**CALL, "call": "connect", "error": error, "addresses": ["10.0.0.5"]}
    full = {"id": "10.0.0.5:80", "local": "10.0.0.1", "waiting": 50, "available": 50,
            "reserved": 28182}  # fmt: skip
    named = found(calls=[call], destinations=[full])
    first = named["reserved-ports-leave-few"]
    assert named["calls-fail"].cause == (first.id if explained else "")


SILENT = {
    "id": "desk[9]/connection/GIVEN_UP", "call": "connection", "error": "GIVEN_UP", "kind": "fault",
    "means": "no answer", "events": 50, "per_s": 10.0, "share": 1.0,
    "addresses": ["10.36.0.1"], "peers": ["tcp 10.36.0.1:443", "through tun0"],
}  # fmt: skip
WAITS = {"id": "10.36.0.1:443", "sockets": 9, "retries": 3, "peers": ["tcp 10.36.0.1:443"]}


@pytest.mark.parametrize(("peer", "explained"), [
    ("tcp 10.36.0.1:443", True), ("tcp 10.36.0.1:80", False), ("udp 10.36.0.1:443", False),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["turned away", "loss"])
def test_drops_of_packets_to_the_same_end_explain_what_gets_no_answer(
    kind: str, peer: str, *, explained: bool
) -> None:
    drop = {**DROP, "kind": kind, "rules": [], "peers": [peer]}
    named = found(calls=[SILENT], attempts=[WAITS], drops=[drop])
    known = next(one for rule, one in named.items() if rule.startswith("packets-"))
    for rule in ("calls-fail", "connections-without-an-answer"):
        assert named[rule].cause == (known.id if explained else "")
    assert known.severity == ("critical" if explained else known.severity)
    assert (next(iter(named)) == known.rule) is explained


@pytest.mark.parametrize(("nic", "explained"), [("tun0", True), ("tun1", False)])
def test_a_program_that_reads_its_tunnel_no_more_explains_what_leaves_by_it(
    nic: str, *, explained: bool
) -> None:
    vpn = {"pid": 3, "name": "vpnd", "state": "blocked", "does": "is blocked", "held": True,
           "unread": 900, "nic": nic, "taken": 0.0, "dropped": 0.0}  # fmt: skip
    named = found(calls=[SILENT], programs=[vpn])
    held = named["program-held"]
    assert named["calls-fail"].cause == (held.id if explained else "")


@pytest.mark.parametrize(("port", "explained"), [(443, True), (80, False)])
def test_a_service_of_this_host_that_accepts_nothing_explains_who_gives_up_there(
    port: int, *, explained: bool
) -> None:
    call = {**SILENT, "addresses": ["127.0.0.1"], "peers": ["tcp :443"]}
    door = {"inode": 7, "port": port, "pid": 3, "process": "api", "waiting": 9, "backlog": 8}
    program = {"pid": 3, "name": "api", "state": "stopped", "held": True, "connections": 9,
               "ports": [port]}  # fmt: skip
    for _ in range(2):
        named = found(calls=[call], listeners=[door], programs=[program])
    told = {"connections-not-accepted", "program-held"} & named.keys()
    assert told
    causes = {named[rule].id for rule in told}
    assert (named["calls-fail"].cause in causes) is explained


REFUSED = {
    "id": "pool[7]/connection/ECONNREFUSED", "call": "connection", "error": "ECONNREFUSED",
    "addresses": ["10.0.0.5"], "events": 30, "per_s": 6.0, "share": 0.9,
}  # fmt: skip
RIVAL = {"id": "10.0.0.5@eth0", "address": "10.0.0.5", "hardware": "02:01 02:02"}


@pytest.mark.parametrize(("address", "cause"), [
    ("10.0.0.5", "two-hosts-with-one-address@10.0.0.5@eth0"), ("10.0.0.6", ""),
])  # fmt: skip
def test_an_address_of_two_hosts_explains_what_is_refused_there(address: str, cause: str) -> None:
    call = {**REFUSED, "addresses": ["10.0.0.9", address]}
    named = found(calls=[call], rivals=[RIVAL])
    assert named["calls-fail"].cause == cause
    assert (next(iter(named)) == "two-hosts-with-one-address") is bool(cause)
