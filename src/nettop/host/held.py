"""A program at another host that works as long as its standard input is open.

It is started behind a prefix and prints one line of JSON. A line is written to it every BEAT
seconds, so that it notices a connection that carries nothing any more.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Sequence
from typing import Final

from ..terms.text import safe
from . import once, prefix
from .once import SECONDS, Answer
from .source import HostLostError

BEAT: Final = 5.0  # seconds
MOST: Final = 1 << 20  # bytes that it may print


class Held:
    """One such program. HostLostError with one sentence if it cannot be run."""

    def __init__(self, words: Sequence[str], argv: Sequence[str]) -> None:
        """Start `argv` behind the prefix `words`, without a terminal."""
        self.name = safe(" ".join(words))
        line = prefix.command(words, argv)
        try:
            self._process = prefix.start(line, apart=True)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise HostLostError(f"cannot run {safe(line[0])}: {reason}") from None
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        os.set_blocking(self._process.stdin.fileno(), False)
        self._over = threading.Event()
        self._beats = threading.Thread(target=self._beat, name="nettop-held", daemon=True)
        self._beats.start()

    def _beat(self) -> None:
        stream = self._process.stdin
        assert stream is not None  # noqa: S101
        while not self._over.wait(BEAT):
            with contextlib.suppress(OSError):
                os.write(stream.fileno(), b"\n")

    def line(self, seconds: float = SECONDS) -> bytes | None:
        """The first line that begins as JSON; None if the program ends without one."""
        out, err = self._process.stdout, self._process.stderr
        assert out is not None  # noqa: S101
        assert err is not None  # noqa: S101
        ready = select.poll()
        ready.register(out.fileno(), select.POLLIN)
        data, until = b"", time.monotonic() + seconds
        while len(data) <= MOST:
            left = until - time.monotonic()
            if left <= 0:
                raise HostLostError(f"{self.name} did not answer within {seconds:g} s")
            if not ready.poll(1000 * left):
                continue
            more = os.read(out.fileno(), 1 << 16)
            data += more
            whole = data.split(b"\n")[:-1]
            found = next((one for one in whole if one.startswith(b"{")), None)
            if found is not None or not more:
                return found
        raise HostLostError(f"{self.name} sent more than {MOST >> 20} MiB")

    def end(self, seconds: float = SECONDS) -> Answer:
        """Close its standard input and wait for its end; HostLostError."""
        self._over.set()
        self._beats.join()
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.close()
        return once.ended(self._process, self.name, MOST, seconds)
