"""`nettop --peer` between two namespaces: both ends on the overview, and a far end that dies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from live.limits.both import LIMITS
from live.limits.stage import Stage

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("nsenter") is None, reason="needs nsenter (util-linux)"),
]
# the engine of the screen for some scenes, then the overview and the findings as text
SCREEN = """
import argparse, sys, time
from nettop.host.source import Live
from nettop.panes import page
from nettop.terms.text import text_of
from nettop.tui import peering
from nettop.tui.engine import Engine
from nettop.views.build import merge
from nettop.views.scene import Scene
from nettop.views.view import View

scenes = [Scene()]
source = Live()
engine = Engine(source, lambda new: scenes.append(merge(scenes[-1], new)), 0.3, View())
options = argparse.Namespace(peer=sys.argv[1], host=None)
engine.peering = peering.of(
    options, source, lambda note: scenes.append(merge(scenes[-1], Scene(notes=(note,))))
)
engine.start()
until = time.monotonic() + 60
while time.monotonic() < until:
    scene = scenes[-1]
    if scene.facts and len(scenes) > 12 and (
        scene.notes if sys.argv[2] == "lost" else scene.peer.joined and scene.peer.findings
    ):
        break
    time.sleep(0.1)
engine.stop()
for width, height, pane in ((80, 24, "overview"), (120, 40, "overview"), (120, 40, "advisor")):
    print(f"--- {width} {pane}")
    rows = page.compose(scenes[-1], View(pane=pane), width, height, lambda *_: [])
    print("\\n".join(text_of(row).rstrip() for row in rows))
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def screens(stage: Stage, prefix: str, state: str = "joined") -> list[str]:
    """The overview at 80×24 and at 120×40, and the advisor."""
    done = subprocess.run(
        stage.inside(stage.here, sys.executable, "-c", SCREEN, prefix, state),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split("--- ")[1:]


def test_both_ends_are_on_the_screen_and_the_far_findings_name_their_host() -> None:
    with Stage("peer-screen") as stage:
        stage.sysctl(stage.there, "net.ipv4.tcp_sack", "0")
        LIMITS["tbf-20mbit"].case.make(stage)
        time.sleep(1)
        small, large, advisor = screens(stage, f"ip netns exec {stage.there}")
    for screen in (small, large):
        assert " ⇄ python[" in screen, screen
        assert "qdisc" in screen
        assert f"{stage.there[:24]}: " in screen
    assert f"at {stage.there}" in advisor or f"{stage.there}: " in advisor, advisor


@pytest.mark.parametrize("prefix", ["false", "/no/such/prefix"])
def test_a_far_end_that_cannot_be_read_is_a_sentence_beside_the_picture(prefix: str) -> None:
    with Stage("peer-lost") as stage:
        LIMITS["tbf-20mbit"].case.make(stage)
        small, _large, _advisor = screens(stage, prefix, "lost")
    assert "WHAT LIMITS eth0" in small
    assert "trying again" in small
