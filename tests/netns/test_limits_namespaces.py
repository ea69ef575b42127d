"""`nettop why` outside of a namespace finds the flows inside, live and recorded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from staged import Stage

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("nsenter") is None, reason="needs nsenter (util-linux)"),
]


def nettop(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nettop", *words],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def limit(*words: str) -> dict[str, Any]:
    """The only limit of a flow that `nettop why` reports."""
    done = nettop("why", *words, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = [one for one in json.loads(done.stdout)["limits"] if one["over"] == "flow"]
    assert isinstance(found, dict)
    return found


def test_a_flow_of_another_namespace_is_found_by_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with Stage("space") as stage:
        stage.reader()
        process = stage.writer("pace=6250000")
        stage.settle("10.94.0.2")
        found = limit(f"{process.pid}", "--seconds", "3")
        assert found["namespace"] == stage.here
        assert (found["limit"]["stage"], found["direction"]) == ("pacing", "tx")
        device = f"eth0@{stage.here}"
        of = json.loads(nettop("why", device, "--json", "--seconds", "4").stdout)["limits"]
        sends = {(one["over"], one["target"]): one for one in of if one["direction"] == "tx"}
        assert sends["nic", device]["limit"]["stage"] == "pacing"
        assert 45e6 < sends["nic", device]["rate"] < 56e6
        recording = str(tmp_path / "space.host")
        assert nettop("record", recording, "--seconds", "3").returncode == 0
        again = limit(f"{process.pid}", "--replay", recording)
        assert again["limit"]["stage"] == "pacing"
        assert again["namespace"].startswith("space")  # scrubbed
        inside = stage.why(stage.here, "10.94.0.2:7300")["limits"]
        assert [one["namespace"] for one in inside] == [None]
        shown = nettop("show", "flows", "--replay", recording, "--width", "200").stdout
        row, *_ = [line for line in shown.splitlines() if f"[{process.pid}]" in line]
        assert "pacing" in row
        assert f"@{again['namespace']}"[:6] in row
        advised = nettop("advise").stdout
        assert f"network namespace {stage.here}: nettop --netns {stage.here} advise" in advised


@pytest.mark.parametrize(
    ("commands", "name"),
    [
        (("qdisc add dev eth0 root handle 7: tbf rate 30mbit burst 64k latency 50ms",),
         "tbf 7: of eth0"),
        (("qdisc add dev eth0 root handle 1: htb default 10",
          "class add dev eth0 parent 1: classid 1:10 htb rate 30mbit"),
         "htb class 1:10 of eth0"),
    ],
)  # fmt: skip
def test_a_shaper_of_another_namespace_limits_its_flow(
    commands: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    with Stage("shaped") as stage:
        for words in commands:
            stage.tc(words)
        stage.reader()
        process = stage.writer()
        stage.settle("10.94.0.2")
        found = limit(f"{process.pid}", "--seconds", "5")
        assert (found["namespace"], found["limit"]["stage"]) == (stage.here, "qdisc")
        assert found["limit"]["name"] == name
        least, most = found["limit"]["capacity"]
        assert (least, most) == (27e6, 30e6)
