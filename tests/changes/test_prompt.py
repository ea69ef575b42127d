"""The question at a terminal: one Enter alone keeps, Ctrl-C takes back, all else is no answer."""

import contextlib
import os
import pty
import select
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hang import until

from nettop.changes.journal import Journal
from nettop.settings import Host

COUNTDOWN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.path.insert(0, {tests!r})
import fake_host
from nettop.changes import guard, plan, report
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.settings import Host
host, book = Host.at({root!r}), Journal({state!r})
Host.at = classmethod(lambda cls, root="/": host)
terms = Terms(confirm=60, arm=lambda *_: None)
for value in {values!r}:
    made = apply(plan.plan([("link.mtu@eth0", value)], host.source), host, book, terms)
print("READY", flush=True)
while not os.path.exists({go!r}):
    time.sleep(0.01)
made = report.await_enter(book, made)
print("STATE", made[0].state, report.code(made), flush=True)
"""


class Terminal:
    """A nettop that asks, at a terminal of its own."""

    def __init__(self, host: Host, book: Journal, values: list[str], go: Path) -> None:
        code = COUNTDOWN.format(
            tests=str(Path(__file__).parents[1] / "support"), root=host.root, state=book.folder,
            values=values, go=str(go),
        )  # fmt: skip
        self.seen = b""
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.execv(sys.executable, [sys.executable, "-c", code])

    def until(self, shown: str, times: int = 1) -> None:
        def there() -> bool:
            if select.select([self.terminal], [], [], 0)[0]:
                with contextlib.suppress(OSError):  # it has ended
                    self.seen += os.read(self.terminal, 4096)
            return self.seen.count(shown.encode()) >= times

        until(there, lambda: self.seen)

    def type(self, text: bytes) -> None:
        os.write(self.terminal, text)

    def end(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """It asks when this file is there."""
    return tmp_path / "go"


@pytest.fixture
def ask(host: Host, book: Journal, go: Path) -> Callable[..., Terminal]:
    def started(*values: str, asks: bool = True) -> Terminal:
        if asks:
            go.touch()
        return Terminal(host, book, list(values or ("9000",)), go)

    return started


def mtu(tmp_path: Path) -> str:
    return (tmp_path / "host/sys/class/net/eth0/mtu").read_text().strip()


@pytest.mark.parametrize(
    ("typed", "shows", "left"),
    [(b"\r", "STATE applied 0", "9000"), (b"\x03", "STATE reverted 5", "1500")],
)
def test_on_a_terminal_enter_keeps_and_ctrl_c_takes_back(
    ask: Callable[..., Terminal], tmp_path: Path, typed: bytes, shows: str, left: str
) -> None:
    screen = ask()
    screen.until("reverts in")
    screen.type(typed)
    screen.until(shows)
    screen.end()
    assert mtu(tmp_path) == left


def test_what_was_typed_before_the_question_confirms_nothing(
    ask: Callable[..., Terminal], tmp_path: Path, go: Path
) -> None:
    screen = ask(asks=False)
    screen.until("READY")
    screen.type(b"\rnettop set link.mtu@eth0 1300\r\r")
    go.touch()
    screen.until("reverts in", 3)
    assert b"STATE" not in screen.seen
    screen.type(b"\x03")
    screen.until("STATE reverted 5")
    screen.end()
    assert mtu(tmp_path) == "1500"


@pytest.mark.parametrize("typed", [b"\r\r", b"nettop journal\r", b"\x1b[200~\r\x1b[201~", b"y"])
def test_more_than_enter_alone_is_no_answer_and_is_asked_again(
    ask: Callable[..., Terminal], tmp_path: Path, typed: bytes
) -> None:
    screen = ask()
    screen.until("reverts in")
    screen.type(typed)
    screen.until("Not confirmed: press only Enter")
    screen.until("\n\r\x1b[K  Press only Enter to confirm it")
    assert b"STATE" not in screen.seen
    screen.type(b"\r")
    screen.until("STATE applied 0")
    screen.end()
    assert mtu(tmp_path) == "9000"


def test_the_question_names_what_it_keeps_as_well(
    ask: Callable[..., Terminal], book: Journal, tmp_path: Path
) -> None:
    screen = ask("9000", "8000")
    screen.until("the pending changes with it (1); reverts in")
    screen.type(b"\x03")
    screen.until("STATE reverted 5")
    screen.end()
    assert mtu(tmp_path) == "1500"
    assert [entry.state for entry in book.entries()] == ["reverted", "reverted"]


def test_the_terminal_is_given_back_as_it_was(ask: Callable[..., Terminal], go: Path) -> None:
    import termios

    screen = ask(asks=False)
    screen.until("READY")
    before = termios.tcgetattr(screen.terminal)
    go.touch()
    screen.until("reverts in")
    assert termios.tcgetattr(screen.terminal) != before
    screen.type(b"\r")
    screen.until("STATE")
    assert termios.tcgetattr(screen.terminal) == before
    assert screen.seen.rindex(b"\x1b[?2004l") > screen.seen.rindex(b"\x1b[?2004h")
    screen.end()
