"""Flows of other network namespaces in the pane of flows: named, and never of an interface here."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from nettop.facts.kinds.flow import Flow
from nettop.panes import flows

POD = Flow("tcp:10.0.0.1:80-10.0.0.2:99@web", "tcp", "10.0.0.1", 80, "10.0.0.2", 99, 5, 8, "nginx",
           tx_per_s=1e6, limit="thread", namespace="web")  # fmt: skip
HERE = replace(POD, id="tcp:10.0.0.1:80-10.0.0.2:99", namespace=None, nic="eth0", inode=6)


def facts(*some: Flow) -> Any:
    return SimpleNamespace(flows=some, host=SimpleNamespace(tcp_flows=1), limits=())


def test_those_of_other_namespaces_are_counted_beside_those_of_this_one() -> None:
    assert flows.counted(2, facts(HERE, POD)) == "2 of 2"
    assert flows.counted(1, facts(POD)) == "the busiest 1 of 2"


def test_a_filter_may_name_the_namespace() -> None:
    assert [flows.FILTERS["namespace"](one) for one in (HERE, POD)] == [None, "web"]
