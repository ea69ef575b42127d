"""Flows of other network namespaces: named, joined with their process, never mixed up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flow_tables import Tables, frames, socket
from limit_frames import GAUGES, RECEIVES, SENDS, every, limits, moment

from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.collect import (
    namespaces,
    netns_links,
    netns_qdiscs,
    netns_udp,
    socket_owners,
    threads,
)  # fmt: skip
from nettop.commands import _target
from nettop.facts import elsewhere
from nettop.facts.limits import Limit, words

RULES = Path(__file__).parents[3] / "rules"
POD, OTHER = 4026532179, 4026532180


def pods(second: float, *spaces: int, ends: str = "10.0.0.1", more: Tables | None = None) -> Tables:
    """The flow of `moment`, and its twin in each of these namespaces."""
    tables = moment(second)
    twins = [
        tables["sockets_tcp"][0]._replace(
            namespace=space, inode=200 + place, cookie=1, local=ends, remote_port=40_001
        )
        for place, space in enumerate(spaces)
    ]
    owned = [socket_owners.Row(200 + place, 8 + place, "nginx") for place in range(len(spaces))]
    return {
        **tables,
        "namespaces": [namespaces.Row(POD, "web-7f", 8, 3), namespaces.Row(OTHER, "db", 9, 1)],
        "netns_tcp": twins,
        "socket_owners": [*tables["socket_owners"], *owned],
        "threads": [*tables["threads"], threads.Row(8, 8, 5, "nginx", "R", 0.97 * second, 0.0, 1)],
        **(more or {}),
    }


def flows(found: tuple[Limit, ...]) -> dict[str | None, Limit]:
    return {one.namespace: one for one in found if one.over == "flow"}


def test_a_flow_of_a_pod_has_its_namespace_process_and_thread() -> None:
    found = flows(limits(lambda s: pods(s, POD)))
    assert set(found) == {None, "web-7f"}
    limit = found["web-7f"]
    assert (limit.pid, limit.process, limit.stage.stage) == (8, "nginx", "thread")
    assert limit.nic is None
    assert words.line(limit).startswith("nginx in web-7f sends 1 Gb/s, limited by CPU time")
    assert found[None].pid == 7


def _reads(second: float, space: int, address: str, port: int) -> Tables:
    """A writer in the pod, and a reader of the same addresses in `space`."""
    tables = pods(second, POD, ends=address)
    write = tables["netns_tcp"][0]._replace(remote=address, local_port=port)
    counts = {name: int(rate * second) for name, rate in {**SENDS, **RECEIVES}.items()}
    read = socket(5, **{**GAUGES, **counts, "notsent": 0, "recv_q": 0, "rmem_alloc": 0,
                        "local": address, "remote": address, "local_port": write.remote_port,
                        "remote_port": write.local_port})._replace(
                            namespace=space, inode=300)  # fmt: skip
    return {**tables, "sockets_tcp": [], "netns_tcp": [write, read]}


def test_a_reader_in_another_namespace_takes_its_writers_verdict() -> None:
    found = flows(limits(lambda s: _reads(s, OTHER, "10.9.0.1", 5001)))
    assert found["db"].direction == "rx"
    assert (found["db"].stage.stage, found["db"].stage.end) == ("thread", "here")
    assert found["db"].stage == found["web-7f"].stage


def test_a_udp_socket_of_a_pod_that_drops() -> None:
    def at(second: float) -> Tables:
        lost = netns_udp.Row(POD, 400, "0.0.0.0", 53, 9000, int(100 * second))
        tables = pods(second, more={"netns_udp": [lost]})
        owners = [*tables["socket_owners"], socket_owners.Row(400, 12, "unbound")]
        return {**tables, "socket_owners": owners}

    limit = next(one for one in limits(at) if one.over == "socket")
    assert (limit.namespace, limit.pid, limit.stage.stage) == ("web-7f", 12, "application")
    assert limit.stage.because == "datagrams wait to be read in 100% of the samples"


def _queue(second: float, space: int, kind: str, **more: Any) -> netns_qdiscs.Row:
    plain: dict[str, Any] = {"parent": "root", "handle": "1:", "leaf": True}
    return netns_qdiscs.Row(
        space, "eth0", kind=kind, addresses=("10.0.0.1",), backlog=90_000,
        bytes=int(130_000_000 * second), **{**plain, **more},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("space", "rows", "limits_"),
    [
        (POD, ({"kind": "tbf", "rate": 1.05e9},), "tbf 1: of eth0"),
        (POD, ({"kind": "htb"},
               {"kind": "class", "rate": 1.05e9, "parent": "root", "handle": "1:10"}),
         "htb class 1:10 of eth0"),
        (POD, ({"kind": "fq", "flow_rate": 1.04e9},), "fq 1: of eth0"),
        (OTHER, ({"kind": "tbf", "rate": 1.05e9},), None),
    ],
)  # fmt: skip
def test_a_shaper_of_the_flows_own_namespace_limits_it(
    space: int, rows: tuple[dict[str, Any], ...], limits_: str | None
) -> None:
    def at(second: float) -> Tables:
        queues = [_queue(second, space, **row) for row in rows]
        slow = threads.Row(8, 8, 5, "nginx", "S", 0.1 * second, 0.0, 1)
        return {**pods(second, POD), "netns_qdiscs": queues, "threads": [slow]}

    stage = flows(limits(at))["web-7f"].stage
    assert (stage.name if stage.stage == "qdisc" else None) == limits_


def test_rules_do_not_judge_them() -> None:
    """The settings of a rule are those of this namespace."""
    alone, beside = every(pods)[-1], every(lambda s: pods(s, POD, OTHER))[-1]
    assert len(beside.flows) == len(alone.flows) + 2
    assert beside.here().flows == alone.flows
    rules = load([RULES])
    silent, loud = (Judge(rules, window=0.0).judge(facts) for facts in (alone, beside))
    targets = {one.target for one in loud.findings} | {one.target for one in loud.silent()}
    assert not [target for target in targets if "@" in str(target) or "web-7f" in str(target)]
    assert [one.id for one in loud.findings] == [one.id for one in silent.findings]


def test_who_is_not_judged_here_is_named_with_the_command_that_judges() -> None:
    rows = [namespaces.Row(POD, "web", 8, 3, mounted=True), namespaces.Row(OTHER, "db", 9, 1)]
    *_, frame = frames(
        *(pods(float(s), POD, POD, OTHER, more={"namespaces": rows}) for s in (0, 1))
    )
    facts = every(lambda s: pods(s, POD, POD, OTHER, more={"namespaces": rows}))[-1]
    assert elsewhere.limited(frame, facts) == [
        "not judged here: 2 flows of network namespace web: nettop --netns web advise",
        "not judged here: 1 flow of network namespace db",
    ]
    assert elsewhere.limited(frame, replace(facts, limits=())) == []


def device(second: float, **more: int) -> Tables:
    """The flow of a pod by its eth0, which moves 1 Gb/s; here is an eth0 too."""
    counts = {"tx_bytes": int(126e6 * second), "tx_packets": int(86_000 * second)}
    zero = dict.fromkeys(("rx_packets", "rx_bytes", "rx_errors", "tx_errors", "rx_dropped",
                          "tx_dropped"), 0)  # fmt: skip
    lost = {name: int(rate * second) for name, rate in more.items()}
    queue = netns_qdiscs.Row(POD, "eth0", "root", "1:", "pfifo", True, ("10.0.0.1",))
    return pods(second, POD, more={
        "netns_links": [netns_links.Row(POD, "eth0", 2, **{**zero, **counts, **lost})],
        "netns_qdiscs": [queue],
    })  # fmt: skip


def test_an_interface_of_a_pod_is_limited_as_its_flow_and_is_no_interface_of_this_host() -> None:
    facts = every(device)[-1]
    (found,) = [one for one in facts.limits if one.over == "nic" and one.namespace]
    assert (found.target, found.nic, found.device) == ("eth0@web-7f", None, "eth0")
    assert found.direction == "tx"
    assert found.rate == pytest.approx(8 * 126e6, rel=0.01)
    assert (found.stage.stage, found.pid) == ("thread", 8)
    assert words.line(found).startswith("eth0@web-7f sends 1.01 Gb/s, limited by CPU time")
    assert _target.chosen(facts, "eth0@web-7f") == [
        one for one in facts.limits if one.namespace == "web-7f"
    ]
    assert not [one for one in _target.chosen(facts, "eth0") if one.namespace]


def test_an_interface_of_a_pod_that_loses_packets_is_listed_however_little_it_moves() -> None:
    found = limits(lambda s: device(s, rx_dropped=40, tx_bytes=0))
    (one,) = [one for one in found if one.over == "nic" and one.namespace]
    assert one.direction == "rx"
    ring = next(step for step in one.ladder if step.stage == "ring")
    assert (ring.name, ring.because) == ("eth0@web-7f", "mean 40 packets/s dropped on receive")
    still = limits(lambda s: device(s, tx_bytes=0))
    assert not [one for one in still if one.over == "nic" and one.namespace]
