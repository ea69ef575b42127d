"""Processes of nettop without the time of their start: a server forks them (warm_server.py).

Such a process differs from `python -m nettop` in one thing: all modules are imported, and a
recording was judged, so that the rules are parsed and compiled. It has its own streams,
environment, folder, signals and exit. Tests of the start itself (imports, an interrupt at that
time, locales, limits of the shell) start `python -m nettop`.
"""

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from hang import HANG

CAPTURED: Final = ""  # the stream is a file that becomes the result
CLOSED: Final = None  # the stream is not open, as `>&-` of a shell
_SERVER: Final = Path(__file__).with_name("warm_server.py")


@dataclass(frozen=True)
class Process:
    """A process of nettop."""

    pid: int
    answers: BinaryIO

    def wait(self) -> int:
        """The exit code; negative for a signal. A process that hangs is killed."""
        if not self._ended(HANG):
            os.kill(self.pid, signal.SIGKILL)
        with self.answers:
            return int(self.answers.readline())

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self.wait() if self._ended(0) else None

    def _ended(self, seconds: float) -> bool:
        return bool(select.select([self.answers], [], [], seconds)[0])


@dataclass(frozen=True)
class Warm:
    """The server: it starts processes."""

    requests: socket.socket
    environment: Mapping[str, str]

    def start(
        self,
        words: Sequence[str],
        streams: Mapping[int, int],
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
        *,
        terminal: bool = False,
        memory: int = 0,
        netns: str = "",
        sysfs: bool = True,
    ) -> Process:
        """Start `nettop WORDS` with these open streams: number → file descriptor.

        With `terminal`, stdin is the controlling terminal of a new session. `memory` bounds the
        address space, in bytes. `netns` names a network namespace, as for `ip netns exec`, or is
        the number of a process whose mounts are entered too; without `sysfs`, /sys stays that of
        the server, as for `nsenter --net`. The words may be `-c CODE …`, as for Python.
        """
        environment = os.environ if environment is None else environment
        for name in {*self.environment, *environment}:  # what Python reads when it starts
            if name.startswith(("PYTHON", "LC_")) or name == "LANG":
                assert environment.get(name) == self.environment.get(name), name
        request = {
            "words": [*words],
            "environment": dict(environment),
            "folder": os.path.abspath(folder or os.curdir),
            "open": [*streams],
            "terminal": terminal,
            "memory": memory,
            "netns": netns,
            "sysfs": sysfs,
        }
        ours, theirs = socket.socketpair()
        with ours, theirs:
            sent = [theirs.fileno(), *streams.values()]
            socket.send_fds(self.requests, [json.dumps(request).encode()], sent)
            answers = ours.makefile("rb")
        return Process(int(answers.readline()), answers)

    def run(
        self,
        words: Sequence[str],
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
        streams: Sequence[str | int | None] = (os.devnull, CAPTURED, CAPTURED),
        *,
        memory: int = 0,
        netns: str = "",
        sysfs: bool = True,
    ) -> subprocess.CompletedProcess[bytes]:
        """The ended process; a stream is a path, a file descriptor, CAPTURED or CLOSED."""
        with contextlib.ExitStack() as stack:
            numbers = {}
            for number, stream in enumerate(streams):
                if isinstance(stream, int):
                    numbers[number] = stream
                elif stream == CAPTURED:
                    numbers[number] = stack.enter_context(tempfile.TemporaryFile()).fileno()
                elif stream is not CLOSED:
                    numbers[number] = stack.enter_context(open(stream, "r+b")).fileno()
            code = self.start(
                words, numbers, environment, folder, memory=memory, netns=netns, sysfs=sysfs
            ).wait()
            texts = []
            for number in (1, 2):
                captured = streams[number] == CAPTURED
                size = os.fstat(numbers[number]).st_size if captured else 0
                texts.append(os.pread(numbers[number], size, 0) if size else b"")
        return subprocess.CompletedProcess(words, code, *texts)


@contextlib.contextmanager
def serve() -> Iterator[Warm]:
    """A server for the time of the context."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = dict(os.environ)
    line = [sys.executable, str(_SERVER), str(theirs.fileno())]
    with subprocess.Popen(
        line, env=environment, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL
    ) as server:
        theirs.close()
        with ours:
            yield Warm(ours, environment)
        server.wait(timeout=HANG)


@functools.cache
def shared() -> Warm:
    """The server of this process: the fixture `warm`, and of code that no fixture reaches."""
    held = contextlib.ExitStack()
    atexit.register(held.close)
    return held.enter_context(serve())
