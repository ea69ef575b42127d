"""The backlogs belong to the CPUs: a namespace is not told what others lost there."""

from __future__ import annotations

from pathlib import Path

import pytest

from nettop.facts.kinds.core import Core, of_namespace
from nettop.host.recording import Replay, load
from nettop.views.observer import Observer

HOSTS = Path(__file__).parents[1] / "hosts"


@pytest.mark.parametrize(("dropped", "left"), [(None, 0.0), (0.0, 0.0), (20.0, 20.0), (90.0, 50.0)])
def test_a_namespace_lost_no_more_than_its_interfaces(dropped: float | None, left: float) -> None:
    cores = (Core(0, backlog_drops=50.0), Core(1, backlog_drops=0.0), Core(2))
    assert [core.backlog_drops for core in of_namespace(cores, dropped)] == [left, 0.0, None]


@pytest.mark.parametrize(("host", "whole"), [("netns-send", False), ("guest-transfer", True)])
def test_full_backlogs_are_a_finding_of_the_host_only(host: str, whole: bool) -> None:
    source = Replay(load(str(HOSTS / f"{host}.host")))
    for number, moment in enumerate(source.moments):
        for name, body in moment.changed.items():
            if name == "/proc/net/softnet_stat" and body is not None:
                rows = [line.split() for line in body.decode().splitlines()]
                for row in rows:
                    row[1] = f"{1000 * number:08x}"
                moment.changed[name] = "".join(f"{' '.join(row)}\n" for row in rows).encode()
    observer = Observer(source, window=2.0)
    seen = observer.step()
    while source.wait(1):
        seen = observer.step()
    rules = {finding.rule for finding in seen.judgement.findings}
    assert ("backlog-overflows" in rules) == whole
    steps = [one for limit in seen.facts.limits for one in (limit.stage, *limit.ladder)]
    assert any(one.stage == "backlog" for one in steps) <= whole
    assert seen.facts.host.container is not whole
