"""The screen stopped, continued, resized, interrupted and left by its terminal, in a pty."""

import contextlib
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hang import until
from pty_terminal import Terminal, restored
from textual.constants import ESCAPE_DELAY
from warm import Warm

from nettop.tui import leaving
from nettop.tui import terminal as terminal_driver
from nettop.tui.screen import Nettop
from nettop.views.scene import Scene
from nettop.views.view import View


@pytest.fixture
def terminal(tmp_path: Path, warm: Warm) -> Iterator[Terminal]:
    one = Terminal(tmp_path, "--demo", warm=warm)
    assert b"Overview" in one.read(b"Overview")
    yield one
    one.close()


def threads(pid: int) -> int:
    """How many threads it has."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stopped(terminal: Terminal) -> None:
    until(lambda: [terminal.take(), state(terminal.pid) == "T"][1], "it did not stop")
    while terminal.take(0):  # what it wrote just before
        pass


def takes_keys(terminal: Terminal, before: bytes = b"") -> None:
    """It opens another pane, and comes back."""
    terminal.shows(before + b"2", b"QUEUES")
    terminal.shows(b"1", b"FINDINGS")


def quits(terminal: Terminal) -> None:
    os.write(terminal.tty, b"q")
    assert terminal.ended() == 0
    restored(terminal.seen)
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize("times", [1, 2, 7])
def test_continued_without_having_been_stopped(terminal: Terminal, times: int) -> None:
    takes_keys(terminal)  # all its threads have begun
    before = threads(terminal.pid)
    for _ in range(times):
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.take()
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


def job(group: int) -> list[int]:
    """The other processes of a process group."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            pid = int(one.name)
            if os.getpgid(pid) == group != pid:
                found.append(pid)
    return found


def test_ctrl_z_stops_the_whole_job(terminal: Terminal) -> None:
    """What waits for nettop, such as `make run`, must stop with it: the shell waits for that."""
    (other,) = job(terminal.pid)
    os.write(terminal.tty, b"\x1a")
    stopped(terminal)
    until(lambda: state(other) == "T")
    restored(terminal.seen)
    os.killpg(terminal.pid, signal.SIGCONT)
    takes_keys(terminal)
    assert state(other) == "S"
    quits(terminal)


def test_a_storm_of_stops_and_continues_leaves_it_running(terminal: Terminal) -> None:
    for _ in range(40):
        os.kill(terminal.pid, signal.SIGTSTP)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.take(0.01)

    def goes_on() -> bool:
        """As `fg` of a shell: the last stop may have come after its continue."""
        if state(terminal.pid) == "T":
            os.kill(terminal.pid, signal.SIGCONT)
        os.write(terminal.tty, b"2")
        while terminal.take(0.3):
            pass
        return b"QUEUES" in terminal.seen

    until(goes_on)
    terminal.shows(b"1", b"FINDINGS")
    quits(terminal)


def test_a_storm_of_sizes_while_it_is_stopped_and_continued(terminal: Terminal) -> None:
    for step in range(30):
        terminal.resize(60 + step, 12 + step % 30)
        os.kill(terminal.pid, signal.SIGWINCH)
        if step % 10 == 0:
            os.kill(terminal.pid, signal.SIGCONT)
        terminal.take(0.01)
    terminal.resize(100, 30)
    takes_keys(terminal)
    quits(terminal)


@pytest.mark.parametrize(
    ("key", "shown"),
    [(b"5/", b"Enter keep"), (b"?", b"open a pane"), (b"\x10", b"Search for commands")],
    ids=["filter", "help", "palette"],
)
def test_resized_stopped_and_continued_while_a_dialog_is_open(
    terminal: Terminal, key: bytes, shown: bytes
) -> None:
    os.write(terminal.tty, key)
    terminal.read(shown)
    for step in range(20):
        terminal.resize(60 + step, 12 + step)
        terminal.take(0.01)
    os.kill(terminal.pid, signal.SIGTSTP)
    stopped(terminal)
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.resize(100, 30)
    terminal.shows(b"\x1b", b"FINDINGS")
    takes_keys(terminal)
    quits(terminal)


BEFORE = ([signal.SIGCONT], [signal.SIGTSTP], [signal.SIGSTOP])


@pytest.mark.parametrize(
    ("before", "number"),
    [*(([], number) for number in leaving.ENDING),
     *itertools.product(BEFORE, (signal.SIGHUP, signal.SIGTERM))],
)  # fmt: skip
def test_whatever_was_before_a_signal_ends_it(
    terminal: Terminal, before: list[signal.Signals], number: signal.Signals
) -> None:
    for one in before:
        os.kill(terminal.pid, one)
        if one != signal.SIGCONT:
            stopped(terminal)
    os.kill(terminal.pid, number)
    with contextlib.suppress(ProcessLookupError):  # it may have ended already
        os.kill(terminal.pid, signal.SIGCONT)
    assert terminal.ended() == 128 + number
    restored(terminal.seen)
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize("shown", [b"\x1b[?1049h", b"nettop", b"Overview"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ended_while_it_begins_it_leaves_the_terminal_as_it_was(
    tmp_path: Path, number: signal.Signals, shown: bytes, warm: Warm
) -> None:
    """At the first sequence of the screen, its first text, its first frame."""
    one = Terminal(tmp_path, "--demo", warm=warm)
    try:
        one.read(shown)
        os.kill(one.pid, number)
        assert one.ended() in (128 + number, -number)
    finally:
        one.close()
    assert b"Traceback" not in one.seen
    restored(one.seen)


@pytest.mark.parametrize("before", [signal.SIGCONT, signal.SIGTSTP, signal.SIGSTOP])
def test_it_ends_when_its_terminal_goes(terminal: Terminal, before: signal.Signals) -> None:
    os.kill(terminal.pid, before)
    if before != signal.SIGCONT:
        stopped(terminal)
    os.close(terminal.tty)  # the kernel sends SIGHUP and SIGCONT
    until(lambda: terminal.poll() is not None)


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


async def test_nobody_looks_for_keys_while_none_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """After input two timeouts, in which a lone Esc becomes a key; then it waits without one."""
    driver = terminal_driver.Terminal(Nettop(View(), Scene()))
    inner, driver.fileno = os.pipe()[::-1]
    os.write(inner, b"a")
    waits: list[float | None] = []
    answers = [[driver.fileno], [], [], [driver._ends]]

    def select(*words: Any) -> tuple[list[int], list[int], list[int]]:
        waits.append(words[3])
        return answers[len(waits) - 1], [], []

    monkeypatch.setattr("nettop.tui.terminal.select.select", select)
    monkeypatch.setattr(driver, "process_message", lambda _message: None)
    os.write(driver._end, b"\n")
    driver.run_input_thread()
    driver.close()
    assert waits[1:] == [ESCAPE_DELAY, ESCAPE_DELAY, None]
