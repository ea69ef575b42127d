"""What the screen loads before it paints for the first time, in modules."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

PAINT = """
import argparse, asyncio, json, sys
import nettop.cli
from nettop import commands
from nettop.host.source import Live

async def paint(app):
    app.engine = app.actions = None
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.board.drawn
        print(json.dumps(sorted(name for name in sys.modules if name.startswith("nettop."))))

parser = argparse.ArgumentParser()
commands.command("top").arguments(parser)
from nettop.tui.app import environment, run
environment()
from nettop.tui.screen import Nettop
Nettop.run = lambda app, mouse: asyncio.run(paint(app))
run(parser.parse_args(["--read-only"]), Live())
"""


def test_only_the_layout_is_loaded_before_the_first_paint(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Facts and rules have large classes; the engine loads them while the screen is on."""
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    done = subprocess.run([sys.executable, "-c", PAINT], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    heavy = ("nettop.facts.kinds", "nettop.advice.language", "nettop.advice.judge",
             "nettop.facts.limits.looks", "nettop.host.distant", "nettop.host.recording",
             "nettop.collect.")  # fmt: skip
    early = [name for name in loaded if name.startswith(heavy)]
    assert [name for name in early if name != "nettop.collect._table"] == []
    assert len(loaded) <= 174  # 153 when this was written; some were split since
