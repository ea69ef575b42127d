"""Both ends of a flow: the line of stages with both hosts, the losses, the far findings."""

from dataclasses import replace

import pytest
from scenes import lossy

from nettop.advice.rules.rule import Finding
from nettop.facts.flow_words import name
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import Prediction
from nettop.facts.pair import Joined, Losses, Place, Unmatched
from nettop.panes import ends, flowlist, limit, listed
from nettop.panes.related import related
from nettop.terms.text import cells, text_of
from nettop.views.scene import Peer, Scene, Step

LINE = (
    Reading("thread", "here", "rsync", utilisation=0.17), Reading("sndbuf", "here", "sndbuf"),
    Reading("qdisc", "here", "qdisc"), Reading("path", "between", "path"),
    Reading("core", "there", "core 1", utilisation=0.3),
    Reading("thread", "there", "rsyncd[9]", utilisation=0.95),
)  # fmt: skip
LIMIT = Limit("flow", "10.0.0.1:5>10.0.0.2:7", "tx", 1.2e9, stage=LINE[-1])
LOST = Losses(
    5.0, 120_000, 13, 0.0, (12.0, 14.0),
    (Place("there", "ring", "eth0, receive ring full", (0.0, 14.0), "14 packets of all flows"),
     Place("between", "path", "network from here to there", (0.0, 14.0), "no host counts it")),
)  # fmt: skip
JOINED = Joined(LIMIT, "rsync[4]", "rsyncd[9]", LINE, LOST)
PEER = Peer(("web1", "web2"), joined=(JOINED,))


def rows(peer: Peer | None, width: int = 118) -> list[str]:
    return [text_of(row).rstrip() for row in ends.band(Scene(peer=peer), width)]


def test_without_the_option_the_overview_has_no_line_of_it() -> None:
    assert rows(None) == []


def test_one_line_has_the_stages_of_both_hosts_and_marks_the_limit() -> None:
    head, stages, lost = rows(PEER)
    assert head.startswith(" ⇄ rsync[4] → rsyncd[9] ")
    assert head.endswith("limited by CPU time of thread rsyncd[9], at web2")
    here = "   web1: thread CPU 17% > send buffer > qdisc"
    assert stages == f"{here} │ path │ web2: IRQ core 30% > ● thread CPU 95%"
    assert lost.startswith("   lost 12 to 14 of 120,000 segments, up to 14 of them at web2  eth0")


@pytest.mark.parametrize("width", [50, 60, 78])
def test_a_narrow_line_keeps_what_is_known_and_the_limit(width: int) -> None:
    for row in ends.band(Scene(peer=PEER), width):
        assert cells(text_of(row)) <= width
    assert rows(PEER, 70)[1] == (
        "   web1: thread CPU 17% │ path │ web2: IRQ core 30% > ● thread CPU 95%"
    )


def test_where_little_fits_the_limit_is_in_the_line() -> None:
    shown = rows(PEER, 46)[1]
    assert len(shown) <= 46
    assert shown.endswith("● thread CPU 95%")


def test_a_program_that_is_inferred_to_hand_over_no_more_has_no_figure() -> None:
    idle = Reading("application", "here", "rsync[4]", utilisation=1.0)
    one = replace(JOINED, line=(idle, *LINE))
    shown = rows(replace(PEER, joined=(one,)))[1]
    assert shown.startswith("   web1: application > thread CPU 17% > send buffer")
    one = replace(one, limit=replace(LIMIT, stage=idle))
    assert "● application 100% > " in rows(replace(PEER, joined=(one,)))[1]


def test_the_last_picture_stays_below_the_sentence() -> None:
    lost = replace(PEER, message="web2 has not answered for 9 s")
    assert rows(lost)[0] == " ⇄ web2 has not answered for 9 s"
    assert rows(lost)[1:] == rows(PEER)


def test_nothing_lost_is_said_with_its_bound() -> None:
    none = replace(LOST, between=(0.0, 30.0), retransmitted=0, places=())
    peer = replace(PEER, joined=(replace(JOINED, losses=none),))
    assert rows(peer)[2] == ("   no loss seen between the hosts (at most 30 of 120,000 segments)")


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("", "   losses are not counted yet"),
        ("the kernel of web2 does not count bytes_received",
         "   losses are not counted: the kernel of web2 does not count bytes_received"),
    ],
)  # fmt: skip
def test_why_losses_are_not_counted_is_said(why: str, text: str) -> None:
    one = replace(JOINED, losses=None, uncounted=why)
    assert rows(replace(PEER, joined=(one,)))[-1] == text


def test_a_flow_behind_nat_is_named_and_not_joined() -> None:
    missing = (Unmatched("10.0.0.1:5>10.0.0.2:7"),)
    (row,) = rows(Peer(("web1", "web2"), unmatched=missing))
    assert row.startswith(" ⇄ 10.0.0.1:5>10.0.0.2:7 has no other end at web2")


def finding(name: str, severity: str, host: str = "") -> Finding:
    return Finding(f"{name}@eth0", name, "eth0", severity, name, "", 1.0, (), (), (), (), (),
                   "", host=host)  # fmt: skip


