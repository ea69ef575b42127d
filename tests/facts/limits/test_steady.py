"""A verdict does not flap: at most one change a minute while the host stays as it is."""

import random
from itertools import pairwise

import pytest
from limit_frames import flow, history, moment

from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.steady import Steady


def stages(found: list[tuple[Limit, ...]]) -> list[str]:
    return [flow(one).stage.stage for one in found if one]


def changes(names: list[str]) -> int:
    return sum(a != b for a, b in pairwise(names))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2, 3))]
)
def test_a_writer_between_two_limits_changes_at_most_once_a_minute(seed: int) -> None:
    """The share of time in which the send buffer was full is around one half, at random."""
    noise = random.Random(seed)
    level = [noise.random() for _ in range(190)]

    def at(second: float) -> dict[str, object]:
        clock = sum(level[: int(second)])
        full = level[int(second)] > 0.5
        gauges = {"notsent": 0, "wmem_queued": 4_000_000 if full else 1000}
        tables = moment(second, gauges=gauges)
        row = tables["sockets_tcp"][0]
        return {**tables, "sockets_tcp": [row._replace(sndbuf_limited=int(1e6 * clock))]}

    names = stages(history(at, 180))[6:]  # type: ignore[arg-type]
    assert set(names) <= {"sndbuf", "application"}
    assert all(changes(names[i : i + 60]) <= 1 for i in range(len(names) - 60))


def test_a_limit_that_really_changes_is_told_within_some_seconds() -> None:
    def at(second: float) -> dict[str, object]:
        tables = moment(second)
        row = tables["sockets_tcp"][0]
        limited = int(1e6 * max(0.0, second - 20))
        return {**tables, "sockets_tcp": [row._replace(rwnd_limited=limited)]}

    names = stages(history(at, 40))  # type: ignore[arg-type]
    assert names[18] == "unknown"
    assert names[-1] == "peer"
    assert changes(names) == 1


def limit(stage: str, *joint: str) -> Limit:
    reading = Reading(stage, "here", stage, because="measured")
    return Limit("flow", "a>b", "tx", 1e9, stage=reading, joint=joint, ladder=(reading,))


def test_a_joint_limit_keeps_the_verdict() -> None:
    steady = Steady()
    seen = [
        steady.hold([limit(*pair)], second, 1000.0 + second)[0]
        for second, pair in enumerate([("qdisc",)] * 8 + [("thread", "qdisc")] * 60)
    ]
    assert {one.stage.stage for one in seen} == {"qdisc"}
    assert seen[-1].joint == ("thread",)
    assert {one.since for one in seen} == {1000.0}


def test_a_second_change_within_a_minute_takes_longer() -> None:
    steady = Steady()
    order = ["qdisc"] * 10 + ["thread"] * 12 + ["qdisc"] * 60
    seen = [steady.hold([limit(name)], at, at)[0].stage.stage for at, name in enumerate(order)]
    assert seen.index("thread") == 13
    assert seen.index("qdisc", 14) == 32


def between(old: float, *new: Reading) -> Limit:
    """A send buffer that was the limit, and the stages that now are, the first of them named."""
    kept = Reading("sndbuf", "here", held=old)
    joint = tuple(one.stage for one in new[1:])
    return Limit("flow", "a>b", "tx", 1e9, stage=new[0], joint=joint, ladder=(*new, kept))


def test_a_verdict_stays_while_its_stage_limits_nearly_as_much_as_the_new_one() -> None:
    both = between(0.5, path := Reading("path", "there", held=0.6))
    steady = Steady()
    steady.hold([limit("sndbuf")], 0, 0)
    seen = [steady.hold([both], at, at)[0] for at in range(6, 90)]
    assert {one.stage.stage for one in seen} == {"sndbuf"}
    assert {one.ladder[1:] for one in seen} == {(path,)}  # the held one first, each stage once


