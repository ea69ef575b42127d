"""The gate: a frame is written when the terminal has taken the last one."""

import json
import pathlib
import subprocess
import sys

import pytest

from nettop.tui.gate import AT_ONCE, FIXED, PATIENCE, SHEET, TRUST, Gate


def test_a_frame_waits_until_the_last_one_arrived() -> None:
    gate = Gate()
    assert gate.wait(0.0) == 0.0
    assert gate.drawn(0.0)
    assert gate.wait(0.5) == PATIENCE - 0.5
    gate.answered(0.5)
    assert gate.wait(0.5) == 0.0


def test_a_terminal_that_never_answers_gets_a_fixed_rate() -> None:
    gate = Gate()
    assert gate.drawn(0.0)
    assert gate.wait(PATIENCE) == 0.0
    assert not gate.drawn(PATIENCE)
    assert gate.wait(PATIENCE + 0.25) == FIXED - 0.25
    gate.answered(PATIENCE + 0.25)
    assert gate.wait(PATIENCE + 0.25) == 0.0


def test_one_lost_answer_does_not_condemn_a_terminal_that_answers() -> None:
    gate = Gate(answers=True)
    gate.drawn(0.0)
    assert gate.wait(PATIENCE) == TRUST - PATIENCE
    assert gate.drawn(TRUST)
    assert gate.answers


def test_a_quick_terminal_is_asked_once_a_sheet_of_rows() -> None:
    gate = Gate()
    asked = []
    for second in range(20):
        now = float(second)
        assert gate.wait(now) == 0.0
        asked.append(gate.drawn(now, 10))
        if asked[-1]:
            gate.answered(now + AT_ONCE / 2)
    assert asked == [second % (SHEET // 10) == 0 for second in range(20)]


def test_a_terminal_that_became_slow_is_asked_after_every_frame() -> None:
    gate = Gate()
    assert gate.drawn(0.0, 10)
    gate.answered(AT_ONCE / 2)
    assert gate.drawn(1.0, SHEET)
    gate.answered(1.0 + 2 * AT_ONCE)
    for second in (2.0, 3.0):
        assert gate.drawn(second, 1)
        gate.answered(second + 2 * AT_ONCE)


def test_how_long_a_terminal_is_waited_for_in_seconds() -> None:
    """2 s when it is not known, 10 s when it has answered, 1 s between unanswered frames."""
    gate = Gate()
    gate.drawn(0.0)
    assert [gate.wait(now) for now in (0.0, 1.5, 2.0)] == [2.0, 0.5, 0.0]
    gate.drawn(2.0)
    assert [gate.wait(now) for now in (2.0, 2.75, 3.0)] == [1.0, 0.25, 0.0]
    gate.answered(3.0)
    gate.drawn(3.0)
    assert [gate.wait(now) for now in (3.0, 12.0, 13.0)] == [10.0, 1.0, 0.0]


# What the screen loads before it paints for the first time, in modules.


PAINT = """
import argparse, json, sys
import nettop.cli
from nettop import commands
from nettop.host.source import Live

async def paint(app):
    app.engine = app.actions = None
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.board.drawn
        print(json.dumps(sorted(sys.modules)))

parser = argparse.ArgumentParser()
commands.command("top").arguments(parser)
from nettop.tui.app import environment, run
environment()
from nettop.tui.screen import Nettop
import asyncio
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
    every = json.loads(done.stdout.splitlines()[-1])
    assert {"asyncio", "ssl", "_ssl", "hashlib"}.intersection(every) == {"asyncio"}
    loaded = [name for name in every if name.startswith("nettop.")]
    heavy = ("nettop.facts.kinds", "nettop.advice.language", "nettop.advice.judge",
             "nettop.facts.limits.looks", "nettop.host.distant", "nettop.host.recording",
             "nettop.tui.actions", "nettop.changes.journal", "nettop.collect.")  # fmt: skip
    early = [name for name in loaded if name.startswith(heavy)]
    assert [name for name in early if name != "nettop.collect._table"] == []
    others = [name for name in loaded if not name.startswith("nettop.panes.")]
    assert len(others) <= 107, f"some of these delay the first paint: {' '.join(others)}"
