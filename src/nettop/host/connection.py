"""The process of a far reader: started behind a command prefix, asked in batches, ended.

What the other end sends is bounded in size and time, and nothing in it is executed. Every failure
is a `HostLostError` with one sentence. ssh, sudo and their like may ask on the terminal when they
are started for the first time; later they have no terminal.
"""

import atexit
import base64
import contextlib
import json
import os
import re
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from errno import ENOENT
from pathlib import Path
from typing import Final

from ..files.bounds import BOUNDS
from ..terms.text import safe
from . import prefix
from .far import wire
from .far.wire import UnreadableError
from .source import HostLostError

HELLO: Final = 60.0  # seconds to log in and start, where nobody may be asked
_MOST: Final = 3600.0  # seconds of one wait: poll(2) takes no infinity
ANSWER: Final = 30.0  # seconds for one batch
IDLE: Final = 900.0  # seconds without a request after which the reader ends by itself
BANNER: Final = 1 << 16  # bytes before the token: a message of the day, output of a login shell
LEAST: Final = (3, 6)
_PACKAGE: Final = "nettop.host.far"
_FAR: Final = Path(__file__).parent / "far"
_OLD: Final = "nettop-python"
_CHECK: Final = f"import sys;v=sys.version_info[:2];v<{LEAST} and sys.exit('{_OLD} %d.%d'%v);"
_START: Final = _CHECK + prefix.START
INSTALL: Final = "--install puts it there"
_ECHO: Final = 40  # bytes of a line that came back: a terminal echoes what is sent
_PYTHON_SAID: Final = re.compile(r"\w+Error\b")  # the last line of a traceback: no sentence
_STARTING: Final[set[subprocess.Popen[bytes]]] = set()  # those that may not read input yet


@atexit.register
def _end_all() -> None:
    """End the prefixes that still log in, or hang: a reader ends by itself with its input."""
    for process in list(_STARTING):
        with contextlib.suppress(OSError):  # that of another user (sudo) cannot be signalled
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.terminate()


class NoPythonError(HostLostError):
    """There is no Python at that host, or too old a one."""


