"""The band that says what limits: the words that decide come first and are never cut."""

from dataclasses import replace

import pytest
from pane_text import words
from recorded_hosts import HERE, last
from scenes import FAR, RING, lossy
from scenes.limits import LOSSY, SENDERS, WIRE

from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.config import rules_folder
from nettop.facts import contended
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.ladder import labelled
from nettop.facts.limits.stages import declared
from nettop.facts.means import Means
from nettop.panes import flowlist, limit, overview, overviewrows, page
from nettop.panes.corelist import core_cells
from nettop.panes.parts import altered, load_role
from nettop.panes.related import related
from nettop.terms.text import cells, line, text_of
from nettop.views.past import History
from nettop.views.scene import Scene, Step
from nettop.views.stages import bars, foremost, places, taker
from nettop.views.view import View

(RX, TX, _) = LOSSY
KEYS = "a apply: the link may drop for seconds  p prove"

KEYS = "a apply: the link may drop for seconds  p prove"


def test_every_stage_has_a_bar_on_a_way_and_a_precedence_of_its_own() -> None:
    stages = declared().values()
    bars = [one for direction in ("rx", "tx") for place in places(direction) for one in place]
    assert set(bars) == set(stages)
    assert len({one.precedence for one in stages}) == len(stages)
    for direction in ("rx", "tx"):
        way = [one.place(direction) for one in stages if one.place(direction)]
        assert len(set(way)) == len(way)


@pytest.mark.parametrize("width", [58, 78, 118, 198])
def test_the_limit_the_fix_and_the_next_limit_are_never_cut(width: int) -> None:
    told = [text_of(row) for row in limit.lines(lossy(), RX, RING, width)]
    assert told[0].startswith(" ✗ Limited by the receive ring: no receive descriptor")
    assert told[1].startswith("   ring.rx 256 → 512 ")
    assert told[1].rstrip().endswith("next: core 6, ≤ 660 Mb/s")
    assert "✗ RING" in told[2]
    assert "100%" in told[3]
    assert "-1,204/s" in told[4]
    assert {cells(row) for row in told} == {width}


def test_the_command_is_whole_or_absent() -> None:
    for width in range(50, 130):
        told = text_of(limit.lines(lossy(), RX, RING, width)[1])
        assert ("# ethtool -G eth0 rx 512 " in told) == ("#" in told), width


@pytest.mark.parametrize("width", [58, 78, 118])
def test_the_value_to_set_is_not_cut(width: int) -> None:
    step = Step("sysctl.net.ipv4.tcp_wmem", "4096 16384 65536", "4096 16384 4194304")
    scene = replace(lossy(), plans={RING.id: (step,)})
    told = text_of(limit.lines(scene, RX, RING, width)[1])
    whole = "sysctl.net.ipv4.tcp_wmem 4096 16384 65536 → 4096 16384 4194304"
    short = "net.ipv4.tcp_wmem … 65536 → … 4194304"
    assert (whole if width > 100 else short) in told
    assert "sysctl" in told or width < 100


def test_a_change_of_several_objects_says_at_which_and_how_many() -> None:
    steps = tuple(Step(f"irq.affinity@eth0/rx-{n}", "0-15", f"{n}", f"echo {n}") for n in range(4))
    scene = replace(lossy(), plans={RING.id: steps})
    told = [text_of(limit.remedy(scene, RX, RING, width)) for width in (118, 68)]
    assert "irq.affinity, each its own: rx-0 → 0, rx-1 → 1, rx-2 → 2, rx-3 → 3 " in told[0]
    assert "irq.affinity rx-0 → 0, … 4 changes " in told[1]
    assert "#" not in "".join(told)
    alike = tuple(replace(one, after="2-3") for one in steps)
    assert altered(alike[:2], 100) == "irq.affinity rx-0, rx-1 → 2-3"
    mixed = (steps[0], Step("ring.rx@eth0", "256", "512"))
    assert altered(mixed, 100) == "irq.affinity rx-0: 0-15 → 0, 1 of 2 changes"
    assert altered(steps[1:2], 100) == "irq.affinity rx-1: 0-15 → 1"


def test_where_no_setting_helps_that_is_said() -> None:
    busy = replace(TX, rate=3e8)
    told = words(limit.lines(lossy(), busy, None, 118))
    assert "● Limited by the application" in told
    assert "nothing to fix" in told


