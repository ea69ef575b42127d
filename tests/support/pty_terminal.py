"""nettop in a pseudo-terminal."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from hang import until
from warm import Process, Warm


class Terminal:
    """A pseudo-terminal with nettop in it; answers cursor queries unless told not to.

    With `warm` the process starts without the imports; `command` is another program.
    """

    def __init__(
        self, home: Path, *options: str, warm: Warm | None = None, command: Sequence[str] = ()
    ) -> None:
        self.answers = True
        self.seen = b""
        self.process: Process | None = None
        environment = {
            **os.environ, "TERM": "xterm-256color",
            "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home), "NETTOP_STATE": str(home),
        }  # fmt: skip
        if warm is not None:
            self.tty, inner = pty.openpty()
            streams = dict.fromkeys((0, 1, 2), inner)
            self.process = warm.start(options, streams, environment, terminal=True)
            os.close(inner)
            self.pid = self.process.pid
        else:
            self.pid, self.tty = pty.fork()
            if self.pid == 0:
                words = [*command] or [sys.executable, "-m", "nettop", *options]
                os.execvpe(words[0], words, environment)
        self.resize(100, 30)

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self.tty, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def take(self, seconds: float = 0.05) -> bool:
        """Take and answer what it writes next; False if nothing came, or never will."""
        if not select.select([self.tty], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.tty, 65536)
        except OSError:  # it has ended
            time.sleep(seconds)
            return False
        self.seen += data
        if self.answers:
            os.write(self.tty, b"\x1b[1;1R" * data.count(b"\x1b[6n"))
        return bool(data)

    def read(self, shown: bytes) -> bytes:
        """What it writes up to and with `shown`."""
        mark = len(self.seen)
        until(lambda: self.take() and shown in self.seen[mark:], lambda: self.seen[mark:])
        return self.seen[mark:]

    def shows(self, key: bytes, shown: bytes) -> None:
        """Type a key until it has its effect: what is typed while it takes the terminal is lost."""
        mark = len(self.seen)

        def typed() -> bool:
            os.write(self.tty, key)
            while self.take(0.3):
                pass
            return shown in self.seen[mark:]

        until(typed, f"{key!r} was not taken")

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        if self.process is not None:
            code = self.process.poll()
        else:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if pid else None
        if code is not None:
            self.pid = 0
        return code

    def ended(self) -> int:
        """The exit code, once it has ended."""
        codes: list[int] = []

        def over() -> bool:
            self.take()
            code = self.poll()
            codes.extend([] if code is None else [code])
            return bool(codes)

        until(over, "nettop did not end")
        while self.take(0):
            pass
        return codes[0]

    def close(self) -> None:
        """End it."""
        if self.pid and self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            until(lambda: self.poll() is not None)
        with contextlib.suppress(OSError):
            os.close(self.tty)


def restored(seen: bytes) -> None:
    """The sequences that restore a terminal come after those that take it."""
    for sequence in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l"):
        assert seen.rfind(sequence) > seen.rfind(b"\x1b[?1049h"), sequence
