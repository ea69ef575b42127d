"""The clinic's wards of namespaces: mis-tuned and healthy hosts under real traffic, in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from clinic import ward
from clinic.scenario import Scenario, scenarios

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
]


def takes_cores(scenario: Scenario) -> bool:
    """Whether its load, or how soon it fails, depends on the cores; others have their own rate."""
    shaped = any("tbf rate" in command for command in scenario.words("break"))
    return any(
        ("iperf3 -c" in load and " -b " not in load and not shaped)
        or {"asks", "out-of-files"} & {*load.split()}
        for load in scenario.words("load")
    )


PATIENTS = [
    pytest.param(one, id=one.name, marks=[pytest.mark.alone] if takes_cores(one) else [])
    for one in (*scenarios("netns"), *scenarios("netns-more"), *scenarios("netns-odd"))
    if one.ward == "netns" or one.told.get("quick")
]


@pytest.mark.parametrize("scenario", PATIENTS)
def test_a_patient_is_diagnosed_rightly(scenario: Scenario) -> None:
    outcome = ward.run(scenario)
    assert outcome.right, (outcome.verdict, outcome.seen, outcome.alarms)


def test_a_patient_becomes_a_recorded_host(tmp_path: Path) -> None:
    record = [sys.executable, str(Path(ward.__file__).with_name("record.py"))]
    subprocess.run([*record, "timestamps off", "made", "--out", str(tmp_path)], check=True)
    words = ["-m", "nettop", "advise", "--replay", str(tmp_path / "made.host"), "--json"]
    said = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert json.loads(said.stdout)["findings"][0]["id"] == "timestamps-off@host"
