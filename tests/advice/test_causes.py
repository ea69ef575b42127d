"""A cause stands before its symptoms, with the severity of the worst of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Finding
from nettop.config import rules_folder

RULES = load([rules_folder()])
CARD: Mapping[str, Any] = {
    "name": "eth0", "irq_top_cpu": 0, "irq_top_share": 0.99, "rx_queues": 4, "queues_active": 4,
    "queue_skew": 1.1, "local_cpus": [0, 1, 2, 3], "local_cores": [0, 1, 2, 3],
    "ring": {"rx": 256, "rx_max": 4096}, "per_s": {"ring_drops": 900, "rx_packets": 900000},
}  # fmt: skip
FULL = {"cpu": 0, "softirq": 96, "idle": 1, "nics": ["eth0"]}


def findings(muted: tuple[str, ...] = (), **table: Any) -> list[Finding]:
    judge = Judge(RULES, muted=muted, window=0.0)
    return list(judge.judge(facts(table, "server", 1000.0)).findings)


def test_the_cause_is_first_and_as_loud_as_the_loss() -> None:
    first, second = findings(nics=[CARD], cores=[FULL])[:2]
    assert (first.rule, first.severity, first.cause) == ("irqs-on-one-core", "critical", "")
    assert (second.rule, second.severity) == ("rx-ring-overrun", "critical")
    assert second.cause == "irqs-on-one-core@eth0"


def test_a_counter_without_a_rule_of_its_own_comes_last_of_its_severity() -> None:
    host = {"tcp_failed": 150, "tcp_active": 150, "syn_retrans": 0, "tcp_in": 5}
    late = {"name": "PAWSEstab", "means": "late", "events": 40.0, "least": 10.0}
    rules = [one.rule for one in findings(host={**host, "ip_in": 90}, failures=[late])]
    assert rules.index("peer-refuses-connections") < rules.index("counted-as-failed")


def test_a_proposal_to_test_comes_after_what_limits() -> None:
    tool = {"pid": 7, "name": "iperf3", "tx_per_s": 1e9}
    flow = {"id": "x", "wants": True, "limit": "pacing", "limit_why": "a rate", "tx_per_s": 1e9}
    frame = {"processes": [tool], "flows": [flow], "sysctls": {"net.ipv4.tcp_no_metrics_save": 0}}
    judge = Judge(RULES, window=0.0)
    found = judge.judge(facts(frame, "bulk-lan", 1000.0)).findings
    rules = [one.rule for one in found if one.severity == "info"]
    assert rules == ["who-limits-the-flow", "test-remembers-the-last"]


def test_a_program_that_sleeps_by_itself_comes_after_a_limit_that_this_host_sets() -> None:
    ends = {"process": "app", "wants": True, "tx_per_s": 4e6, "direction": "send"}
    flows = [{"id": "a", "limit": "timer", "rx_per_s": 0.0, **ends},
             {"id": "b", "limit": "pacing", "limit_why": "a rate", **ends}]  # fmt: skip
    rules = [one.rule for one in findings(flows=flows)]
    assert rules.index("who-limits-the-flow") < rules.index("program-pauses")


def test_a_reader_that_waits_for_a_cpu_is_the_cause_of_its_full_buffer() -> None:
    reader = {"pid": 7, "name": "reader", "networked": True, "udp_drops": 400.0}
    thread = {"pid": 7, "waited": 40.0, "ran": 30.0, "cpu": 2}
    host = {"udp_rcvbuf_errors": 400, "idle": 70.0}
    first, second = findings(host=host, processes=[reader], threads=[thread])[:2]
    assert (first.rule, first.severity) == ("thread-waits-for-cpu", "critical")
    assert (second.rule, second.cause) == ("socket-overrun", first.id)
    never = {**thread, "waited": 60.0, "ran": 40.0}
    first, second = findings(host=host, processes=[reader], threads=[never])[:2]
    assert (first.rule, first.cause) == ("socket-overrun", "")
    assert (second.rule, second.severity) == ("thread-waits-for-cpu", "advice")


def test_what_the_kernel_says_follows_the_rule_that_its_words_name() -> None:
    reader = {"pid": 7, "name": "reader", "networked": True, "udp_drops": 400.0}
    full = {
        "id": "SOCKET_RCVBUFF/udp_queue_rcv_one_skb", "reason": "SOCKET_RCVBUFF", "kind": "loss",
        "means": "full", "advice": "look", "packets": 900, "per_s": 180.0,
    }  # fmt: skip
    host = {"udp_rcvbuf_errors": 400, "idle": 70.0}
    told = {**full, "rule": "socket-overrun"}
    found = {one.rule: one for one in findings(host=host, processes=[reader], drops=[told])}
    assert found["packets-dropped-by-reason"].cause == found["socket-overrun"].id
    found = {one.rule: one for one in findings(host=host, processes=[reader], drops=[full])}
    assert found["packets-dropped-by-reason"].cause == ""


def test_another_interface_is_not_explained() -> None:
    quiet = {**CARD, "per_s": {"ring_drops": 0, "rx_packets": 900000}}
    other = {**CARD, "name": "eth1", "irq_top_share": 0.3, "irq_top_cpu": 1}
    found = {
        one.id: one for one in findings(nics=[quiet, other], cores=[FULL, {"cpu": 1, "softirq": 2}])
    }
    assert found["irqs-on-one-core@eth0"].severity == "warning"
    assert found["rx-ring-overrun@eth1"].cause == ""


def test_only_a_cause_that_is_reported_explains() -> None:
    found = {one.rule: one for one in findings(("irqs-on-one-core",), nics=[CARD], cores=[FULL])}
    assert "irqs-on-one-core" not in found
    assert found["rx-ring-overrun"].cause == ""


@pytest.mark.parametrize("key", ["after", "yields"])
def test_an_event_of_the_whole_host_silences_no_other_kind_of_fact(key: str) -> None:
    over = {rule.id: rule.over for rule in RULES}
    wide = {
        (rule.id, name)
        for rule in RULES
        for name in getattr(rule, key)
        if (over[name] == "host") != (rule.over == "host") and (key, rule.over) != ("after", "pair")
    }
    assert wide <= {
        ("packets-without-a-route", "interface-does-not-forward"),  # its packets are these
        ("host-datagrams-lost", "socket-overrun"),  # one counter, by host and by process
        ("host-datagrams-lost", "datagram-buffer-set-small"),
        ("accept-queue-overflows", "accept-out-of-files"),  # one counter, by host and by listener
        ("accept-queue-overflows", "one-of-the-listeners-waits"),
        ("peer-refuses-connections", "destination-out-of-reach"),  # one failure, by host and call
        ("peer-refuses-connections", "calls-fail"),
        ("accept-queue-overflows", "program-held"),  # the program that does not accept
        ("segments-arrive-twice", "thread-waits-for-cpu"),  # acknowledged too late
        ("forwarded-packets-dropped", "firewall-drops"),  # one loss, by host and by rule
        ("forwarded-packets-dropped", "firewall-rate-limit-drops"),
        ("datagrams-not-sent", "shaper-limits"),  # SndbufErrors count what a qdisc drops
        ("datagrams-not-sent", "queue-drops-before-sending"),
        ("datagrams-not-sent", "received-packets-policed"),
        ("datagrams-not-sent", "veth-refuses-what-it-is-sent"),
        # counted by the host, dropped at sockets of a cgroup
        ("received-segments-dropped", "cgroup-refuses-socket-memory"),
        ("invalid-segments-are-not-translated", "idle-connections-forgotten"),  # the same
        ("packets-vanish", "firewall-drops"),  # counted by the host, dropped by a chain
        ("packets-vanish", "firewall-rate-limit-drops"),
        ("packets-vanish", "program-takes-its-queue-too-slowly"),  # dropped before a full NFQUEUE
        ("connections-open-at-the-second-try", "calls-fail"),  # the program that gives up
        ("connections-open-at-the-second-try", "address-of-a-name-unanswered"),
        # SYNs into a tunnel that are all sent again
        ("connections-open-at-the-second-try", "tunnel-answers-no-translated-connection"),
        ("connections-end-in-resets", "cgroup-refuses-processes"),
        ("connections-end-in-resets", "program-held"),  # it cannot start who would answer
        ("connections-refused", "destination-out-of-reach"),  # a socket that does not take them
        ("packets-without-a-route", "packets-dropped-by-reason"),  # one loss, by host and reason
        ("reverse-path-filter-drops", "destination-out-of-reach"),  # of these packets: `_meets`
        ("peer-refuses-datagrams", "neighbour-does-not-answer"),  # this host sends the message
        ("peer-refuses-packets", "neighbour-does-not-answer"),
    }


def test_a_setting_of_the_host_explains_what_a_flow_lacks() -> None:
    found = {
        one.rule: one
        for one in findings(
            pairs=[{"timestamps": False, "here": {"timestamps": False},
                    "there": {"timestamps": True, "host": "b"}}],
            sysctls={"net.ipv4.tcp_timestamps": 0},
        )
    }  # fmt: skip
    assert found["timestamps-refused-by-this-end"].cause == "timestamps-off@host"


def test_a_shaper_explains_what_waits_and_what_is_dropped_behind_it() -> None:
    shaper = {"id": "eth0/tbf-1:", "nic": "eth0", "kind": "tbf", "rate": 8e6, "load": 1.0,
              "queued": 20000}  # fmt: skip
    card = {"name": "eth0", "per_s": {"qdisc_drops": 300, "tx_packets": 900}}
    found = {
        one.rule: one
        for one in findings(
            nics=[card], qdiscs=[shaper], host={"udp_sndbuf_errors": 300, "udp_out": 900}
        )
    }
    assert next(iter(found)) == "shaper-limits"
    assert found["queue-drops-before-sending"].cause == "shaper-limits@eth0/tbf-1:"
    assert found["datagrams-not-sent"].cause == "shaper-limits@eth0/tbf-1:"
    assert found["shaper-limits"].severity == "warning"


def test_a_port_below_a_bridge_explains_what_waits_on_the_bridge() -> None:
    shaper = {"id": "eth0/tbf-1:", "nic": "eth0", "kind": "tbf", "rate": 8e6, "load": 1.0,
              "queued": 20000}  # fmt: skip
    waiting = {"id": "f", "nic": "br0", "wants": True, "direction": "send", "unacked": 40,
               "rtt": 0.2, "min_rtt": 0.001}  # fmt: skip
    bridge = {"name": "br0", "kind": "bridge"}
    for port, cause in (
        ({"name": "eth0", "master": "br0"}, "shaper-limits@eth0/tbf-1:"),
        ({"name": "eth0"}, ""),
    ):
        found = {
            one.rule: one for one in findings(nics=[port, bridge], qdiscs=[shaper], flows=[waiting])
        }
        assert found["queue-delays-the-flow"].cause == cause


def test_rules_of_the_packet_filter_explain_what_a_reader_loses() -> None:
    chain = {"id": "inet/t/in", "hook": "input", "rules": 1200}
    host = {"busiest_cpu": 0, "idle": 0, "udp_in": 45000, "tcp_in": 1, "ip_forwarded": 0}
    reader = {"pid": 9, "name": "app", "udp_drops": 4000}
    found = findings(chains=[chain], host=host, processes=[reader], cores=[{"cpu": 0}])
    by = {one.rule: one for one in found}
    assert found[0].rule == "rules-compared-one-by-one"
    assert by["socket-overrun"].cause == "rules-compared-one-by-one@inet/t/in"


@pytest.mark.parametrize(("nic", "explained"), [("eth0", True), ("eth1", False)])
def test_small_segmentation_packets_explain_why_a_thread_of_that_interface_waits(
    nic: str, explained: bool
) -> None:
    card = {"name": "eth0", "gso_max_segs": 1, "gso_max_size": 65536,
            "per_s": {"tx_packets": 90000}}  # fmt: skip
    thread = {"tid": 7, "pid": 7, "name": "app", "waited": 70, "ran": 20, "nic": nic}
    process = {"pid": 7, "name": "app", "networked": True, "nic": nic}
    found = findings(nics=[card], threads=[thread], processes=[process])
    waits = next(one for one in found if one.rule == "thread-waits-for-cpu")
    assert waits.cause == ("segmentation-packets-small@eth0" if explained else "")


@pytest.mark.parametrize(
    ("hook", "drops", "explained"),
    [("output", 40, True), ("postrouting", 21, True), ("output", 19, False), ("input", 40, False)],
)
def test_a_rule_that_drops_what_this_host_sends_explains_what_is_sent_again(
    hook: str, drops: float, explained: bool
) -> None:
    flow = {
        "id": "tcp:a", "protocol": "tcp", "wants": True, "resent": 500, "loss_ratio": 0.02,
        "retransmits_per_s": 40, "min_rtt": 0.02, "rtt": 0.02, "loss_total": 0.02,
    }  # fmt: skip
    rule = {"id": "inet/t/c/2", "hook": hook, "drops": drops, "share": 0.01}
    found = findings(flows=[flow], firewalls=[rule])
    ids = [one.rule for one in found if one.rule in ("firewall-drops", "losses-on-the-path")]
    lost = next(one for one in found if one.rule == "losses-on-the-path")
    assert bool(lost.cause) == explained
    assert (ids[0] == "firewall-drops") == explained


def test_no_rule_explains_itself_over_others() -> None:
    to = {rule.id: set(rule.after) for rule in RULES}
    while to:
        last = {name for name, others in to.items() if not others & to.keys()}
        assert last, f"a circle among {sorted(to)}"
        to = {name: others for name, others in to.items() if name not in last}


def test_a_quota_explains_what_the_processes_below_it_do() -> None:
    quota = {"cgroup": "/app", "throttled": 0.8, "processes": ["app[9]"]}
    thread = {"tid": 9, "pid": 9, "name": "app", "waited": 60, "ran": 20}
    flow = {"id": "f", "pid": 9, "process": "app", "limit": "thread", "limit_why": "ran 20 %"}
    processes = [{"pid": 9, "name": "app", "networked": True}]
    for pids, cause in ((["app[9]"], "quota-throttles-the-program@/app"), (["app[8]"], "")):
        found = {
            one.rule: one
            for one in findings(
                quotas=[{**quota, "processes": pids}], threads=[thread], flows=[flow],
                processes=processes,
            )
        }  # fmt: skip
        assert found["thread-waits-for-cpu"].cause == cause
        assert found["one-thread-limits"].cause == (cause or "thread-waits-for-cpu@app[9]")


def test_a_cgroup_without_memory_explains_the_windows_of_its_processes() -> None:
    group = {"cgroup": "/app", "refused": 90}
    flow = {"id": "f", "pid": 9, "process": "app", "direction": "receive", "offers": 10_000,
            "rcvbuf": 131_072, "min_rtt": 0.02, "rx_per_s": 480_000.0}  # fmt: skip
    for pids, cause in ((["app[9]"], "cgroup-refuses-socket-memory@/app"), (["app[8]"], "")):
        found = {
            one.rule: one
            for one in findings(
                memcgs=[{**group, "processes": pids}], flows=[flow],
                processes=[{"pid": 9, "name": "app", "networked": True}],
            )
        }  # fmt: skip
        assert found["window-held-small"].cause == cause


def test_a_gateway_that_does_not_answer_explains_the_connections_that_go_by_it() -> None:
    waits = {"id": "203.0.113.9:443", "sockets": 60, "retries": 3, "neighbour": "10.0.0.6@eth0"}
    for absent, cause in (
        ("10.0.0.6@eth0", "neighbour-does-not-answer@10.0.0.6@eth0"), ("10.0.0.7@eth0", ""),
    ):  # fmt: skip
        found = {
            one.rule: one for one in findings(attempts=[waits], absent_neighbours=[{"id": absent}])
        }
        assert found["connections-without-an-answer"].cause == cause


def test_a_bridge_that_does_not_forward_explains_neighbours_behind_it() -> None:
    absent = {"id": "10.0.0.6@br0", "count": 1}
    for name, cause in (("br0", "bridge-port-does-not-forward@br0"), ("br1", "")):
        bridge = {"name": name, "held": ["eth0"]}
        found = {one.rule: one for one in findings(absent_neighbours=[absent], bridges=[bridge])}
        assert found["neighbour-does-not-answer"].cause == cause


@pytest.mark.parametrize(
    ("direction", "received", "cause"),
    [("receive", True, "shaper-limits@ifb0/tbf-1:"), ("receive", False, "")],
)
def test_a_shaper_of_received_packets_explains_gaps(
    direction: str, received: bool, cause: str
) -> None:
    shaper = {"id": "ifb0/tbf-1:", "nic": "eth0", "kind": "tbf", "rate": 8e6, "load": 1.0,
              "queued": 20000, "received": received}  # fmt: skip
    flow = {"id": "f", "nic": "eth0", "direction": direction, "out_of_order": 0.05,
            "rx_per_s": 1e6}  # fmt: skip
    found = {
        one.rule: one
        for one in findings(
            nics=[{"name": "eth0"}], qdiscs=[shaper], flows=[flow], host={"rcv_pruned": 0}
        )
    }
    assert found["segments-arrive-with-gaps"].cause == cause


def test_flows_of_one_program_between_two_addresses_are_one_finding() -> None:
    stalled = {"backoff": 4, "acked": 0, "unacked": 9, "mss": 1448, "local": "10.0.0.1"}
    ends = [
        (1, "10.0.0.2", "copy"), (2, "10.0.0.2", "copy"), (3, "10.0.0.2", None),
        (4, "10.0.0.3", "copy"), (5, "10.0.0.2", "other"),
    ]  # fmt: skip
    flows = [
        {**stalled, "id": f"f{port}", "remote": remote, **({"process": name} if name else {})}
        for port, remote, name in ends
    ]
    table = {"flows": flows, "sysctls": {"net.ipv4.tcp_mtu_probing": "0"}}
    judged = Judge(RULES, window=0.0).judge(facts(table, "server", 1000.0))
    found = [one for one in judged.findings if one.rule == "mtu-black-hole"]
    assert {one.target: one.also for one in found} == {"f1": ("f2", "f3"), "f4": (), "f5": ()}
    assert found[0].title.endswith("(and 2 more)")
    said = {one.target: one.because for one in judged.silent() if one.rule == "mtu-black-hole"}
    assert said["f2"] == "mtu-black-hole@f1 reports the same problem"


def test_a_program_explains_those_that_wait_for_it() -> None:
    known = {"state": "asks", "held": True, "does": "waits", "cure": "x", "connections": 9}
    chain = [
        {**known, "pid": 7, "name": "api", "behind": 9},
        {**known, "pid": 8, "name": "front", "behind": 7},
        {**known, "pid": 9, "name": "db", "state": "stopped"},
    ]
    found = [one for one in findings(programs=chain) if one.rule == "program-held"]
    assert [(one.target, one.cause) for one in found] == [
        ("db[9]", ""), ("api[7]", "program-held@db[9]"), ("front[8]", "program-held@api[7]"),
    ]  # fmt: skip
    circle = [{**chain[0], "behind": 8}, chain[1]]
    assert [one.cause for one in findings(programs=circle) if one.rule == "program-held"] == [
        "",
        "",
    ]


def test_a_counter_of_the_host_shows_where_the_kernel_drops() -> None:
    drop = {
        "id": "IP_RPFILTER/ip_rcv_finish_core", "reason": "IP_RPFILTER", "kind": "refused",
        "means": "refused", "advice": "look", "packets": 900, "per_s": 180.0,
        "rule": "reverse-path-filter-drops", "nics": "feed0", "nic": "feed0",
        "whose": "udp port 5000 of feedd[7]",
    }  # fmt: skip
    host = {"reverse_path_drops": 180, "ip_in": 200}
    told = {one.rule: one for one in findings(host=host, drops=[drop])}["reverse-path-filter-drops"]
    shown = {row["field"]: row["value"] for row in told.evidence}
    assert shown["drop.nics"] == "feed0"
    assert shown["drop.whose"] == "udp port 5000 of feedd[7]"
    assert "net.ipv4.conf.feed0.rp_filter=2" in " ".join(told.advice)
    (bare,) = (one for one in findings(host=host) if one.rule == "reverse-path-filter-drops")
    assert "conf.IF.rp_filter" in " ".join(bare.advice)


FILTERED: Mapping[str, Any] = {
    "id": "NETFILTER_DROP/nft_do_chain", "reason": "NETFILTER_DROP", "kind": "turned away",
    "rule": "firewall-drops", "packets": 300, "per_s": 60.0, "whose": "tcp port 5432 of db[9]",
    "ports": ["tcp port 5432"], "rules": ["inet/fw/forward/2", "inet/fw/in/9"],
}  # fmt: skip


@pytest.mark.parametrize(("rule", "explained"), [
    ("inet/fw/forward/2", True), ("inet/fw/forward/3", False),
])  # fmt: skip
def test_what_the_tracking_forgot_explains_the_rule_that_drops_it(
    rule: str, *, explained: bool
) -> None:
    found = {one.rule: one for one in findings(
        drops=[FILTERED], firewalls=[{"id": rule, "drops": 60.0, "share": 0.2, "limited": False}],
        host={"conntrack_invalid": 60.0, "ip_forwarded": 400.0, "tcp_in": 0.0},
        sysctls={"net.netfilter.nf_conntrack_tcp_timeout_established": 3},
    )}  # fmt: skip
    first = found["idle-connections-forgotten"]
    assert (first.cause, first.severity) == ("", "warning")
    assert found["firewall-drops"].cause == (first.id if explained else "")


@pytest.mark.parametrize(("port", "explained"), [(5432, True), (5433, False)])
def test_what_the_packet_filter_drops_of_a_port_is_lost_on_no_path(
    port: int, *, explained: bool
) -> None:
    stalled = {"id": "f", "protocol": "tcp", "local_port": port, "backoff": 6, "acked": 900,
               "unacked": 4, "mss": 1448}  # fmt: skip
    found = {one.rule: one for one in findings(
        drops=[FILTERED], flows=[stalled], sysctls={"net.ipv4.tcp_mtu_probing": 0}
    )}  # fmt: skip
    cause = "packets-turned-away@NETFILTER_DROP/nft_do_chain" if explained else ""
    assert found["mtu-black-hole"].cause == cause
