"""Cgroups that may have no more processes, with the ports of their programs."""

from types import SimpleNamespace
from typing import Any

from nettop.collect import process_limits
from nettop.facts.kinds import quota
from nettop.frame.rates import Entry, Frame


def test_a_limit_has_its_refusals_and_the_ports_of_its_programs() -> None:
    def row(refused: float) -> Any:
        return process_limits.Row("/box", 14, 14, refused, ("ftpd[7]",))  # type: ignore[arg-type]

    doors = [SimpleNamespace(port=21, process="ftpd", pid=7),
             SimpleNamespace(port=80, process="web", pid=8)]  # fmt: skip
    facts: Any = SimpleNamespace(more={"listener": doors})
    tables = {"process_limits": [Entry(row(9), row(2.5))]}
    (one,) = quota.task_limits(Frame(1.0, 1.0, tables), facts)
    assert (one.cgroup, one.refused, one.ports) == ("/box", 2.5, (21,))
