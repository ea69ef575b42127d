"""Of a counter and of the packets that raise it, the finding that knows more is the cause."""

from collections.abc import Mapping
from typing import Any

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Finding
from nettop.config import rules_folder

RULES = load([rules_folder()])


def findings(**table: Any) -> list[Finding]:
    return list(Judge(RULES, window=0.0).judge(facts(table, "server", 1000.0)).findings)


KNOWN: Mapping[str, Any] = {
    "id": "NO_SOCKET/f", "kind": "turned away", "means": "its socket is for others", "advice": "x",
    "packets": 900, "per_s": 50.0, "raises": ("udp_no_ports",),
}  # fmt: skip
CLOSED: Mapping[str, Any] = {"udp_no_ports": 60.0, "udp_in": 20}


@pytest.mark.parametrize(("drop", "first", "second"), [
    ({"exact": True}, "packets-turned-away", "datagrams-to-closed-ports"),
    ({}, "datagrams-to-closed-ports", "packets-turned-away"),
])  # fmt: skip
def test_of_a_counter_and_the_packets_that_raise_it_the_exact_one_is_the_cause(
    drop: Mapping[str, Any], first: str, second: str
) -> None:
    one, other = findings(host=CLOSED, drops=[{**KNOWN, **drop}])[:2]
    assert (one.rule, other.rule, other.cause) == (first, second, one.id)


@pytest.mark.parametrize("drop", [
    {"per_s": 20.0},  # fewer than half of what is counted
    {"raises": ("tcp_resets",)},
])  # fmt: skip
def test_packets_that_did_not_raise_the_counter_do_not_explain_it(drop: Mapping[str, Any]) -> None:
    found = findings(host=CLOSED, drops=[{**KNOWN, "exact": True, **drop}])
    causes = {one.rule: one.cause for one in found}
    assert causes["datagrams-to-closed-ports"] == causes["packets-turned-away"] == ""


def test_segments_that_a_program_rejects_explain_the_syns_that_come_again() -> None:
    drop = {**KNOWN, "exact": True, "per_s": 6.0, "raises": ("syn_retrans",)}
    found = findings(host={"syn_retrans": 4.0, "tcp_active": 20.0}, drops=[drop])
    causes = {one.rule: one.cause for one in found}
    assert causes["connections-open-at-the-second-try"] == "packets-turned-away@NO_SOCKET/f"


def test_the_policy_that_packets_meet_explains_the_counter_of_ipsec() -> None:
    drop = {**KNOWN, "kind": "refused", "exact": True, "raises": ("XfrmOutNoStates",)}
    xfrm = {"reason": "XfrmOutNoStates", "drops": 60.0}
    found = {one.rule: one for one in findings(host={"ip_in": 90}, drops=[drop], xfrms=[xfrm])}
    assert found["ipsec-drops-packets"].cause == "packets-dropped-by-reason@NO_SOCKET/f"


def test_a_name_server_follows_what_drops_the_questions() -> None:
    drop = {**KNOWN, "kind": "loss", "peers": ("udp :53",), "raises": ()}
    asked = {"id": "127.0.0.53:53", "waiting": 9, "late": 4, "peers": ("udp :53",)}
    found = {one.rule: one for one in findings(host={"udp_in": 0}, drops=[drop], resolvers=[asked])}
    assert found["name-server-does-not-answer"].cause == "packets-dropped-by-reason@NO_SOCKET/f"


def test_answers_that_come_from_elsewhere_explain_a_name_server_without_an_answer() -> None:
    peers = ("udp 10.0.0.53:53",)
    asked = {"id": "10.0.0.53:53", "waiting": 9, "late": 4, "peers": peers}
    astray = {"id": "10.0.0.53:53", "asked": 9, "missed": 9, "how": "they come from 10.0.0.2:53"}
    told = findings(host={"udp_in": 0}, resolvers=[asked], astrays=[{**astray, "peers": peers}])
    first, second = told
    assert first.title == "Answers of 10.0.0.53:53 find no socket: they come from 10.0.0.2:53"
    assert (first.severity, second.cause) == ("critical", first.id)
    other = [{**astray, "peers": ("udp 10.0.0.54:53",)}]
    causes = {one.cause for one in findings(host={"udp_in": 0}, resolvers=[asked], astrays=other)}
    assert causes == {""}


