"""The type of value that a setting takes."""

from __future__ import annotations

import pytest

from nettop.advice.language.tunable import CPUS, type_of
from nettop.advice.language.vocabulary import ANY, NUMBER, SWITCH


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ("ring.rx@eth0", NUMBER), ("coalesce.adaptive-rx@eth0", SWITCH),
        ("rps.cpus@eth0/rx-0", CPUS),
        ("xps.cpus@eth0/tx-0", CPUS), ("xps.rxqs@eth0/tx-0", ANY), ("sysctl.cpus", ANY),
    ],
)  # fmt: skip
def test_the_type_follows_from_kind_and_name(setting: str, kind: object) -> None:
    assert type_of(setting) == kind
