"""nettop in a pseudo-terminal."""

from __future__ import annotations

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
from pathlib import Path

from warm import Process, Warm


class Terminal:
    """A pseudo-terminal with nettop in it; answers cursor queries unless told not to.

    With `warm` the process starts without the imports.
    """

    def __init__(self, home: Path, *options: str, warm: Warm | None = None) -> None:
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
                os.execve(sys.executable, [sys.executable, "-m", "nettop", *options], environment)
        self.resize(100, 30)

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self.tty, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds: float, until: bytes = b"") -> bytes:
        """What comes within `seconds`, or up to and with `until`."""
        mark = len(self.seen)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self.tty], [], [], 0.05)
            if ready:
                try:
                    data = os.read(self.tty, 65536)
                except OSError:
                    break
                if not data:
                    break
                self.seen += data
                if self.answers:
                    for _ in range(data.count(b"\x1b[6n")):
                        os.write(self.tty, b"\x1b[1;1R")
            if until and until in self.seen[mark:]:
                break
        return self.seen[mark:]

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

    def ended(self, seconds: float = 8.0) -> int:
        """The exit code, once it has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            code = self.poll()
            if code is not None:
                return code
        raise AssertionError("nettop did not end")

    def close(self) -> None:
        """End it."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            while self.poll() is None:
                time.sleep(0.01)
        with contextlib.suppress(OSError):
            os.close(self.tty)


def restored(seen: bytes) -> None:
    """The sequences that restore a terminal come after those that take it."""
    for sequence in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l"):
        assert seen.rfind(sequence) > seen.rfind(b"\x1b[?1049h"), sequence
