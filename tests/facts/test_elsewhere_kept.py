"""Sockets of other namespaces are joined again only after they were read, with equal answers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flow_tables import frames
from limit_frames import moment

from nettop.collect import namespaces, socket_owners
from nettop.facts import flows
from nettop.facts.joined import Joiner
from nettop.facts.kinds.core import Core, of_namespace
from nettop.frame.rates import Frame
from nettop.host.recording import Replay, load
from nettop.views.observer import Observer

POD = 4026532179


def _host(second: float, name: str = "web-7f") -> dict[str, Any]:
    """A pod with forty flows."""
    tables = moment(second)
    twins = [
        tables["sockets_tcp"][0]._replace(namespace=POD, cookie=n, inode=200 + n, remote_port=n)
        for n in range(1, 41)
    ]
    owned = [socket_owners.Row(201, 8, "nginx")]
    return {
        **tables, "netns_tcp": twins, "namespaces": [namespaces.Row(POD, name, 8, 3)],
        "socket_owners": [*tables["socket_owners"], *owned],
    }  # fmt: skip


def _rested(frame: Frame, at: float, more: dict[str, Any] | None = None) -> Frame:
    """A later frame in which tables but those in `more` were not read again."""
    return replace(frame, at=at, tables={**frame.tables, **(more or {})})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of sockets of other namespaces in each join."""
    found: list[int] = []
    whole = flows.Sockets.of

    def of(tcp: Any, *others: Any) -> flows.Sockets:
        if tcp and tcp[0].now.namespace:
            found.append(len(tcp))
        return whole(tcp, *others)

    monkeypatch.setattr(flows.Sockets, "of", of)
    return found


def test_a_new_name_or_owner_joins_them_again(calls: list[int]) -> None:
    first, second = frames(_host(0.0), _host(1.0))
    joiner = Joiner()
    joiner.build(first)
    joiner.build(second)
    renamed = frames(_host(0.0, "db"))[0].tables["namespaces"]
    facts = joiner.build(_rested(second, 3.0, {"namespaces": renamed}))
    assert {one.namespace for one in facts.flows} == {None, "db"}
    owners = [one for one in second.tables["socket_owners"] if one.now.inode != 201]
    facts = joiner.build(_rested(second, 4.0, {"namespaces": renamed, "socket_owners": owners}))
    assert {one.pid for one in facts.flows if one.namespace} == {None}
    assert len(calls) == 4


# The backlogs belong to the CPUs: a namespace is not told what others lost there.


HOSTS = Path(__file__).parents[1] / "hosts"


@pytest.mark.parametrize(("dropped", "left"), [(None, 0.0), (0.0, 0.0), (20.0, 20.0), (90.0, 50.0)])
def test_a_namespace_lost_no_more_than_its_interfaces(dropped: float | None, left: float) -> None:
    cores = (Core(0, backlog_drops=50.0), Core(1, backlog_drops=0.0), Core(2))
    assert [core.backlog_drops for core in of_namespace(cores, dropped)] == [left, 0.0, None]


@pytest.mark.parametrize(("host", "whole"), [("netns-send", False), ("guest-transfer", True)])
def test_full_backlogs_are_a_finding_of_the_host_only(host: str, whole: bool) -> None:
    source = Replay(load(str(HOSTS / f"{host}.host")))
    for number, one in enumerate(source.moments):
        for name, body in one.changed.items():
            if name == "/proc/net/softnet_stat" and body is not None:
                rows = [line.split() for line in body.decode().splitlines()]
                for row in rows:
                    row[1] = f"{1000 * number:08x}"
                one.changed[name] = "".join(f"{' '.join(row)}\n" for row in rows).encode()
    observer = Observer(source, window=2.0)
    seen = observer.step()
    while source.wait(1):
        seen = observer.step()
    rules = {finding.rule for finding in seen.judgement.findings}
    assert ("backlog-overflows" in rules) == whole
    steps = [one for limit in seen.facts.limits for one in (limit.stage, *limit.ladder)]
    assert any(one.stage == "backlog" for one in steps) <= whole
    assert seen.facts.host.container is not whole
