"""Without Textual's private names nettop still draws, takes keys and ends."""

import os
from pathlib import Path

import pytest
from pty_terminal import Terminal, restored
from test_tui_browser import HOST, Screen

# Python runs this before nettop: no private name is there
WITHOUT = """
from nettop.tui import internals
internals.NAMES = {use: ("textual:absent",) for use in internals.NAMES}
"""


@pytest.fixture
def without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder; every Python started has no private name."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_the_screen_draws_takes_keys_and_restores_the_terminal(without: Path) -> None:
    terminal = Terminal(without, "--demo")
    try:
        assert b"Overview" in terminal.read(b"Overview")
        for key, shown in ((b"2", b"QUEUES"), (b"1", b"FINDINGS")):
            os.write(terminal.tty, key)
            assert shown in terminal.read(shown)
        os.write(terminal.tty, b"q")
        assert terminal.ended() == 0
        restored(terminal.seen)
        assert b"Traceback" not in terminal.seen
    finally:
        terminal.close()


def test_the_screen_of_a_browser_draws_takes_keys_and_ends(without: Path) -> None:
    screen = Screen(without, "--replay", str(HOST))
    screen.type('["stdin", "2"]')
    screen.drawn("QUEUES")
    screen.type('["stdin", "q"]')
    assert screen.end(hang_up=False) == 0