class Connection:
    """One running reader."""

    def __init__(
        self, words: Sequence[str], asks: bytes, *, first: bool = True, patience: float = HELLO
    ) -> None:
        """Start a reader behind the prefix `words`, which then answers `asks`; HostLostError."""
        self.name = safe(" ".join(words))
        self.bytes = 0  # received
        self.exchanges = 0  # round trips; the start is one
        self.used = self._sent = time.monotonic()
        self._clock = FarClock()
        self._errors = b""
        self._input = bytearray()
        token = secrets.token_hex(16)
        options = {
            "token": token, "first": base64.b64encode(asks).decode(), "idle": IDLE,
            "file": BOUNDS["host-file"].most, "interrupts": BOUNDS["interrupts"].most,
            "names": BOUNDS["listing"].most, "netlink": BOUNDS["netlink"].most,
            "statistics": BOUNDS["statistics"].most,
        }  # fmt: skip
        job = json.dumps(prefix.job(_PACKAGE, _FAR, "reader", options)).encode() + b"\n"
        self._job = job  # until the reader runs
        argv = prefix.command(words, prefix.python(words, _START))
        try:
            self._process = prefix.start(argv, apart=not first)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            hint = "; a prefix is a command such as `ssh web1`" if error.errno == ENOENT else ""
            raise HostLostError(f"cannot run {safe(argv[0])}: {reason}{hint}") from None
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None  # noqa: S101 - they are pipes
            os.set_blocking(stream.fileno(), False)
        _STARTING.add(self._process)
        try:
            self._write(job, patience)
            self._hello(f"\nnettop {token} ".encode(), patience)
        except BaseException:
            self.close()
            raise
        finally:
            _STARTING.discard(self._process)
        self._packer = wire.Packer()
        self._unpacker = wire.Unpacker(BOUNDS["far"].most)

    def _hello(self, token: bytes, patience: float) -> None:
        """Skip what is printed before the token; take byte order and user."""
        until = time.monotonic() + patience
        while True:
            at = self._input.find(token)
            end = self._input.find(b"\n", at + 1)
            if at >= 0 and end >= 0:
                break
            if len(self._input) > BANNER:
                raise HostLostError(
                    f"{self.name}: more than {BANNER >> 10} KiB came before nettop's reader began"
                )
            self._read(until, f"did not start a reader within {patience:g} s")
        if self._input.endswith(b"\r", 0, end):
            raise HostLostError(
                f"{self.name} ends lines with CR LF: something between changes what is sent, such "
                "as a terminal (leave out -t)"
            )
        words = bytes(self._input[at + len(token) : end]).split()
        del self._input[: end + 1]
        if len(words) != 2 or words[0].decode("ascii", "replace") != sys.byteorder:
            raise HostLostError(f"{self.name}: that host has another byte order than this one")
        self.root = words[1] == b"0"
        self._job = b""

    def exchange(self, *batches: bytes, seconds: float = ANSWER) -> bytes:
        """Send batches of requests; the answer to the first. HostLostError.

        `answer` gives those to the others, which cost no further round trip.
        """
        if self._input:
            raise HostLostError(f"{self.name} sent data that was not requested")
        self._sent = time.monotonic()
        self._write(b"".join(map(self._packer.pack, batches)), seconds)
        answer = self.answer(seconds)
        self.exchanges += 1
        return answer

    def answer(self, seconds: float = ANSWER) -> bytes:
        """The next answer; HostLostError."""
        until = time.monotonic() + seconds
        late = f"did not answer within {seconds:g} s"
        size = wire.LENGTH.unpack(self._take(wire.LENGTH.size, until, late))[0]
        if size > wire.PACKED:
            raise HostLostError(
                f"{self.name} sent an invalid answer: a length of {size:,} bytes; does a shell "
                "there print to standard output?"
            )
        try:
            answer = self._unpacker.unpack(self._take(size, until, late))
            _, there, wall, _, _ = wire.unpack_head(answer)
            self._clock.check(there, wall, self._sent, time.monotonic())
        except wire.UnreadableError as error:
            raise HostLostError(f"{self.name} sent an invalid answer: {error}") from None
        self.bytes += size
        self.exchanges = self.exchanges or 1
        self.used = time.monotonic()
        return answer

    def _take(self, size: int, until: float, late: str) -> bytes:
        while len(self._input) < size:
            self._read(until, late)
        data = bytes(self._input[:size])
        del self._input[:size]
        return data

    def _read(self, until: float, late: str) -> None:
        """Wait for more output; HostLostError at its end or after `until`."""
        output, errors = self._process.stdout, self._process.stderr
        assert output is not None  # noqa: S101
        assert errors is not None  # noqa: S101
        left = until - time.monotonic()
        if left <= 0:
            raise HostLostError(f"{self.name} {late}")
        ready = select.poll()
        for stream in (output, errors):
            if not stream.closed:
                ready.register(stream.fileno(), select.POLLIN)
        for handle, _ in ready.poll(1000 * min(left, _MOST)):
            data = os.read(handle, 1 << 18)
            if handle == output.fileno():
                if not data:
                    raise self._end()
                self._input += data
            elif data:
                self._errors = (self._errors + data)[-4096:]
            else:
                errors.close()
                return

    def _end(self) -> HostLostError:
        """Why the reader ended, in one sentence."""
        errors = self._process.stderr
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        if errors is not None and not errors.closed:
            with contextlib.suppress(OSError):
                self._errors += os.read(errors.fileno(), 1 << 16)
        code = self._process.poll()
        printed = self._printed()
        reason = prefix.reason(self._errors or printed)
        if any(line[:_ECHO] in self._job for line in printed.splitlines() if len(line) >= _ECHO):
            reason = prefix.TERMINAL
        least = f"{'.'.join(map(str, LEAST))} or later there, or nettop itself ({INSTALL})"
        if reason.startswith(_OLD):
            version = reason.removeprefix(_OLD).strip()
            return NoPythonError(f"{self.name} has Python {version}: nettop needs {least}")
        if prefix.lacks("python3", code, reason):
            return NoPythonError(f"{self.name} has no python3: nettop needs Python {least}")
        if not self.exchanges and reason and not _PYTHON_SAID.match(reason):
            return HostLostError(f"{self.name}: {reason}")
        why = reason or prefix.ended(code)
        if not self.exchanges:
            return HostLostError(f"{self.name} started no reader: {why}")
        return HostLostError(f"the connection to {self.name} broke: {why}")

    def _printed(self) -> bytes:
        """What came instead of a reader: nologin(8) and a terminal give their reason there."""
        output = self._process.stdout
        if self.exchanges or output is None:
            return b""
        with contextlib.suppress(OSError):
            self._input += os.read(output.fileno(), BANNER)
        return bytes(self._input)

    def _write(self, data: bytes, seconds: float) -> None:
        """Send all; HostLostError."""
        stream, output = self._process.stdin, self._process.stdout
        assert stream is not None  # noqa: S101
        assert output is not None  # noqa: S101
        until = time.monotonic() + seconds
        late = f"did not read within {seconds:g} s"
        left = memoryview(data)
        ready = select.poll()
        ready.register(stream.fileno(), select.POLLOUT)
        ready.register(output.fileno(), select.POLLIN)
        while left:
            try:
                left = left[os.write(stream.fileno(), left) :]
            except BlockingIOError:
                remaining = until - time.monotonic()
                if remaining <= 0:
                    raise HostLostError(f"{self.name} {late}") from None
                if output.fileno() in dict(ready.poll(1000 * min(remaining, _MOST))):
                    self._read(until, late)  # it answers the first batch before it reads the rest
            except OSError:
                raise self._end() from None

    @property
    def idle(self) -> bool:
        """Whether the reader may have ended because nobody asked it."""
        return time.monotonic() - self.used > IDLE / 2

    def close(self) -> None:
        """End the reader: its input ends. A process that stays is killed."""
        process = self._process
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):  # that of another user (sudo) cannot be signalled
                process.send_signal(signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)