def test_a_verdict_goes_to_the_stronger_stage_though_several_take_turns_as_that() -> None:
    """Seen live: for over a minute the application with 40%, beside a socket with 70%."""
    others = [Reading(name, "here", held=0.7) for name in ("path", "thread")]
    steady = Steady()
    steady.hold([limit("sndbuf")], 0, 0)
    seen = [steady.hold([between(0.4, others[at // 2 % 2])], at, at)[0] for at in range(6, 60)]
    assert "sndbuf" not in {one.stage.stage for one in seen[4:]}


def test_a_stage_that_limits_as_well_is_told_until_another_one_has_lasted() -> None:
    first, path, qdisc = (Reading(name, "here", held=0.7) for name in ("thread", "path", "qdisc"))
    turns = [(path,)] * 9 + [(qdisc,), (path,), (), (qdisc,)] * 10 + [(qdisc,)] * 20
    steady = Steady()
    seen = [steady.hold([between(0.0, first, *others)], at, at)[0].joint
            for at, others in enumerate(turns)]  # fmt: skip
    assert set(seen[:49]) == {("path",)}
    assert seen[-1] == ("qdisc",)


def test_a_target_that_is_gone_is_forgotten() -> None:
    steady = Steady()
    steady.hold([limit("qdisc")], 0, 100)
    steady.hold([], 1, 101)
    assert steady.hold([limit("qdisc")], 2, 102)[0].since == 102


def test_the_verdict_of_the_same_limit_is_the_same_object() -> None:
    """Otherwise everything that is computed from it is computed again each second."""
    steady, same = Steady(), limit("core")
    (first,) = steady.hold([same], 1.0, 101.0)
    (again,) = steady.hold([same], 2.0, 102.0)
    assert again is first
    assert again.since == 101.0
    (other,) = steady.hold([limit("path")], 3.0, 103.0)
    assert (other.stage.stage, other.since) == ("path", 103.0)


def interface(stage: str, flow: str | None) -> Limit:
    reading = Reading(stage, "here", stage, because="measured")
    return Limit("nic", "eth0", "tx", 1e9, stage=reading, ladder=(reading,), flow=flow)


def test_a_held_verdict_of_an_interface_names_no_flow_that_it_does_not_follow() -> None:
    steady = Steady()
    (first,) = steady.hold([interface("core", None)], 0.0, 0.0)
    steady.hold([interface("core", None)], 60.0, 60.0)
    (held,) = steady.hold([interface("peer", "a>b")], 61.0, 61.0)
    assert (held.stage.stage, held.flow) == ("core", None) == (first.stage.stage, first.flow)


def test_an_interface_that_follows_flows_follows_another_at_once() -> None:
    steady = Steady()
    steady.hold([interface("peer", "a>b")], 0.0, 0.0)
    steady.hold([interface("peer", "a>b")], 60.0, 60.0)
    (other,) = steady.hold([interface("application", "c>d")], 61.0, 61.0)
    assert (other.stage.stage, other.flow) == ("application", "c>d")


def test_a_link_that_was_full_a_moment_ago_still_holds_what_waits_in_its_ring() -> None:
    def ring(load: float) -> Limit:
        link = Reading("wire", "here", "link", "computed", "", load, None, 0.0)
        full = Reading("tx-ring", "here", "ring", "measured", "", 1.0, None, 1.0)
        return Limit("flow", "a>b", "tx", 1e9, stage=full, ladder=(full, link))

    steady = Steady()
    for second in range(8):
        steady.hold([limit("wire")], second, 1000.0 + second)
    (kept,) = steady.hold([ring(0.94)], 8, 1008.0)
    assert (kept.stage.stage, kept.stage.held, kept.joint) == ("wire", 0.94, ("tx-ring",))
    assert kept.ladder[0] is kept.stage
    assert [one.stage for one in kept.ladder] == ["wire", "tx-ring"]
    (kept,) = steady.hold([ring(0.5)], 9, 1009.0)
    assert kept.stage.held == 0.0, "it is no longer near full"
