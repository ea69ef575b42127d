"""Samples by equal steps of time, and the events on their axis."""

from dataclasses import replace

import pytest
from scenes import RING, WALL, lately, lossy, storied

from nettop.facts.kinds.nic import Counters
from nettop.views.past import History
from nettop.views.scene import Ended, Scene
from nettop.views.timeline import LONGEST, events, timeline, trace


def past(*samples: tuple[float, float]) -> History:
    """A past in which eth0 receives these bytes/s at these times."""
    facts = lossy().facts
    assert facts is not None
    out = History()
    for at, rate in samples:
        nic = replace(facts.nics[1], per_s=Counters(rx_bytes=rate, tx_bytes=1.0, ring_drops=2.0))
        out = out.add(replace(facts, at=at, nics=(nic,)), WALL + at)
    return out


def test_only_whole_pairs_of_steps_are_given_so_that_every_second_sample_moves_the_graph() -> None:
    samples = [(at + 0.01, float(at)) for at in range(100, 112)]
    seen = [timeline(past(*samples[:count]), "eth0", 4).rx for count in (8, 9, 10)]
    assert seen == [(104, 105, 106, 107), (104, 105, 106, 107), (106, 107, 108, 109)]


def test_what_does_not_change_is_the_same_object() -> None:
    known = past(*((float(at), 5.0) for at in range(100, 110)))
    more = History((*known.fine, replace(known.fine[-1], at=110.0)))
    assert timeline(known, "eth0", 6) is timeline(known, "eth0", 6)
    assert timeline(more, "eth0", 6) is timeline(known, "eth0", 6)


def test_a_rate_stands_since_the_sample_before_it() -> None:
    assert timeline(past((100.0, 1.0), (103.0, 7.0)), "eth0", 4).rx == (1.0, 7.0, 7.0, 7.0)
    late = timeline(past((100.0, 1.0), (101.9, 2.0), (104.2, 7.0)), "eth0", 4)
    assert late.rx == (1.0, 2.0, 7.0, 7.0)


def test_a_long_gap_and_the_time_before_the_first_sample_are_not_known() -> None:
    end = 100.0 + LONGEST + 6
    drawn = timeline(past((100.0, 1.0), (end, 7.0)), "eth0", LONGEST + 9)
    assert drawn.rx[-1] == 7.0
    assert set(drawn.rx[3:-1]) == {None}
    assert drawn.rx[2] == 1.0
    assert drawn.rx[:2] == (None, None)


def test_of_two_samples_in_a_step_the_larger_rate_is_kept() -> None:
    known = past((99.0, 1.0), (100.01, 9.0), (100.97, 4.0), (102.0, 1.0))
    assert timeline(known, "eth0", 2).rx == (9.0, 1.0)


def test_the_first_samples_fill_the_graph_and_keep_their_times() -> None:
    known = past(*((at + 0.01, float(at)) for at in range(100, 110)))
    drawn = timeline(known, "eth0", 96)
    assert (drawn.step, drawn.end, len(drawn.rx)) == (0.125, 110.0, 96)
    assert drawn.rx[-80:] == tuple(float(at) for at in range(100, 110) for _ in range(8))
    assert set(drawn.rx[:-80]) == {None}
    fewer = timeline(History(known.fine[:-1]), "eth0", 96)
    assert (fewer.end, fewer.rx[-1]) == (109.0, 108.0)  # a step is a cell: each sample moves it
    odd = timeline(known, "eth0", 97)
    assert odd.rx == (None, *drawn.rx)


def test_a_graph_that_fills_up_changes_its_scale_in_few_steps() -> None:
    samples = [(at + 0.01, float(at)) for at in range(100, 200)]
    counts = (2, 6, 8, 12, 14, 16, 18, 24, 26, 32, 34, 48, 50, 96)
    steps = [timeline(past(*samples[:count]), "eth0", 96).step for count in counts]
    assert steps == [1 / each for each in (16, 16, 12, 8, 6, 6, 5, 4, 3, 3, 2, 2, 1, 1)]


def test_where_a_cell_has_parts_of_two_samples_the_graph_moves_by_pairs_of_them() -> None:
    samples = [(at + 0.01, float(at)) for at in range(100, 130)]
    ends = [timeline(past(*samples[:count]), "eth0", 96).end for count in (27, 28, 29, 30)]
    assert ends == [126.0, 128.0, 128.0, 130.0]


def test_losses_and_both_directions_share_the_axis() -> None:
    drawn = timeline(past((100.0, 1.0), (101.0, 2.0)), "eth0", 2)
    assert (drawn.rx, drawn.tx, drawn.lost) == ((1.0, 2.0), (1.0, 1.0), (2.0, 2.0))
    assert timeline(past((100.0, 1.0), (101.0, 2.0)), "eth9", 2).rx == (None, None)
    assert timeline(History(), "eth0", 2).rx == ()


@pytest.mark.parametrize("interval", [2.0, 5.0, 10.0])
def test_a_longer_interval_makes_longer_steps(interval: float) -> None:
    known = past(*((at * interval, float(at)) for at in range(20, 30)))
    drawn = timeline(known, "eth0", 6, interval)
    assert drawn.step == interval
    assert drawn.rx == (24, 25, 26, 27, 28, 29)


def test_events_are_what_began_ended_and_was_changed_in_the_time_shown() -> None:
    scene = storied()
    end = scene.past.fine[-1].at
    known = [(one.kind, one.text) for one in events(scene, end, 400.0)]
    assert ("change", "ring.rx@eth0") in known
    assert ("change", "sysctl.net.core.rmem_max") not in known  # eight minutes ago
    assert ("critical", RING.title) in known
    over = replace(scene, findings=(), ended=(Ended(RING, (), scene.wall - 40),))
    (ended,) = (one for one in events(over, end, 400.0) if one.kind == "ended")
    assert ended.ago == pytest.approx(39.0, abs=1.5)
    assert events(Scene(), 0.0, 400.0) == []


def test_a_finding_of_the_start_has_no_mark_because_it_may_be_older() -> None:
    scene = replace(lately(), findings=(replace(RING, held=419.0),))
    assert events(scene, scene.past.fine[-1].at, 500.0) == []


def test_a_trace_has_the_last_sample_of_each_step() -> None:
    scene = lately()
    assert scene.facts is not None
    values = trace(scene.past, scene.facts.flows[0].id, 4, 4.0)
    rates = {int(m.at // 4): m.flows[scene.facts.flows[0].id].rate for m in scene.past.fine}
    last = max(rates) - (1 - max(rates) % 2)
    assert values == [rates[last - 3], rates[last - 2], rates[last - 1], rates[last]]
    assert trace(History(), "x", 4, 4.0) == [None] * 4


def test_a_flow_has_no_rate_before_its_second_sample() -> None:
    scene = lately()
    assert scene.facts is not None
    first = replace(scene.facts.flows[0], rx_per_s=None, tx_per_s=None)
    sends = replace(scene.facts.flows[0], rx_per_s=None, tx_per_s=5.0)
    past = History().add(replace(scene.facts, at=1.0, flows=(first,)), WALL)
    past = past.add(replace(scene.facts, at=2.0, flows=(sends,)), WALL + 1)
    assert [moment.flows[first.id].rate for moment in past.fine] == [None, 5.0]
