"""The screen stopped, continued, resized, interrupted and left by its terminal, in a pty."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pty_terminal import Terminal, restored
from warm import Warm

from nettop.tui import terminal as terminal_driver
from nettop.tui.screen import Nettop
from nettop.views.scene import Scene
from nettop.views.view import View


@pytest.fixture
def terminal(tmp_path: Path, warm: Warm) -> Iterator[Terminal]:
    one = Terminal(tmp_path, "--demo", warm=warm)
    assert b"Overview" in one.read(60, b"Overview")
    yield one
    one.close()


def threads(pid: int) -> int:
    """How many threads it has."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stopped(terminal: Terminal) -> None:
    end = time.monotonic() + 60
    while state(terminal.pid) != "T":
        terminal.read(0.05)
        assert time.monotonic() < end, "it did not stop"
    terminal.read(0.5)  # what it wrote just before


def takes_keys(terminal: Terminal) -> None:
    """It opens another pane, and comes back; what is typed while it takes the terminal is lost."""
    for key, shown in ((b"2", b"QUEUES"), (b"1", b"FINDINGS")):
        for _ in range(12):
            os.write(terminal.tty, key)
            if shown in terminal.read(5, shown):
                break
        else:
            raise AssertionError(f"{key!r} was not taken")


def quits(terminal: Terminal) -> None:
    os.write(terminal.tty, b"q")
    assert terminal.ended(60) == 0
    restored(terminal.seen)
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize("times", [1, 2, 7])
def test_continued_without_having_been_stopped(terminal: Terminal, times: int) -> None:
    before = threads(terminal.pid)
    for _ in range(times):
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.read(0.2)
    takes_keys(terminal)
    assert threads(terminal.pid) <= before + 1  # the processor's name is asked for once
    quits(terminal)


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_stopped_and_continued_several_times(terminal: Terminal, number: signal.Signals) -> None:
    for _ in range(3):
        os.kill(terminal.pid, number)
        stopped(terminal)
        if number == signal.SIGTSTP:
            restored(terminal.seen)
        os.kill(terminal.pid, signal.SIGCONT)
        takes_keys(terminal)
    quits(terminal)


def test_a_storm_of_stops_and_continues_leaves_it_running(terminal: Terminal) -> None:
    for _ in range(40):
        os.kill(terminal.pid, signal.SIGTSTP)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.read(0.01)
    terminal.read(1)
    os.kill(terminal.pid, signal.SIGCONT)
    takes_keys(terminal)
    quits(terminal)


def test_a_storm_of_sizes_while_it_is_stopped_and_continued(terminal: Terminal) -> None:
    for step in range(30):
        terminal.resize(60 + step, 12 + step % 30)
        os.kill(terminal.pid, signal.SIGWINCH)
        if step % 10 == 0:
            os.kill(terminal.pid, signal.SIGCONT)
        terminal.read(0.01)
    terminal.resize(100, 30)
    terminal.read(1)
    takes_keys(terminal)
    quits(terminal)


@pytest.mark.parametrize(
    "key", [b"/", b"?", b"\x10", b"7\r"], ids=["filter", "help", "palette", "form"]
)
def test_resized_stopped_and_continued_while_a_dialog_is_open(
    terminal: Terminal, key: bytes
) -> None:
    os.write(terminal.tty, key)
    terminal.read(1)
    for step in range(20):
        terminal.resize(60 + step, 12 + step)
        terminal.read(0.01)
    os.kill(terminal.pid, signal.SIGTSTP)
    stopped(terminal)
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.resize(100, 30)
    terminal.read(1)
    os.write(terminal.tty, b"\x1b")
    terminal.read(1)
    os.write(terminal.tty, b"\x1b")
    terminal.read(1)
    os.write(terminal.tty, b"1")
    takes_keys(terminal)
    quits(terminal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("before", [[], [signal.SIGCONT], [signal.SIGTSTP], [signal.SIGSTOP]])
def test_whatever_was_before_a_signal_ends_it(
    terminal: Terminal, before: list[signal.Signals], number: signal.Signals
) -> None:
    for one in before:
        os.kill(terminal.pid, one)
        if one != signal.SIGCONT:
            stopped(terminal)
    os.kill(terminal.pid, number)
    os.kill(terminal.pid, signal.SIGCONT)
    assert terminal.ended(60) == 128 + number
    restored(terminal.seen)
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize("delay", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ended_while_it_begins_it_leaves_the_terminal_as_it_was(
    tmp_path: Path, number: signal.Signals, delay: float
) -> None:
    before_nettop = True
    while before_nettop:
        one = Terminal(tmp_path, "--demo")
        try:
            one.read(delay)
            os.kill(one.pid, number)
            code = one.ended(60)
        finally:
            one.close()
        # Python's own start: it runs no line of nettop, exits with 1 and prints a traceback
        before_nettop = b"Failed to import the site module" in one.seen
        delay += 0.1
    assert code in (128 + number, -number)
    assert b"Traceback" not in one.seen
    if b"\x1b[?1049h" in one.seen:
        restored(one.seen)


@pytest.mark.parametrize("before", [signal.SIGCONT, signal.SIGTSTP, signal.SIGSTOP])
def test_it_ends_when_its_terminal_goes(terminal: Terminal, before: signal.Signals) -> None:
    os.kill(terminal.pid, before)
    if before != signal.SIGCONT:
        stopped(terminal)
    os.close(terminal.tty)  # the kernel sends SIGHUP and SIGCONT
    end = time.monotonic() + 60
    while time.monotonic() < end and terminal.poll() is None:
        time.sleep(0.05)
    assert time.monotonic() < end


async def test_after_the_terminal_was_closed_no_signal_wakes_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop closes its sockets before its handlers: a signal in between printed a traceback."""
    monkeypatch.setattr(terminal_driver.Terminal, "stop_application_mode", lambda _self: None)
    driver = terminal_driver.Terminal(Nettop(View(), Scene()))
    before = signal.set_wakeup_fd(-1)
    assert before != -1
    signal.set_wakeup_fd(before)
    driver.suspend_application_mode()  # it is used again
    assert signal.set_wakeup_fd(before) == before
    driver.close()
    assert signal.set_wakeup_fd(-1) == -1
