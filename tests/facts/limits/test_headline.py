"""The limit in a log: one entry per change of the verdict, none for figures or for turns."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from flow_tables import Tables
from limit_frames import flow, limits, moment

from nettop.collect import qdiscs
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.ladder import Headline
from nettop.facts.limits.words import ended, line, together


def limit(
    target: str = "a>b", stage: str = "sndbuf", rate: float = 1e9, process: str = "iperf3"
) -> Limit:
    reading = Reading(stage, "here", capacity=(rate, 1.1 * rate))
    return Limit("flow", target, "tx", rate, stage=reading, pid=7, process=process)


def log(samples: Sequence[Sequence[Limit]]) -> list[str]:
    """What would be printed of one sample a second; an ended limit with the one before."""
    headline, out = Headline(), []
    for second, found in enumerate(samples):
        before = headline.limit
        if headline.changes(found, float(second)):
            if headline.limit is not None:
                out.append(line(headline.limit))
            else:
                assert before is not None
                out.append(ended(before))
    return out


def test_a_stage_that_lasts_is_a_change_and_one_that_does_not_is_none() -> None:
    old, new = limit(), limit(stage="cwnd")
    assert log([(old,)] * 5 + [(new,)] * 10) == [line(old), line(new)]
    assert log([(old,)] * 5 + [(new,)] * 2 + [(old,)] * 10) == [line(old)]


def test_a_limit_that_ends_is_reported_once() -> None:
    assert log([(limit(),)] * 5 + [()] * 10) == [
        line(limit()), "iperf3 is no longer limited by the send buffer",
    ]  # fmt: skip
    assert len(log([(limit(),)] * 5 + [()] * 10 + [(limit(),)] * 10)) == 3


def test_a_process_whose_name_is_known_later_is_no_change() -> None:
    assert len(log([(limit(process=""),)] * 2 + [(limit(),)] * 10)) == 1


def test_connections_of_one_process_that_come_and_go_are_one_entry() -> None:
    assert len(log([(limit(f"a>b:{second}"),) for second in range(60)])) == 1
    turns = [(limit(f"a>b:{at}", ("sndbuf", "cwnd", "rwnd")[at % 3]),) for at in range(60)]
    assert len(log(turns)) == 1


def test_a_flow_to_which_its_peer_sends_nothing_is_no_answer() -> None:
    assert log([(limit(stage="peer", rate=0.0),)] * 10) == []
    assert len(log([(limit(stage="peer", rate=1e6),)] * 10)) == 1
    assert len(log([(limit(stage="rwnd", rate=0.0),)] * 10)) == 1, "it has data that waits"


# Two limits that are as close as a tenth are both named.


def seen(rate: float, used: float, ran: float = 0.93) -> Limit:
    """The limit of a busy writer above a shaper that is used so much, its queue mostly empty."""

    def at(second: float) -> Tables:
        backlog = 90_000 if second % 3 == 0 else 0
        sent = int(rate / 8 * used * second)
        queue = qdiscs.Row("eth0", "root", "1:", "tbf", True, backlog, 9, sent, rate=rate)
        return moment(second, ran=ran, queue=queue)

    return flow(limits(at))


def test_a_shaper_that_a_busy_thread_fills_in_bursts_limits_as_well() -> None:
    found = seen(1.1e9, 0.92)
    assert (found.stage.stage, found.joint) == ("thread", ("qdisc",)), line(found)
    assert found.next is None or found.next.stage != "qdisc"


@pytest.mark.parametrize(
    ("rate", "used", "ran"),
    [(1.1e9, 0.88, 0.93), (1.1e9, 0.92, 0.86), (1.1e9, 0.92, 0.6)],
    ids=["it has room", "the thread carries more", "the thread has room"],
)
def test_what_is_not_joint(rate: float, used: float, ran: float) -> None:
    found = seen(rate, used, ran)
    assert "qdisc" not in found.joint, line(found)


def test_a_thread_that_carries_more_than_the_rate_limits_in_part() -> None:
    """It ran half of the time, and nothing else binds."""
    thread = Reading("thread", "here", "a[7]", "measured", "ran 64% of the time", 0.64,
                     (28.9e9, 38.3e9), held=0.3)  # fmt: skip
    found = Limit("flow", "a>b", "tx", 21.3e9, stage=thread, ladder=(thread,))
    assert line(found) == (
        "a>b sends 21.3 Gb/s, limited in part by CPU time of thread a[7] (28.9–38.3 Gb/s)"
    )
    full = replace(found, stage=replace(thread, held=0.97))
    assert "limited by CPU time" in line(full)
    assert "limited by CPU time" in line(replace(found, rate=30e9))


def test_flows_of_one_program_that_one_stage_limits_are_summed() -> None:
    first, *others = [limit("a>b", rate=4e9), limit("a>c", rate=3e9), limit("a>d", "cwnd", 1e9),
                      limit("a>e", rate=2e9, process="rsync")]  # fmt: skip
    assert together(first, [first, *others]) == "; 2 flows of iperf3 together 7 Gb/s"
    assert together(first, [first, *others[1:]]) == ""
