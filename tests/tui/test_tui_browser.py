"""The driver of a screen in a browser: keys and mouse are all it takes; it ends with its pipe."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from hang import HANG
from textual import events
from textual.drivers.web_driver import WebDriver

from nettop.files.streams import UNREAD
from nettop.serving.child import received
from nettop.tui.browser import Browser

HOST = pathlib.Path(__file__).parents[1] / "hosts" / "guest-transfer.host"


def typed(*texts: str) -> list[Any]:
    """The messages that reach the screen, one packet after the other."""
    out: list[Any] = []
    driver = Browser.__new__(Browser)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WebDriver, "process_message", lambda _self, message: out.append(message))
        for text in texts:
            driver._typed(text.encode())
    return out


def names(*texts: str) -> list[str]:
    return [one.key if isinstance(one, events.Key) else type(one).__name__ for one in typed(*texts)]


def test_keys_the_mouse_and_the_cursors_place_are_taken() -> None:
    assert names("q", "\x1b[A", "\x1b", "é", "\x10") == ["q", "up", "escape", "é", "ctrl+p"]
    assert names("\x1b[<0;3;4M", "\x1b[<0;3;4m") == ["MouseDown", "MouseUp"]
    assert names("\x1b[5;1R") == ["CursorPosition"]


def test_a_paste_is_not_taken() -> None:
    assert names("\x1b[200~a\rq\x1b[201~") == []
    assert names("\x1b[200~a", "b") == ["b"]  # nothing waits for its end


@pytest.mark.parametrize(
    "text", ["\x1b[48;9999;9999;9;9t", "\x1b[?2048;1$y", "\x1b[?2026;2$y", "\x1b[I", "\x1b[O", ""]
)
def test_what_else_a_terminal_may_say_is_not_taken(text: str) -> None:
    assert names(text) == []


def test_a_sequence_does_not_go_on_in_the_next_packet() -> None:
    assert names("\x1b", "[A") == ["escape", "left_square_bracket", "A"]


class Screen:
    """nettop as a browser's session runs it."""

    def __init__(self, folder: pathlib.Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nettop", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "TEXTUAL_DRIVER": "nettop.tui.browser:Browser", "COLUMNS": "100",
                 "ROWS": "30", **{n: str(folder) for n in
                                  ("HOME", "NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}},
        )  # fmt: skip
        self.drawn("nettop")

    def drawn(self, text: str) -> None:
        """Read until it has drawn some text."""
        assert self.process.stdout is not None
        seen = b""
        while text.encode() not in seen:
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, "the screen ended"
            seen = seen[-65536:] + data

    def type(self, message: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(received(message))
        self.process.stdin.flush()

    def end(self, *, hang_up: bool) -> int:
        with self.process:
            if hang_up and self.process.stdin is not None:
                self.process.stdin.close()
            assert self.process.stdout is not None
            while os.read(self.process.stdout.fileno(), 65536):
                pass
            return self.process.wait(HANG)


def test_it_ends_when_the_server_is_gone(tmp_path: pathlib.Path) -> None:
    screen = Screen(tmp_path, "--replay", str(HOST))
    assert screen.end(hang_up=True) in (-signal.SIGHUP, 128 + signal.SIGHUP)


def test_it_takes_no_more_than_it_works_off_and_ends_though_nobody_reads(
    tmp_path: pathlib.Path,
) -> None:
    screen = Screen(tmp_path, "--replay", str(HOST), "--interval", "100ms")
    into, out = screen.process.stdin, screen.process.stdout
    assert into is not None
    assert out is not None
    os.set_blocking(into.fileno(), False)
    wide, narrow = (
        received(f'["resize", {{"width": {width}, "height": 60}}]') for width in (200, 100)
    )
    with contextlib.suppress(BlockingIOError):  # what it draws fills its pipe
        for _ in range(100_000):
            os.write(into.fileno(), wide + narrow)
            time.sleep(0.001)
        pytest.fail("it reads on")
    into.close()
    out.close()
    assert screen.process.wait(HANG) in (0, 128 + signal.SIGHUP, UNREAD)


@pytest.mark.parametrize(("options", "written"), [(["--read-only"], False), ([], True)])
def test_a_screen_for_reading_leaves_no_file(
    tmp_path: pathlib.Path, options: list[str], written: bool
) -> None:
    screen = Screen(tmp_path, *options)
    screen.type('["stdin", "6"]')
    screen.drawn("peer")
    screen.type('["stdin", "q"]')
    assert screen.end(hang_up=False) == 0
    assert bool([p for p in tmp_path.rglob("*") if p.is_file()]) is written
