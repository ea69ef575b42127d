"""The screen in a real pseudo-terminal: what it leaves behind however it ends."""

from __future__ import annotations

import os
import pty
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pty_terminal import Terminal, restored
from warm import Warm

from nettop.tui import signals


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
    assert b"Overview" in cold.read(15, b"Overview")
    os.write(cold.tty, b"\x03")
    assert cold.ended() == 0
    restored(cold.seen)
    assert b"Traceback" not in cold.seen


@pytest.mark.parametrize("number", signals.ENDING)
def test_signals_restore_the_terminal(terminal: Terminal, number: signal.Signals) -> None:
    terminal.read(15, b"FINDINGS")
    os.kill(terminal.pid, number)
    assert terminal.ended() == 128 + number
    restored(terminal.seen)


def test_it_ends_when_the_terminal_is_gone(terminal: Terminal) -> None:
    terminal.read(15, b"Overview")
    os.close(terminal.tty)
    end = time.monotonic() + 8
    while time.monotonic() < end and terminal.poll() is None:
        time.sleep(0.05)
    assert time.monotonic() < end


def test_escape_alone_is_a_key(terminal: Terminal) -> None:
    terminal.read(15, b"FINDINGS")
    os.write(terminal.tty, b"?")
    assert b"open a pane" in terminal.read(20, b"open a pane")
    os.write(terminal.tty, b"\x1b")
    assert b"FINDINGS" in terminal.read(20, b"FINDINGS")


def test_suspended_and_resumed_it_still_takes_keys(cold: Terminal) -> None:
    cold.read(15, b"FINDINGS")
    os.write(cold.tty, b"\x1a")
    end = time.monotonic() + 20
    while (found := os.waitpid(cold.pid, os.WUNTRACED | os.WNOHANG))[0] == 0:
        cold.read(0.05)
        assert time.monotonic() < end, "Ctrl-Z did not stop it"
    assert os.WIFSTOPPED(found[1])
    restored(cold.seen)
    os.kill(cold.pid, signal.SIGCONT)
    cold.read(20, b"FINDINGS")
    os.write(cold.tty, b"2")
    assert b"QUEUES" in cold.read(20, b"QUEUES")


def test_started_in_the_background_it_draws_in_the_foreground(tmp_path: Path) -> None:
    shell = Terminal.__new__(Terminal)
    shell.answers, shell.seen, shell.process = True, b"", None
    shell.pid, shell.tty = pty.fork()
    if shell.pid == 0:
        os.environ.update(TERM="xterm-256color", PS1="ready> ", NETTOP_STATE=str(tmp_path))
        os.execvp("bash", ["bash", "--norc", "-i"])
    shell.resize(100, 30)
    try:
        assert b"ready> " in shell.read(20, b"ready> ")
        os.write(shell.tty, f"{sys.executable} -m nettop --demo &\n".encode())
        for _ in range(400):
            os.write(shell.tty, b"\n")  # the shell says what stopped
            if b"Stopped" in shell.read(0.1, b"Stopped"):
                break
        assert b"\x1b[?1049h" not in shell.seen
        os.write(shell.tty, b"fg\n")
        assert b"FINDINGS" in shell.read(30, b"FINDINGS")
        os.write(shell.tty, b"\x1a")
        assert b"Stopped" in shell.read(30, b"Stopped")
        os.write(shell.tty, b"fg\n")
        assert b"FINDINGS" in shell.read(30, b"FINDINGS")
        os.write(shell.tty, b"q")
        assert b"ready> " in shell.read(30, b"ready> ")
        restored(shell.seen)
        assert b"rror" not in shell.seen
    finally:
        shell.close()


def sleeps(pid: int) -> dict[str, int]:
    """How often each thread went to sleep so far."""
    return {
        task.name: int(
            (task / "status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0]
        )
        for task in Path(f"/proc/{pid}/task").iterdir()
    }


def test_nobody_looks_for_keys_while_none_comes(terminal: Terminal) -> None:
    terminal.read(15, b"FINDINGS")
    os.write(terminal.tty, b" ")  # paused: the terminal is asked nothing
    terminal.read(2)
    before = sleeps(terminal.pid)
    terminal.read(4)
    often = {task: count - before.get(task, 0) for task, count in sleeps(terminal.pid).items()}
    assert max(often.values()) < 25, often  # a timer of 0.1 s would wake it 40 times in these 4 s


def test_a_terminal_that_answers_nothing_still_gets_frames(tmp_path: Path, warm: Warm) -> None:
    one = Terminal(tmp_path, warm=warm)
    one.answers = False
    try:
        one.read(15, b"FINDINGS")
        assert b"FINDINGS" in one.seen
        os.write(one.tty, b"2")
        assert b"QUEUES" in one.read(6, b"QUEUES")
    finally:
        one.close()


def test_resized_many_times_it_still_draws_the_last_size(terminal: Terminal) -> None:
    terminal.read(15, b"FINDINGS")
    for step in range(60):
        terminal.resize(60 + step, 12 + step % 30)
        terminal.read(0.01)
    terminal.resize(90, 25)
    terminal.read(1.5)
    os.write(terminal.tty, b"2")  # a pane with the same heading whatever this host has
    assert b"QUEUES" in terminal.read(6, b"QUEUES")


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
        one.read(8, b"Overview")
        one.read(2)
        assert b"\x1b]0;PWNED" not in one.seen
        os.write(one.tty, b"q")
        assert one.ended() == 0
    finally:
        one.close()
