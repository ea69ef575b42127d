"""A call that fails follows what refuses it: a rule of the packet filter, or a reader."""

from __future__ import annotations

from typing import Any

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
