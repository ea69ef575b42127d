"""The screen in a real pseudo-terminal: what it leaves behind however it ends."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hang import until
from pty_terminal import Terminal, restored
from warm import Warm

from nettop.tui.gate import QUERY as ASKED

QUERY = ASKED.encode()


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal whose nettop is started as a new Python process."""
    one = Terminal(tmp_path)
    yield one
    one.close()


@pytest.fixture
def terminal(tmp_path: Path, warm: Warm) -> Iterator[Terminal]:
    one = Terminal(tmp_path, warm=warm)
    yield one
    one.close()


def test_it_paints_and_control_c_restores(cold: Terminal) -> None:
    assert b"Overview" in cold.read(b"Overview")
    os.write(cold.tty, b"\x03")
    assert cold.ended() == 0
    restored(cold.seen)
    assert b"Traceback" not in cold.seen


def test_escape_alone_is_a_key(terminal: Terminal) -> None:
    terminal.read(b"FINDINGS")
    os.write(terminal.tty, b"?")
    assert b"open a pane" in terminal.read(b"open a pane")
    os.write(terminal.tty, b"\x1b")
    assert b"FINDINGS" in terminal.read(b"FINDINGS")


def test_ctrl_z_without_a_shell_stops_nothing(cold: Terminal) -> None:
    """As the leader of a session, such as `ssh -t HOST nettop`: nothing could continue it."""
    cold.read(b"FINDINGS")
    cold.shows(b"\x1a", b"no shell could continue nettop")
    assert b"\x1b[?1049l" in cold.seen
    cold.shows(b"2", b"QUEUES")


def test_started_in_the_background_it_draws_in_the_foreground(tmp_path: Path) -> None:
    shell = Terminal(tmp_path, command=("bash", "--norc", "-i"))
    try:
        os.write(shell.tty, b"PS1='ready''> '\n")
        shell.read(b"ready> ")
        os.write(shell.tty, f"{sys.executable} -m nettop --demo &\n".encode())
        shell.shows(b"\n", b"Stopped")  # the shell says what stopped
        assert b"\x1b[?1049h" not in shell.seen
        os.write(shell.tty, b"fg\n")
        shell.read(b"FINDINGS")
        os.write(shell.tty, b"\x1a")
        shell.read(b"Stopped")
        os.write(shell.tty, b"fg\n")
        shell.read(b"FINDINGS")
        os.write(shell.tty, b"q")
        shell.read(b"ready> ")
        restored(shell.seen)
        assert b"rror" not in shell.seen
    finally:
        shell.close()


def test_with_its_stderr_closed_it_draws_on_its_stdout(tmp_path: Path) -> None:
    """Python has no `sys.__stderr__` then, on which Textual draws."""
    line = ("sh", "-c", '"$0" -m nettop --demo 2>&-', sys.executable)
    one = Terminal(tmp_path, command=line)
    try:
        one.read(b"FINDINGS")
        os.write(one.tty, b"q")
        assert one.ended() == 0
        restored(one.seen)
        assert b"Traceback" not in one.seen
    finally:
        one.close()


def test_the_last_reply_of_the_terminal_is_not_left_for_the_shell(
    tmp_path: Path, warm: Warm
) -> None:
    one = Terminal(tmp_path, "--demo", warm=warm)
    try:
        one.read(b"FINDINGS")
        while one.take(0.3):
            pass
        one.answers = False
        mark = len(one.seen)
        until(lambda: os.write(one.tty, b"21") and one.take() and QUERY in one.seen[mark:])
        os.write(one.tty, b"q")
        while one.take(0.3):
            pass
        assert b"\x1b[?1049l" not in one.seen  # it waits
        os.write(one.tty, b"\x1b[1;1R" * one.seen[mark:].count(QUERY))
        assert one.ended() == 0
        restored(one.seen)
    finally:
        one.close()


def test_a_terminal_that_answers_nothing_still_gets_frames(tmp_path: Path, warm: Warm) -> None:
    one = Terminal(tmp_path, warm=warm)
    one.answers = False
    try:
        one.read(b"FINDINGS")
        os.write(one.tty, b"2")
        assert b"QUEUES" in one.read(b"QUEUES")
    finally:
        one.close()


def test_no_control_character_of_a_recording_reaches_the_terminal(
    tmp_path: Path, warm: Warm
) -> None:
    host = tmp_path / "evil.host"
    host.write_text(
        "A host whose interface name tries to write the window title.\n"
        "-- /proc/net/dev --\n"
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
        "e\x1b]0;PWNED\x07: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n",
        encoding="utf-8",
    )
    one = Terminal(tmp_path, "--replay", str(host), warm=warm)
    try:
        one.read(b"Overview")
        one.shows(b"3", b"PWNED")  # the pane of interfaces shows the name, without its control
        assert b"\x1b]0;PWNED" not in one.seen
        os.write(one.tty, b"q")
        assert one.ended() == 0
    finally:
        one.close()