def connect(words: tuple[str, ...], asks: bytes, *, first: bool, patience: float) -> Connection:
    """A reader by the Python there, else by that of the one file there; HostLostError."""
    try:
        return Connection(words, asks, first=first, patience=patience)
    except NoPythonError as lacking:
        if words in prefix.FILES:
            raise
        prefix.FILES.add(words)
        try:
            return Connection(words, asks, first=first, patience=patience)
        except HostLostError as error:
            prefix.FILES.discard(words)
            raise (lacking if isinstance(error, NoPythonError) else error) from None


SLACK: Final = 5.0  # seconds: a virtual machine, or this host, stood still meanwhile
DRIFT: Final = 0.1  # of wall time: adjtimex(2) changes the speed of a clock by so much
_LATEST: Final = float(1 << 34)  # seconds of a clock: 544 years


class FarClock:
    """What the clock of one reader has shown since its first answer.

    A request is sent before the other host looks at its clock, and its answer comes after that. So
    the time that passed there between two answers lies between the shortest and the longest here.
    """

    def __init__(self) -> None:
        """No answer yet."""
        self._first: tuple[float, float, float] | None = None  # there, sent and received here
        self._last = -1.0

    def check(self, there: float, wall: float, sent: float, received: float) -> None:
        """UnreadableError unless both clocks are possible and this one goes about as ours."""
        if not (0.0 <= there < _LATEST and 0.0 <= wall < _LATEST):  # false for NaN
            raise UnreadableError("its clock shows no time")
        if there <= self._last:
            raise UnreadableError("its clock does not advance")
        self._last = there
        if self._first is None:
            self._first = there, sent, received
        before, first_sent, first_received = self._first
        least = (sent - first_received) * (1 - DRIFT) - SLACK
        most = (received - first_sent) * (1 + DRIFT) + SLACK
        if not least <= there - before <= most:
            raise UnreadableError(
                f"its clock advanced by {there - before:.6g} s while {sent - first_sent:.1f} s "
                "passed here"
            )