def test_nothing_to_fix_is_not_said_above_a_finding_that_has_a_fix_for_the_flow() -> None:
    """Seen live: its thread waited for a CPU 45% of the time, a finding below."""
    waits = replace(RING, id="cpu@5", target="5/6", title="Thread waits for a CPU", about=("a[5]",))
    scene = replace(lossy(), findings=(RING, waits))
    told = words(limit.lines(scene, busy := replace(TX, pid=5), related(scene, busy), 118))
    assert "nothing to fix" not in told
    assert "Thread waits for a CPU" in told
    assert related(replace(scene, findings=(RING,)), busy) is None  # of the interface


def test_what_to_do_is_told_once() -> None:
    because = "no stage holds data: look at the other end, or for longer"
    stage = Reading("unknown", "there", "not visible from this end", "inferred", because)
    told = words(limit.lines(lossy(), replace(TX, stage=stage, rate=3e8), None, 198))
    assert told.count("look at the other end, or for longer") == 1
    both = replace(stage, because="no stage of either host holds data: look for longer")
    told = words(limit.lines(lossy(), replace(TX, stage=both, rate=3e8), None, 198))
    assert told.count("look") == 1


def test_a_program_that_loses_datagrams_is_at_fault_and_has_its_fix() -> None:
    late = Reading("application", "here", "voip[3391]", "measured", "datagrams wait", 1.0)
    one = Limit("socket", "192.0.2.1:53", "rx", None, 0.0, late, (), None, (late,), None, 3391)
    assert "✗ Limited by the application voip[3391]" in text_of(limit.verdict(one, 118)[0])
    assert related(lossy(), one) is FAR
    assert "reads too slowly" in text_of(limit.remedy(lossy(), one, None, 118))


def test_the_flow_of_an_interface_is_not_part_of_the_sentence() -> None:
    stage = replace(SENDERS, because="its flow [::1]:5201>[::1]:9: its window was full")
    told = text_of(limit.verdict(replace(RX, stage=stage), 118)[0])
    assert told.rstrip() == " ● Limited by the peer: its window was full"


def test_advice_and_the_next_limit_fit_80_columns() -> None:
    later = Reading("rcvbuf", "here", "b", "computed", "", 0.1, (1e9, 941.5e9))
    for stage in declared():
        one = replace(TX, stage=Reading(stage, "there", "x", "reported", "y"), next=later)
        told = text_of(limit.remedy(lossy(), one, None, 80))
        assert "…" not in told, stage
        assert told.rstrip().endswith("next: the receive buffer, ≤ 941.5 Gb/s")


def test_a_program_crowds_a_core_only_if_it_uses_some_of_it() -> None:
    scene = lossy()
    facts = scene.facts
    assert facts is not None
    own = facts.processes[0]
    stage = replace(RX.stage, stage="thread", because="waited for its core")
    one = replace(RX, stage=stage, pid=own.pid)
    for taken, said in ((0.4, limit.CROWDED), (30.0, f"(30% of core {own.cpu}): both run there")):
        means = Means(taken={own.cpu or 0: {f"{own.name}[{own.pid}]": 60.0, "sshd[7]": taken}})
        both = replace(facts, means=means)
        assert said in text_of(limit.remedy(replace(scene, facts=both), one, None, 118))


def test_a_full_core_is_taken_by_the_first_process_that_the_list_of_cores_has() -> None:
    scene = lossy()
    facts = scene.facts
    assert facts is not None
    own = replace(facts.processes[0], cpu=0, allowed=(), pinned=False)
    name = f"{own.name}[{own.pid}]"
    taken = {0: {name: 90.0, "python[71]": 53.0}, 1: {"gzip[72]": 57.0}}
    cores = tuple(replace(one, idle=0.0, iowait=0.0, user=96.0, processes=tuple(names))
                  for one, names in zip(facts.cores, taken.values(), strict=False))  # fmt: skip
    facts = replace(facts, cores=cores, processes=(own,), host=replace(facts.host, idle=0.0),
                    means=Means(taken=taken))  # fmt: skip
    stage = replace(RX.stage, stage="thread", because="waited for its core")
    one = replace(RX, stage=stage, pid=own.pid)
    beside = contended.words(facts, own.pid)
    assert beside == "beside it run python[71] (26% of 2 cores), gzip[72] (28%)"
    full_scene = replace(scene, facts=facts, past=History())
    told = text_of(limit.remedy(full_scene, one, None, 118))
    assert "stop or limit gzip[72] (28% of 2 cores): both cores are full" in told
    assert full_scene.mean is not None
    assert [taker(core) for core in full_scene.mean.cores] == [name, "gzip[72]"]
    names, _, figures = map(text_of, limit.stages(full_scene, one, 198))
    assert "CORE 0" in names
    assert "by python[71]" in figures  # the thread does not wait for itself


