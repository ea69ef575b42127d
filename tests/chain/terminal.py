"""A program of a host in a terminal, and what it has drawn."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from typing import Final

WIDTH, HEIGHT = 120, 40
_CURSOR: Final = b"\x1b[6n"  # asks where the cursor is


def drawn(words: Sequence[str], first: str, key: str, then: str, seconds: float = 120) -> float:
    """Seconds until the program has drawn `first`, and after the key `then`; AssertionError if not.

    The program is then left by `q`.
    """
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    begun = time.monotonic()
    with subprocess.Popen(
        words, stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True
    ) as process:
        os.close(inner)
        try:
            seen = b""
            for word, typed in ((first, key), (then, "")):
                while word.encode() not in seen:
                    assert time.monotonic() < begun + seconds, seen[-2000:]
                    data = _read(outer)
                    assert data is not None, seen[-2000:]
                    seen += data
                    for _ in range(data.count(_CURSOR)):
                        os.write(outer, b"\x1b[1;1R")
                os.write(outer, typed.encode())
            took = time.monotonic() - begun
            os.write(outer, b"q")
            while _read(outer) is not None:
                assert time.monotonic() < begun + took + seconds, "q does not leave it"
            assert process.wait(seconds) == 0, seen[-2000:]
        finally:
            process.kill()
            os.close(outer)
    return took


def _read(terminal: int) -> bytes | None:
    """What has been drawn within 0.2 s; None once the program has ended."""
    if not select.select([terminal], [], [], 0.2)[0]:
        return b""
    try:
        return os.read(terminal, 65536) or None
    except OSError:
        return None
