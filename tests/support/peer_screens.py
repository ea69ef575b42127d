"""The engine of the screen with `--peer`, as a program: the overview and the advisor as text."""

import subprocess
import sys
from typing import Final

from hang import HANG
from live.limits.stage import Stage

# the engine of the screen for some scenes, then the overview and the findings as text
_SCREEN: Final = """
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
while True:
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


def screens(stage: Stage, prefix: str, state: str = "joined") -> list[str]:
    """The overview at 80×24 and at 120×40, and the advisor."""
    done = subprocess.run(
        stage.inside(stage.here, sys.executable, "-c", _SCREEN, prefix, state),
        capture_output=True, text=True, check=False, timeout=HANG,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split("--- ")[1:]
