"""What panes say is plain: names of rules stay out of titles and axes, and stages have words."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from folded import folded
from recorded_hosts import HOSTS, last, name
from scenes import SCENES, lossy, storied

from nettop.advice.language.template import spoken
from nettop.facts.flow_words import name as flow_name
from nettop.facts.limits import Limit, Reading, words
from nettop.facts.limits.ladder import labelled
from nettop.facts.limits.stages import SHORT, declared, short
from nettop.host.recording import Mark, Replay, load
from nettop.panes import flowlist, flowpage, headline, limit, page
from nettop.terms.text import text_of
from nettop.terms.units import Units
from nettop.views.build import Plans, scene_of
from nettop.views.past import History
from nettop.views.scene import Ended, Scene
from nettop.views.view import View

# phrases that no engineer says, or that no reader can tell the meaning of
OBSCURE = re.compile(
    r"that which|wants? to move|wants? no more|\(not: |in words|together [\d.]+ [kMGT]?b/s|"
    r"nothing visible|limited by the qdisc\b|\b(?:rwnd|rcvbuf|sndbuf|pipe-cpu|tx-ring)\b|: tcp:"
)


@cache
def rule_ids() -> frozenset[str]:
    return frozenset((Path(__file__).parents[2] / "rules/ids.txt").read_text().split())


def frames(scene: Scene) -> Iterator[tuple[str, list[str]]]:
    for pane in ("overview", "cores", "nic", "flows", "history"):
        for size in ((80, 24), (120, 40)):
            yield pane, [text_of(row) for row in page.compose(scene, View(pane=pane), *size)]


def obscure(scene: Scene) -> list[str]:
    ids = rule_ids()
    return [
        f"{pane}: {row}"
        for pane, rows in frames(scene)
        for row in rows
        if OBSCURE.search(row) or ids & set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", row))
    ]


@folded("host", SCENES)
def test_scenes_are_told_in_plain_words(host: str) -> None:
    assert obscure(SCENES[host]()) == []


@folded("path", HOSTS)
def test_recorded_hosts_are_told_in_plain_words(path: Path) -> None:
    scene = scene_of(last(path), History(), Plans(Replay(load(str(path)))))
    assert obscure(scene) == [], name(path)


def test_the_axis_names_a_finding_by_its_title() -> None:
    scene = storied()
    gone = Ended(scene.findings[0], (), scene.wall - 120)
    over = replace(scene, findings=(), ended=(gone,), journal=())
    for pane in ("overview", "history"):
        text = "\n".join(map(text_of, page.compose(over, View(pane=pane), 120, 40)))
        assert "○ 1,204 packets/s lost in the receive ring" in text, pane
        assert gone.finding.rule not in text


def test_a_queue_is_named_by_its_kind() -> None:
    told = {"tbf 8001: of eth0": "the traffic shaper tbf", "fq 1: of eth0": "the qdisc fq"}
    for queue, text in told.items():
        assert words.stage(Reading("qdisc", "here", queue)) == text


def test_a_thread_that_its_cgroup_stops_is_limited_by_the_quota() -> None:
    quota = Reading("thread", "here", "sync[7]", how="throttled")
    assert words.stage(quota) == "CPU quota of thread sync[7]"
    assert words.stage(replace(quota, how="")) == "CPU time of thread sync[7]"


def test_a_shaper_has_one_name_wherever_its_limit_is_told() -> None:
    full = Reading("qdisc", "here", "tbf 8001: of eth0", "computed", "99% of it", 0.99, None, 1.0)
    scene = lossy()
    assert scene.facts is not None
    (flow, *_) = scene.facts.flows
    one = Limit("flow", flow_name(flow), "tx", 1e9, 0.0, full, (), None, (full,), "eth0")
    facts = labelled(replace(scene.facts, flows=(flow,), limits=(one,)))
    (flow,) = facts.flows
    scene = replace(scene, facts=facts)
    assert words.limited(one) == "limited by the traffic shaper tbf of eth0"
    for width in (118, 78):
        assert "traffic shaper" in text_of(flowlist.lines(scene, (flow,), width, 2)[1])
    assert spoken("flow.limit", flow.limit, flow) == "the traffic shaper tbf"  # in titles
    assert text_of(flowpage.checklist(one, 118, Units())[0]).split()[1:3] == ["traffic", "shaper"]
    assert "SHAPER" in text_of(limit.stages(scene, one, 198)[0])


def test_clocks_that_agree_are_not_said_to_be_ahead() -> None:
    assert Mark("1", True, 0.00004, 0.0001).clock("web2") == (
        "the clocks of both hosts agree within 0.1 ms"
    )
    told = Mark("1", True, -1.5, 0.002).clock("web2")
    assert told == "the clock of web2 is 1.5 s behind, within 2 ms"


def test_the_profile_is_in_the_header_whole_or_not_at_all() -> None:
    scene = lossy()
    assert scene.facts is not None
    name = scene.facts.profile.name
    for width in range(60, 120):
        told = text_of(headline.header(scene, View(), width))
        assert f"· {name} " in told or f"· {name[:3]}" not in told, width
        assert "…" not in told.partition(" (")[0], width


def test_a_stage_has_one_name_in_the_list_of_flows_at_every_width() -> None:
    scene = lossy()
    assert scene.facts is not None
    (flow, *_) = scene.facts.flows
    for stage in declared():
        told = short(stage)
        assert len(told) <= SHORT, stage
        one = replace(flow, limit=stage, limit_how=None, limit_why="")
        for width in (78, 118, 198):
            assert told in text_of(flowlist.lines(scene, (one,), width, 2)[1]), (stage, width)


def test_a_program_is_named_whatever_it_waits_for() -> None:
    waits = Reading("timer", "here", "copy[7]", "measured", "copy[7] sleeps", 0.9, None, 0.9)
    one = Limit("flow", "a>b", "tx", 1e9, 0.0, waits, (), None, (waits,), "eth0", 7, "copy")
    for width in (78, 118, 198):
        heads = text_of(limit.stages(lossy(), one, width)[0])
        assert "● copy" in heads
        assert "PROCESS" not in heads


def test_the_window_that_the_path_keeps_small_is_no_second_cause() -> None:
    path = Reading("path", "there", "path to b", "measured", "1% of the segments lost", 1.0)
    both = Limit("flow", "a>b", "tx", 1e9, 0.0, path, ("cwnd",), None, (path,), "eth0")
    assert words.limited(both) == "limited by the path"
    assert words.limited(replace(both, joint=("wire",))) == "limited by the path or the link"