@pytest.mark.parametrize("width", [76, 118, 198])
def test_where_segments_are_lost_the_other_end_is_named_at_every_width(width: int) -> None:
    name = "a-policer-at-the-far-end-drops-segments"
    facts = last(HERE / f"live/recordings/{name}.host.gz").facts
    one = next(one for one in facts.limits if one.over == "nic" and one.stage.stage == "path")
    told = words(limit.verdict(one, width, more=overview.MORE))
    assert "lost on the path or at 10.94.0.2" in " ".join(told.split())


@pytest.mark.parametrize(("idle", "told"), [
    (0.0, "stop or limit gcc[7] (29% of 2 cores): both cores are full"),
    (60.0, "move it or sshd[8] (30% of core 0): both run there"),
])  # fmt: skip
def test_a_move_is_proposed_only_where_another_core_has_time(idle: float, told: str) -> None:
    scene = lossy()
    facts = scene.facts
    assert facts is not None
    own = replace(facts.processes[0], cpu=0, user=20.0, system=5.0)
    taken = {0: {"sshd[8]": 30.0, f"{own.name}[{own.pid}]": 25.0}, 1: {"gcc[7]": 58.0}}
    cores = tuple(replace(facts.cores[0], cpu=cpu, idle=cpu * idle, iowait=0.0) for cpu in (0, 1))
    known = replace(facts, processes=(own,), cores=cores, means=Means(taken=taken))
    stage = replace(RX.stage, stage="thread", because="waited for its core")
    one = replace(RX, stage=stage, pid=own.pid)
    assert told in text_of(limit.remedy(replace(scene, facts=known), one, None, 118))
    spent = Reading("core", "here", "the CPU", "inferred", "cores 0-1 are full")
    told = told if idle == 0 else "spread the interrupts (key 2)"
    of_others = replace(RX, stage=spent)
    assert told in text_of(limit.remedy(replace(scene, facts=known), of_others, None, 118))


def test_a_full_core_that_does_not_limit_has_the_colour_of_its_kind_and_is_no_alarm() -> None:
    scene = lossy()
    assert scene.facts is not None
    cores = tuple(replace(one, idle=0.0, iowait=0.0, user=99.0) for one in scene.facts.cores)
    facts = replace(scene.facts, cores=cores, host=replace(scene.facts.host, idle=0.0))
    full = replace(scene, facts=facts, past=History())
    names, bars, _ = limit.stages(full, RX, 198)
    at, seen = text_of(names).index("CORE"), 0
    for text, role in bars:
        if seen <= at < seen + len(text):
            assert role == load_role(cores[6]) == core_cells(cores[6])[2][-1][1] == "user"
        seen += len(text)


@pytest.mark.parametrize(("width", "told"), [(198, "by gcc[77]"), (58, "by gcc")])
def test_what_takes_a_full_core_stands_at_its_stage(width: int, told: str) -> None:
    scene = lossy()
    assert scene.facts is not None
    cores = tuple(replace(one, idle=0.0, iowait=0.0, user=99.0, processes=("gcc[77]",))
                  for one in scene.facts.cores)  # fmt: skip
    host = replace(scene.facts.host, idle=0.0)
    full = replace(scene, facts=replace(scene.facts, cores=cores, host=host), past=History())
    rows = [text_of(row) for row in limit.stages(full, RX, width)]
    assert "CORE 6" in rows[0]
    assert told in rows[2]


OF_THE_LIMIT = {  # of recorded hosts: others are listed first, or are about the thread or the host
    "loss-router-queue": "segments-arrive-with-gaps",
    "one-stream-as-fast-as-it-goes": "thread-waits-for-cpu",
    "a-receive-limit-of-128-kib-over-30-ms-ipv6": "receive-cap-below-bdp",
    "a-policer-at-the-far-end-drops-segments": "losses-on-the-path",
}


