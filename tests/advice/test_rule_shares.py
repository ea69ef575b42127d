"""Rules judge by share: a total failure is found however quiet, one in ten thousand is not."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import rule_shares
from sentences import no_fault

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.language.syntax import path_of
from nettop.advice.language.words import Phraser
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Rule

PACK = Path(__file__).parents[2] / "rules"
RULES = load([PACK])
SHARED = [rule for rule in RULES if any(True for _ in rule.when.calls("share"))]

# rules that compare a rate with a fixed number, and why that is no share of anything
FIXED = {
    "a load: below it the setting costs nothing that can be measured": """
        accepts-wait-for-data adaptive-moderation-off adaptive-moderation-too-quick
        aspm-delays-packets
        capture-port-moderation deep-idle-costs-latency deferred-interrupts-delay-packets
        eee-delays-packets forwarding-fills-a-core interrupt-delay-costs-latency
        interrupt-delay-too-long interrupt-flood-at-100g interrupts-unmoderated
        ipsec-on-one-core jumbo-without-scatter-gather merged-packets-small
        offloads-off program-pauses program-stopped one-request-a-connection pause-on-latency-port
        poll-budget-runs-out poll-time-too-short segmentation-packets-small
        sender-without-segmentation
        tunnel-segmented-in-software tx-ring-full wireguard-on-one-core xdp-in-generic-mode
        app-on-other-node app-place-by-chance cpu-time-stolen who-limits-the-flow
        segments-arrive-with-gaps window-restarts-after-pauses
        bridge-ports-differ-in-mtu tunnel-packets-fragmented tunnel-packets-on-one-queue
        two-ports-in-one-network device-takes-too-slowly packets-of-one-hash
        veth-packets-not-merged clock-low-between-packets mtu-of-the-way-out-is-smaller
        balancer-drops-the-first-packet receiving-core-sums-cgroups answers-take-long
        one-connection-at-a-time sender-sends-no-more
    """,
    "pauses, and frames of a flooded network: not a part of the packets of this host": """
        paused-by-peer pausing-the-peer priority-paused-by-peer priority-pausing-the-peer
        receiver-pauses-the-sender frames-for-other-hosts broadcasts-flood-the-host
        bridge-port-gets-no-multicast
        drops-of-unknown-kind datagrams-fragmented
    """,
    "counted while nettop looked, with a floor on the mean": """
        calls-fail destination-out-of-reach idle-connections-forgotten
        frames-that-nothing-reads interface-does-not-forward one-mac-behind-two-ports
        packets-dropped-by-reason packets-turned-away
    """,
    "a ratio of two rates, or both ends": """
        tls-records-fail faster-link-than-the-receiver where-packets-die
        application-does-not-read requests-arrive-in-two-parts traffic-passes-the-kernel-by
        packets-go-round
    """,
    "a program that takes nothing: all is lost": """
        program-held
    """,
}


@pytest.mark.parametrize("rule", SHARED, ids=lambda rule: rule.id)
def test_a_total_failure_is_found_and_one_in_ten_thousand_is_not(rule: Rule) -> None:
    for look in rule_shares.looks(rule):
        said = rule_shares.severity(rule, look)
        assert bool(said) is look.finds, look.name
        if look.total and rule.critical is not None:
            assert said == "critical", look.name


def _fixed(rule: Rule) -> bool:
    """Whether a rate is compared with a number."""
    for node in ast.walk(rule.when.tree):
        if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            sides = [node.left, *node.comparators]
            rates = [one for one in sides if _rate(Phraser({}).measure(one))]
            if rates and any(_value(rule, one) for one in sides):
                return True
    return False


def _rate(unit: str) -> bool:
    """Whether it is of events; the speed of a link is a property."""
    return unit.endswith("/s") and unit != "bit/s"


def _value(rule: Rule, node: ast.expr) -> float:
    """The number; 0 for anything else. A limit of zero is no fixed rate: any loss counts."""
    path = path_of(node) or ("",)
    value = rule.limits[path[1]] if path[0] == "limits" else getattr(node, "value", 0.0)
    return value if isinstance(value, int | float) else 0.0


def test_every_rate_beside_a_fixed_number_has_a_reason() -> None:
    known = {name for names in FIXED.values() for name in names.split()}
    found = {rule.id for rule in RULES if _fixed(rule)}
    no_fault(f"{name}: judge it by share(lost, through)" for name in sorted(found - known))
    no_fault(f"{name}: it has no fixed rate now" for name in sorted(known - found))


GROUP = {"id": "NOT_SPECIFIED/ip_rcv_finish_core", "reason": "NOT_SPECIFIED", "packets": 1200,
         "kind": "turned away", "means": "Nobody", "advice": "a", "per_s": 300.0}  # fmt: skip
INVALID = {"id": "ip/filter/forward/2", "limited": False, "drops": 50.0, "share": 0.47,
           "tests": "ct state invalid"}  # fmt: skip
UNTRANSLATED: Mapping[str, Any] = {
    "host": {"forwarding": True, "conntrack_invalid": 40.0, "ip_forwarded": 9000.0,
             "tcp_resets": 0.4},
    "sysctls": {"net.netfilter.nf_conntrack_tcp_be_liberal": 0},
}  # fmt: skip


ANSWERED = ("packets-turned-away", "firewall-drops", "invalid-segments-are-not-translated")


@pytest.mark.parametrize(("table", "severity"), [
    ({"drop": {**GROUP, "wanted": True, "through": 0.2}}, "critical"),
    ({"drop": {**GROUP, "wanted": True, "through": 300.0}}, "advice"),
    ({"drop": {**GROUP, "through": 0.2}}, "advice"),
    ({"firewall": INVALID}, "critical"),
    ({"firewall": {**INVALID, "share": 0.02}}, "info"),
    ({"firewall": {**INVALID, "tests": ""}}, "info"),
    (UNTRANSLATED, "advice"),
    ({**UNTRANSLATED, "host": {**UNTRANSLATED["host"], "tcp_resets": 30.0}}, "critical"),
])  # fmt: skip
def test_where_nothing_gets_through_it_is_critical(table: dict[str, Any], severity: str) -> None:
    judge = Judge([one for one in RULES if one.id in ANSWERED])
    found = [
        one
        for second in range(3)
        for one in judge.judge(facts(table, "server", float(second))).findings
    ]
    assert {one.severity for one in found} == {severity}
