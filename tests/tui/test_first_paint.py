"""What the screen loads before it paints for the first time, in modules."""

from __future__ import annotations

import json
import subprocess
import sys

PAINT = """
import asyncio, json, sys
import nettop.cli, nettop.commands.top
import nettop.tui.app, nettop.tui.actions, nettop.tui.engine, nettop.tui.peering
import nettop.views.build
from nettop.tui.screen import Nettop
from nettop.views.scene import Scene, View

async def paint():
    app = Nettop(View(), Scene())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.board.drawn

asyncio.run(paint())
print(json.dumps(sorted(name for name in sys.modules if name.startswith("nettop."))))
"""


def test_only_the_layout_is_loaded_before_the_first_paint() -> None:
    """Facts and rules have large classes; the engine loads them while the screen is on."""
    done = subprocess.run([sys.executable, "-c", PAINT], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    heavy = ("nettop.facts.kinds", "nettop.advice.language", "nettop.advice.judge",
             "nettop.facts.limits.looks", "nettop.host.distant", "nettop.collect.")  # fmt: skip
    early = [name for name in loaded if name.startswith(heavy)]
    assert [name for name in early if name != "nettop.collect._memory"] == []
    assert len(loaded) <= 165  # 153 when this was written
