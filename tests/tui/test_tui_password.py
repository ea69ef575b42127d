"""`--host "ssh web1"` where ssh asks for a password: before the screen, and never on it."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pty_terminal import Terminal, restored
from warm import Warm

SCREEN = b"\x1b[?1049h"  # the sequence that begins the screen
PROMPT = b"password of web1: "
SSH = """#!/bin/sh
if ! printf 'password of web1: ' > /dev/tty || ! IFS= read -r word < /dev/tty; then
    echo 'web1: Permission denied (publickey,password).' >&2; exit 255
fi
[ "$word" = secret ] || { echo 'web1: Permission denied, please try again.' >&2; exit 255; }
shift
exec sh -c "$*"
"""


@pytest.fixture
def terminal(tmp_path: Path, warm: Warm) -> Iterator[Terminal]:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # a note of the screen has one line
        ssh = Path(short, "ssh")
        ssh.write_text(SSH)
        ssh.chmod(0o755)
        one = Terminal(tmp_path, "--host", f"{ssh} web1", warm=warm)
        yield one
        one.close()


def test_the_password_is_asked_before_the_screen(terminal: Terminal) -> None:
    asked = terminal.read(PROMPT)
    assert PROMPT in asked
    assert SCREEN not in asked
    os.write(terminal.tty, b"secret\n")
    assert b"Overview" in terminal.read(b"Overview")
    assert b"FINDINGS" in terminal.read(b"FINDINGS")
    # the connection breaks: a new one may not ask on the screen
    readers = psutil.Process(terminal.pid).children(recursive=True)
    (reader,) = [one for one in readers if "python3" in one.cmdline()[:1]]
    before = len(terminal.seen)
    reader.send_signal(signal.SIGKILL)
    assert b"Permission denied" in terminal.read(b"Permission denied")
    assert PROMPT not in terminal.seen[before:]
    os.write(terminal.tty, b"?")
    assert b"open a pane" in terminal.read(b"open a pane")
    os.write(terminal.tty, b"\x03")
    assert terminal.ended() == 0
    restored(terminal.seen)


def test_a_wrong_password_is_one_sentence_and_no_screen(terminal: Terminal) -> None:
    terminal.read(PROMPT)
    os.write(terminal.tty, b"wrong\n")
    assert b"please try again" in terminal.read(b"please try again")
    assert terminal.ended() == 3
    assert SCREEN not in terminal.seen
    assert b"Traceback" not in terminal.seen


def test_control_c_at_the_question_ends_nettop(terminal: Terminal) -> None:
    terminal.read(PROMPT)
    os.write(terminal.tty, b"\x03")
    assert terminal.ended() != 0
    assert SCREEN not in terminal.seen
    assert b"Traceback" not in terminal.seen