@pytest.mark.parametrize(("host", "rule"), OF_THE_LIMIT.items())
def test_the_finding_under_the_cursor_is_that_of_the_headline(host: str, rule: str) -> None:
    seen = last(HERE / f"live/recordings/{host}.host.gz")
    scene = Scene(facts=seen.facts, frame=seen.frame, findings=seen.judgement.findings)
    found = foremost(scene, View())
    assert found is not None
    named = related(scene, found)
    assert named is not None
    assert named.rule == rule
    assert overviewrows.start(scene, View()) == named.id


@pytest.mark.parametrize("by", ["python[7] (36% of 2 cores), iperf3[8] (20%)", "interrupts"])
def test_a_limit_of_forwarded_packets_by_the_cpu_has_a_finding_and_its_key(by: str) -> None:
    scene = lossy()
    assert scene.facts is not None
    stage = Reading("core", "here", "the CPU", "inferred", "cores 0-1 are full", 1.0, how=by)
    of_others = replace(RX, nic="eth1", target="eth1", stage=stage)
    facts = labelled(replace(scene.facts, limits=(of_others,)))
    rules = [rule for rule in load([rules_folder()]) if rule.id == "forwarding-waits-for-cpu"]
    (found,) = Judge(rules, window=0.0).judge(facts).findings
    known = replace(scene, facts=facts, findings=(found,))
    assert related(known, of_others) is found
    told = words(page.compose(known, View(nic="eth1"), 120, 40))
    assert found.title in told
    assert "Enter why" in told


def test_a_finding_is_related_if_it_is_about_the_interface_process_or_flow() -> None:
    scene = lossy()
    assert related(scene, RX) is RING
    lost = replace(FAR, id="losses@1", severity="info", relieves=("path",))
    path = replace(RX, stage=Reading("path", "there", "path", "measured", "1% lost"))
    known = replace(scene, findings=(RING, FAR, lost))
    assert related(known, path) is lost  # the headline rests on it, not on the first one
    assert related(known, replace(path, joint=("ring",))) is lost
    assert related(scene, path) is None
    assert related(replace(scene, findings=(FAR,)), RX) is FAR  # of the process
    assert related(scene, replace(RX, nic="eth1", target="eth1", pid=1)) is None
    assert related(scene, replace(RX, stage=WIRE)) is None  # a full link needs no cure
    flow = Limit("flow", "192.0.2.1:9>192.0.2.2:5", "tx", 1e9, 0.0, RX.stage, nic="eth7", pid=5)
    about = replace(RING, target="tcp:192.0.2.1:9-192.0.2.2:5")
    assert related(replace(scene, findings=(about,)), flow) is about


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_a_measurement_without_room_goes_on_in_the_next_line(width: int, height: int) -> None:
    scene = lossy()
    assert scene.facts is not None
    why = "voip[3] waits 95% of the time in preadv2() of /srv/file (ext4, past the page cache)"
    one = replace(
        RX,
        stage=replace(RX.stage, because=f"{why}, and the device is busy for all of it", cause=""),
    )
    limits = tuple(one if known is RX else known for known in scene.facts.limits)
    shown = replace(scene, facts=replace(scene.facts, limits=(one, *limits)))
    rows = [text_of(row).strip("│ ") for row in page.compose(shown, View(), width, height)]
    told = " ".join(" ".join(row.replace(KEYS, "").split()) for row in rows[2:5])
    assert why in told
    low = [text_of(row) for row in page.compose(shown, View(), width, 15)]
    assert not any("page cache" in row for row in low)


@pytest.mark.parametrize("width", [80, 98, 118])
def test_the_keys_stand_where_the_sentence_ends(width: int) -> None:
    why = "mean 199.9 Mb/s, 100% of 200 Mb/s configured; packets wait in 100% of the samples"
    one = replace(RX, stage=replace(RX.stage, because=why))
    rows = limit.verdict(one, width, line(("Enter why ", "key")), more=2)
    *others, last = (text_of(row) for row in rows)
    assert "samples" in last
    assert last.endswith("Enter why ")
    assert not any("Enter" in row for row in others)


def test_the_unit_of_what_a_stage_can_carry_is_not_cut() -> None:
    every = tuple(replace(WIRE, stage=name, capacity=(1e6, 12.4e6)) for name in
                  ("wire", "ring", "core", "rcvbuf", "thread"))  # fmt: skip
    scene = lossy()
    assert scene.facts is not None
    bare = replace(scene, facts=replace(scene.facts, paths=()))
    told = text_of(limit.stages(bare, replace(RX, ladder=(RX.stage, *every)), 79)[2])
    assert told.count("≤12.4 Mb/s") >= 2
    assert "…" not in told


