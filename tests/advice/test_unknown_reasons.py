"""Why a value is unknown, by the name of the field: one table for all kinds of names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nettop.advice.judge import reason
from nettop.advice.judge.inline_facts import facts
from nettop.advice.language.moment import Moment
from nettop.advice.language.result import Read


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("nic.ring.rx_max", "receive ring maximum unknown (not reported by the driver)"),
        ("nic.per_s.ring_drops", "(not counted by the driver, or first sample)"),
        ("feature.gro", "(not reported by the driver)"),
        ("sysctl.net.core.somaxconn", "(no such setting in this kernel, or not readable)"),
        ("host.memory", "unknown"),
        ("limits.most", "unknown"),
    ],
)
def test_an_unknown_value_has_its_reason(field: str, text: str) -> None:
    said = reason.unknowns([Read(field, None)], Moment(facts({}, "server", 0.0)))
    assert said.startswith("not evaluated: ")
    assert said.endswith(text)
    assert "None" not in said


def test_each_unknown_value_is_said_once() -> None:
    reads = [Read("host.memory", None), Read("sysctl.net.a", None), Read("host.memory", None)]
    said = reason.unknowns(reads, Moment(facts({}, "server", 0.0)))
    assert said.count("unknown") == 2
    assert said.count("; ") == 1


@pytest.mark.parametrize("field", ["feature.gro", "flow.rtt", "nic.ring.rx_max"])
def test_a_table_that_could_not_be_read_is_the_reason(field: str) -> None:
    unread = dict.fromkeys(reason._TABLES.values(), "no such tool")
    there = replace(facts({}, "server", 0.0), missing=unread)
    said = reason.unknowns([Read(field, None)], Moment(there))
    assert said.endswith(" unknown (no such tool)")
