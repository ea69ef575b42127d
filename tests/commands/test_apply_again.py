"""`nettop apply` of a finding about a connection that has ended since it was printed."""

import argparse
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scenes import RING

from nettop.commands import advise, apply, rules
from nettop.terms.errors import Refused

HOLE = "mtu-black-hole"
SERVICE = "tcp:[fd00:1::2]:8080-[fd00:2::2]"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"{HOLE}@{SERVICE}:56240", True),
        (f"{HOLE}@{SERVICE}:40001", True),  # is shown with the others of its program
        (f"{HOLE}@tcp:[fd00:1::2]:8081-[fd00:2::2]:56240", False),
        (f"{HOLE}@tcp:[fd00:1::2]:8080-[fd00:2::3]:56240", False),
        (f"{HOLE}@udp:[fd00:1::2]:8080-[fd00:2::2]:56240", False),
        (f"{HOLE}@eth7", False), (f"pacing@{SERVICE}:56240", False),
    ],
)  # fmt: skip
def test_another_connection_to_the_same_service_stands_for_one_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, name: str, *, found: bool
) -> None:
    target = f"{SERVICE}:50001"
    also = (f"{SERVICE}:50002",)
    one = replace(RING, id=f"{HOLE}@{target}", rule=HOLE, target=target, also=also)
    seen: Any = SimpleNamespace(judgement=SimpleNamespace(findings=[RING, one], silent=list))
    monkeypatch.setattr(advise, "observe", lambda *_: seen)
    monkeypatch.setattr(rules, "rule_named", lambda _: None)
    source: Any = None
    if found:
        assert apply.findings([name], source, argparse.Namespace()) == [one]
    else:
        with pytest.raises(Refused, match="no finding"):
            apply.findings([name], source, argparse.Namespace())