def test_few_columns_keep_the_stage_that_limits_and_those_that_lose() -> None:
    told = limit.stages(lossy(), RX, 34)
    assert "✗ RING" in text_of(told[0])
    assert "-1,204/s" in text_of(told[2])


def test_a_stage_without_a_share_says_whether_it_lost_or_limits() -> None:
    told = text_of(limit.stages(lossy(), RX, 118)[1])
    assert "✓ 0 drops" in told  # the backlog counts its drops
    assert "·····" in told  # of the peer nothing is known
    silent = replace(RX, stage=SENDERS, ladder=(SENDERS,))
    assert text_of(limit.stages(lossy(), silent, 118)[1]).startswith(" limits")


def test_a_bar_is_as_long_as_its_share() -> None:
    def filled(share: float) -> int:
        wire = Reading("wire", "here", "link", "computed", "", share)
        row = limit.stages(lossy(), replace(RX, ladder=(RX.stage, wire)), 118)[1]
        return text_of(row)[16:32].count("█")

    assert [filled(share) for share in (0.0, 0.5, 1.0)] == [0, 4, 9]


def test_a_full_link_is_not_painted_as_a_fault() -> None:
    def roles(direction: Limit) -> list[str]:
        row = limit.stages(lossy(), direction, 118)[1]
        return [role for text, role in row if "█" in text]

    full = replace(WIRE, utilisation=1.0)
    other = replace(full, stage="slot")
    core = "softirq"  # core 6 is full
    assert roles(replace(TX, stage=SENDERS, ladder=(SENDERS, full))) == [core, "accent"]
    assert roles(replace(TX, stage=other, ladder=(other,))) == [core, "warn"]


def test_a_joint_limit_at_this_end_is_looked_at_too() -> None:
    peer = Reading("peer", "there", "peer", "inferred", "the senders send no more", held=0.6)
    full = Reading("backlog", "here", "backlog", "reported", "483 packets/s dropped", held=0.6)
    joint = replace(RX, stage=peer, joint=("backlog",), ladder=(peer, full))
    told = words(limit.lines(lossy(), joint, None, 118))
    assert "Limited by the peer or the backlog" in told
    assert "look at the other end, and here: raise net.core.netdev_max_backlog" in told
    assert "not this host" not in told
    alone = replace(joint, joint=(), ladder=(peer,))
    assert "not this host" in words(limit.lines(lossy(), alone, None, 118))


@pytest.mark.parametrize("width", range(40, 130, 3))
def test_what_to_do_is_whole_at_every_width(width: int) -> None:
    spent = Reading("core", "here", "the CPU", "inferred", "cores 0-1 are full")
    one, scene = (
        replace(RX, stage=spent, next=Reading("wire", "here", "eth0", capacity=(9e8, 9e8))),
        lossy(),
    )
    assert scene.facts is not None
    cores = tuple(replace(core, idle=0.0, iowait=0.0) for core in scene.facts.cores)
    means = Means(taken={0: {"compiler[17061]": 62.0}})
    facts = replace(scene.facts, cores=cores, means=means)
    told = text_of(limit.remedy(replace(scene, facts=facts), one, None, width))
    assert "stop or limit compiler" in told
    assert "…" not in told
    assert ("(7.8% of 8 cores)" in told) == (width > 70)


def test_datagrams_that_a_socket_loses_are_lost_at_the_socket_and_no_column_is_empty() -> None:
    seen = last(HERE / "live/recordings/a-server-too-slow-for-its-datagrams.host.gz")
    (of_socket,) = (one for one in seen.facts.limits if one.over == "socket")
    lost = {one.stage: one.lost for one in bars(seen.facts, of_socket)}
    assert lost["rcvbuf"] == sum(one.drops_per_s or 0.0 for one in seen.facts.flows) > 0
    scene = Scene(seen.facts, seen.frame)
    (head, *rows) = map(text_of, flowlist.lines(scene, flowlist.busiest(scene), 120, 9))
    assert rows
    for title in ("LAST", "WHY", "LIMITED", "RATE"):
        assert title not in head
