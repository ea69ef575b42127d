"""Limits made on purpose between two namespaces: `nettop why` names the stage, three times each.

These are a few of the table in `staged_limits`; `make limits` plays all. Each limit is known by
construction, and seen from the end that writes and, where it is this end's, from the end that
reads. What the flow achieves is not asserted: other work runs on this machine. Cases that need free
CPUs (`quiet`) are played by `make limits` only.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from staged import Stage
from staged_case import right
from staged_limits import CASES, SHORT

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("nsenter") is None, reason="needs nsenter (util-linux)"),
]
LOOKS = 3
SETTLED = 2.0  # seconds in which buffers and windows grow


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.mark.parametrize("name", [name for name in SHORT if not CASES[name].quiet])
def test_a_staged_limit_is_named(name: str) -> None:
    case = CASES[name]
    with Stage(name) as stage:
        case.make(stage)
        time.sleep(SETTLED)
        for sending, expected in ((True, case.sends), (False, case.receives)):
            looks = stage.looks(LOOKS, case.target, sending=sending) if expected else []
            for look in looks:
                assert look is not None
                limit = look["limit"]
                assert right(expected, limit["stage"], limit["end"]), _lines(look)
                assert limit["because"]


def test_the_interface_says_what_its_flow_says() -> None:
    with Stage("nic") as stage:
        CASES["pace-50mbit"].make(stage)
        stage.settle("10.94.0.2")
        found = stage.why(stage.here, "eth0")["limits"]
    by_target = {(one["over"], one["direction"]): one for one in found}
    assert by_target["nic", "tx"]["limit"]["stage"] == "pacing"
    assert by_target["flow", "tx"]["limit"]["stage"] == "pacing"


def _lines(look: dict[str, Any]) -> str:
    steps = (f"{step['stage']} {step['utilisation']} {step['because']}" for step in look["ladder"])
    return "\n".join((f"{look['rate'] / 1e6:.1f} Mb/s", *steps))