def test_what_a_queue_drops_is_explained_by_the_packets_at_the_same_interface() -> None:
    nic = {"name": "eth0", "per_s": {"qdisc_drops": 50, "tx_packets": 50}}
    drop = {**KNOWN, "kind": "loss", "exact": True, "raises": ("qdisc_drops",)}
    for name, cause in (("eth0", "packets-dropped-by-reason@NO_SOCKET/f"), ("eth1", "")):
        found = findings(nics=[nic], drops=[{**drop, "nic": name}])
        causes = {one.rule: one.cause for one in found}
        assert causes["queue-drops-before-sending"] == cause


def test_a_queue_that_is_known_to_be_short_comes_before_the_shaper_above_it() -> None:
    nic = {"name": "eth0", "per_s": {"qdisc_drops": 50, "tx_packets": 50}}
    shaper = {"id": "eth0/htb", "nic": "eth0", "rate": 1e8, "load": 0.98, "queued": 60}
    drop = {**KNOWN, "kind": "loss", "exact": True, "raises": ("qdisc_drops",), "nic": "eth0"}
    found = findings(nics=[nic], drops=[drop], qdiscs=[shaper])
    causes = {one.rule: one.cause for one in found}
    assert causes["queue-drops-before-sending"] == found[0].id
    assert found[0].rule == "packets-dropped-by-reason"


def test_an_interface_that_does_not_forward_comes_before_the_counter() -> None:
    drop = {"id": "IP_INADDRERRORS/ip_error", "reason": "IP_INADDRERRORS", "place": "ip_error",
            "nic": "lan0", "packets": 70, "per_s": 19.0, "kind": "loss",
            "rule": "packets-without-a-route", "raises": ("ip_foreign",)}  # fmt: skip
    host = {"ip_no_routes": 0.0, "ip_foreign": 19.0, "ip_in": 40.0}
    judged = facts({"host": host, "drops": [drop], "sysctls": {"net.ipv4.ip_forward": "1"}},
                   "server", 1000.0)  # fmt: skip
    first, second = list(Judge(RULES, window=0.0).judge(judged).findings)[:2]
    assert (first.rule, first.cause) == ("interface-does-not-forward", "")
    assert (second.rule, second.cause) == ("packets-without-a-route", first.id)


def test_a_call_that_this_host_itself_resets_explains_the_counter() -> None:
    call = {"id": "portal[8]/recvfrom/ECONNRESET", "kind": "aborted", "means": "authd ends",
            "events": 30, "per_s": 6.0, "opened": 20.0, "raises": ("tcp_cut",)}  # fmt: skip
    found = findings(host={"tcp_cut": 6.5, "tcp_passive": 20}, calls=[call])
    causes = {one.rule: one.cause for one in found}
    assert causes["connections-end-in-resets"] == "calls-fail@portal[8]/recvfrom/ECONNRESET"


def test_sends_that_are_refused_explain_the_packets_that_they_count_as_discarded() -> None:
    call = {"id": "app[8]/sendto/ECONNREFUSED", "kind": "refused", "means": "refused", "share": 0.5,
            "events": 50, "per_s": 10.0, "raises": ("OutDiscards",)}  # fmt: skip
    for rate, explained in ((10.0, True), (90.0, False)):
        failure = {"name": "OutDiscards", "events": rate, "least": 2}
        found = findings(host={"ip_in": 10.0}, calls=[call], failures=[failure])
        causes = {one.rule: one.cause for one in found}
        told = "calls-fail@app[8]/sendto/ECONNREFUSED" if explained else ""
        assert causes["counted-as-failed"] == told


def test_a_change_that_the_cause_has_is_not_told_again_for_its_symptom() -> None:
    host = {"listen_overflows": 98.0, "listen_drops": 98.0, "syn_drops": 98.0, "tcp_passive": 38.0,
            "syn_cookies": 17.0, "full_backlog": 8, "full_waiting": 0}  # fmt: skip
    judged = facts({"host": host, "sysctls": {"net.core.somaxconn": "8",
                                              "net.ipv4.tcp_syncookies": "1"}},
                   "server", 1000.0)  # fmt: skip
    found = {one.rule: one for one in Judge(RULES, window=0.0).judge(judged).findings}
    first, second = found["accept-queue-overflows"], found["syn-queue-overflows"]
    assert second.cause == first.id
    assert [one.setting for one in first.wanted] == ["sysctl.net.core.somaxconn"]
    assert second.wanted == ()
