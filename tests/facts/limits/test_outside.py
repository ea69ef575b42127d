"""A shaper at this host's end of a veth pair limits what a pod receives."""

from types import SimpleNamespace
from typing import Any

import pytest
from flow_tables import HOST, Tables, link
from limit_frames import AWAY, RECEIVES
from pod_tables import counted, limit_of_pod, pod

from nettop.collect import qdiscs
from nettop.facts.kinds.program import Program
from nettop.facts.limits import Limit
from nettop.facts.limits.stages import cpu as cpus
from nettop.facts.limits.stages.tun import readings
from nettop.facts.limits.words import line


def seen(
    *, peer: int | None = 9, sends: bool = False, kind: str = "veth", moved: float = 130e6,
    used: float = 1.0,
) -> Limit:  # fmt: skip
    """The limit of a pod that receives 1 Gb/s by eth0, behind a shaper of 1.04 Gb/s of veth9."""

    def at(second: float) -> Tables:
        shaped, backlog = int(130e6 * used * second), 90_000 * int(used)
        more: Tables = {
            "links": [*HOST["links"], link("veth9", 9, kind=kind, link_netns=0)],
            "link_stats": [counted("veth9", second, tx=moved)],
            "qdiscs": [
                qdiscs.Row("veth9", "root", "1:", "tbf", True, backlog, 9, shaped, rate=1.04e9)
            ],
        }
        flow = {} if sends else {"rates": RECEIVES, "gauges": AWAY}
        return pod(second, more, peer=peer, moved={"rx_bytes": 126e6}, **flow)

    return limit_of_pod(at)


def test_the_shaper_outside_of_the_pod() -> None:
    found = seen()
    assert (found.direction, found.stage.stage, found.stage.end) == ("rx", "qdisc", "here")
    assert found.stage.name == "tbf 1: of veth9", line(found)


@pytest.mark.parametrize(
    "more",
    [{"peer": None}, {"peer": 2}, {"kind": "vlan"}, {"moved": 60e6}, {"used": 0.5}],
    ids=["not known", "another interface", "no veth", "moves less", "has room"],
)
def test_what_does_not_limit_the_pod(more: dict[str, Any]) -> None:
    assert seen(**more).stage.stage == "peer", line(seen(**more))


def test_what_the_pod_sends_does_not_pass_it() -> None:
    found = seen(sends=True)
    assert all(one.stage != "qdisc" for one in found.ladder), line(found)


# The program behind a TUN interface is named where its queue is full.


VPN = Program(7, "vpnd", nic="tun0")


def look(dropped: float, taken: float = 0.0, driver: str = "tun", *programs: Program) -> Any:
    rates = {"tx_dropped": dropped, "tx_packets": taken}
    return SimpleNamespace(
        over="nic", sends=True, nic=SimpleNamespace(name="tun0", driver=driver), device=None,
        counted=rates.get, facts=SimpleNamespace(more={"program": programs}),
    )  # fmt: skip


def test_a_reader_that_takes_nothing_limits() -> None:
    (found,) = readings(look(900.0, 0.0, "tun", VPN))
    assert (found.stage, found.name, found.held) == ("application", "vpnd[7]", 1.0)
    assert found.because == (
        "its queue is full: 900 packets/s are dropped, and 0 packets/s are taken"
    )


@pytest.mark.parametrize(("dropped", "driver"), [(0.0, "tun"), (900.0, "veth")])
def test_others_are_not_told_so(dropped: float, driver: str) -> None:
    assert list(readings(look(dropped, 5.0, driver))) == []


def test_a_burst_that_finds_it_full_does_not_limit() -> None:
    (found,) = readings(look(10.0, 990.0))
    assert (found.name, found.held) == ("program behind it", 0.01)


@pytest.mark.parametrize(("spent", "told"), [(0.5, True), (0.2, False)])
def test_a_program_without_time_that_takes_the_packets_of_a_flow_limits_it(
    monkeypatch: pytest.MonkeyPatch, spent: float, told: bool
) -> None:
    """The queue of a TUN interface is on this host, before that program."""
    busy = cpus.Thread("vpnd[7]", spent, 0.45, 0.0, 0.0, None, None, 0, tid=7)
    monkeypatch.setattr(cpus, "threads", lambda *_: [busy])
    one = look(0.0, 5.0, "tun", VPN)
    one.over, one.rate = "flow", 1e6
    found = [(each.stage, each.name) for each in readings(one)]
    assert found == ([("thread", "vpnd[7]")] if told else [])