def test_the_list_has_the_findings_of_both_ends_by_severity() -> None:
    far = finding("far", "critical", "web2")
    step = Step("sysctl.x", "0", "1", "sysctl -w x=1")
    scene = Scene(
        findings=(finding("near", "warning"), finding("less", "advice")),
        peer=replace(PEER, findings=(far,), plans={far.id: (step,)}),
    )
    assert [one.id for one in listed.listed(scene)] == ["far@eth0", "near@eth0", "less@eth0"]
    assert scene.finding("far@eth0") is far
    assert scene.steps("far@eth0") == (step,)


def test_a_flow_that_has_ended_is_said_in_words() -> None:
    flow = LIMIT.target
    over = replace(PEER, joined=(), ended=(flow,))
    assert rows(over) == [f" ⇄ {flow} has ended"]
    assert rows(replace(over, ended=(flow, "b", "c"))) == [f" ⇄ {flow} has ended, and 2 more"]
    assert rows(replace(over, message="web2 has not answered for 9 s")) == [
        " ⇄ web2 has not answered for 9 s"
    ]
    assert rows(replace(PEER, ended=("b",))) == rows(PEER)
    scene = lossy()
    assert scene.facts is not None
    one = scene.facts.flows[0]
    opened = ends.of_flow(one, replace(scene, peer=replace(over, ended=(name(one),))), 100)
    assert [text_of(row) for row in opened] == [" ⇄ this flow has ended"]
    assert ends.of_flow(one, replace(scene, peer=over), 100) == []


@pytest.mark.parametrize(
    ("width", "begins"),
    [(118, " ⇄ rsync[4] → rsyncd[9] "), (84, " ⇄ rsync → rsyncd "), (78, " ⇄ sends ")],
)
def test_the_host_of_the_limit_is_shown_before_the_programs(width: int, begins: str) -> None:
    head = rows(PEER, width)[0]
    assert head.startswith(begins)
    assert head.endswith(", at web2")


def test_the_headline_has_the_fix_of_the_end_that_limits() -> None:
    far = replace(finding("below", "warning", "web2"), relieves=("thread",))
    step = Step("sysctl.net.ipv4.tcp_rmem", "4", "8")
    peer = replace(PEER, findings=(far,), plans={far.id: (step,)})
    scene = replace(lossy(), peer=peer)
    assert related(scene, LIMIT) is far
    assert related(replace(scene, peer=None), LIMIT) is not far
    told = text_of(limit.remedy(scene, LIMIT, far, 118))
    assert told.startswith("   web2: sysctl.net.ipv4.tcp_rmem 4 → 8 ")
    most = replace(LIMIT.stage, capacity=(1e9, 3e9))
    fix = Prediction(LIMIT, (1.2e9, 3e9), most, most)
    told = text_of(limit.remedy(scene, LIMIT, replace(far, predicted=fix), 118))
    assert told.rstrip().endswith("with this fix ≤ 3 Gb/s")
    wire = Reading("wire", "here", "link", capacity=(2e9, 2e9))
    after = replace(fix, next=wire, bound=wire)
    told = text_of(limit.remedy(scene, LIMIT, replace(far, predicted=after), 118))
    assert "next: the link, ≤ 2 Gb/s" in told


@pytest.mark.parametrize(
    ("direction", "end", "told"),
    [("rx", "here", "reads"), ("tx", "there", "reads"), ("tx", "here", "sends"),
     ("rx", "there", "sends")],
)  # fmt: skip
def test_a_program_is_told_to_read_or_to_send_by_its_end(
    direction: str, end: str, told: str
) -> None:
    one = replace(LIMIT, direction=direction, stage=Reading("application", end, "x[1]"))
    assert told in text_of(limit.remedy(Scene(peer=PEER), one, None, 118))


def test_the_list_of_flows_says_that_the_other_end_limits() -> None:
    scene = replace(lossy(), peer=PEER)
    assert scene.facts is not None
    flow = scene.facts.flows[0]
    one = Limit("flow", name(flow), "tx", 1e9, stage=LINE[-1], namespace=flow.namespace)
    scene = replace(scene, facts=replace(scene.facts, limits=(one,)))
    (row, *_) = (text_of(row) for row in flowlist.lines(scene, (flow,), 118, 4)[1:])
    assert "web2: " in row


def test_where_both_ends_are_read_nobody_is_sent_to_the_other_end() -> None:
    for stage in ("peer", "unknown", "rwnd"):
        one = replace(LIMIT, stage=Reading(stage, "there", stage))
        assert "⇄ below" in text_of(limit.remedy(Scene(peer=PEER), one, None, 100))
        for peer in (None, replace(PEER, joined=())):
            assert "⇄ below" not in text_of(limit.remedy(Scene(peer=peer), one, None, 100))
    here = replace(LIMIT, stage=Reading("qdisc", "here", "qdisc"))
    assert "⇄ below" not in text_of(limit.remedy(Scene(peer=PEER), here, None, 100))
