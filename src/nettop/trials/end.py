"""The hosts of a trial, and one helper program at an end: its messages and its termination.

A peer is the command prefix that runs a command on the other host: `ssh host`, `ip netns exec b`,
`sudo ip netns exec b`; it is empty for this host. The source text of each helper program in
`trials/far` is sent over its standard input. A helper ends when its standard input closes, and the
kernel closes it when nettop ends.

The other end cannot block nettop: reads and writes do not block, every wait ends when the trial is
cancelled, and too much output is an error.
"""

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Final, Self

from ..host import prefix
from ..terms.dataclass import dataclass
from ..terms.text import safe as printable
from .far.schema import HelperOptions, Message
from .messages import message

LINE: Final = 8 << 20  # bytes of one line
BYTES: Final = 64 << 20  # of all output; each second allows BYTES_A_SECOND more
BYTES_A_SECOND: Final = 1 << 20
LINES: Final = 50_000  # likewise; iperf3 prints about 15 per second for each of 128 streams
LINES_A_SECOND: Final = 2_000
BEFORE: Final = 1000  # other messages before an expected one
QUEUED: Final = 1000  # unread messages; a full queue stops reading from the program
ERRORS: Final = 20  # last output lines kept that are not messages
STEP: Final = 0.1  # seconds between two checks for cancellation
PATIENCE: Final = 3.0  # seconds for a program to end
HURRY: Final = 0.2  # the same after a cancellation
ANSWER: Final = 45.0  # seconds to start and answer: ssh over a slow line


class Cancelled(Exception):  # noqa: N818
    """The trial was cancelled; all its processes have ended."""


class PeerError(Exception):
    """An end failed; one sentence gives the reason."""


class Absent(PeerError):  # noqa: N818
    """A program is not installed at that end."""

    def __init__(self, program: str, where: str) -> None:
        self.program, self.where = program, where
        super().__init__(f"{program} is not installed {where}")


class End:
    """One helper program running at one end."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        script: str,
        job: bytes,
        where: str,
        cancel: threading.Event | None = None,
    ) -> None:
        """`process` runs `far/SCRIPT.py` with unbuffered pipes; `job` is its first input line.

        `where` is for sentences (`here`, `at ssh host`); `cancel` ends every wait.
        """
        self.process = process
        self.where = where
        self._script = script
        self._cancel = cancel or threading.Event()
        self._closing = threading.Event()
        self._queue: queue.Queue[Message | PeerError | None] = queue.Queue(QUEUED)
        self._errors: list[str] = []
        self._began = time.monotonic()
        self._bytes = self._lines = 0
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._send(job, ANSWER)

    def _send(self, data: bytes, seconds: float) -> None:
        """Write, waiting at most `seconds`; the reader reports errors."""
        if self.process.stdin is None or self.process.stdin.closed:
            return
        handle, left = self.process.stdin.fileno(), memoryview(data)
        writable = select.poll()
        writable.register(handle, select.POLLOUT)
        until = time.monotonic() + seconds
        while left and time.monotonic() < until and not self._cancel.is_set():
            try:
                left = left[os.write(handle, left) :]
            except BlockingIOError:
                writable.poll(1000 * STEP)
            except OSError:
                return

    # -- reading, in a thread ----------------------------------------------------------------------

    def _read(self) -> None:
        """Read lines of both streams until both end, or the output exceeds a limit."""
        out, err = self.process.stdout, self.process.stderr
        parts = {pipe.fileno(): bytearray() for pipe in (out, err) if pipe is not None}
        output = out.fileno() if out is not None else -1
        ready = select.poll()
        for handle in parts:
            ready.register(handle, select.POLLIN)
        try:
            while parts and not self._closing.is_set():
                for handle, _ in ready.poll(1000 * STEP):
                    data = os.read(handle, 1 << 16)
                    self._allow(data)
                    *lines, rest = data.split(b"\n")
                    for line in lines:
                        self._take(bytes(parts[handle]) + line, is_output=handle == output)
                        parts[handle].clear()
                    parts[handle] += rest
                    if len(parts[handle]) > LINE:
                        raise PeerError(self._flood(f"a line of more than {LINE >> 20} MiB"))
                    if not data:  # a line without its end was cut off: not a message
                        self._take(bytes(parts.pop(handle)), is_output=False)
                        ready.unregister(handle)
                        if handle == output:
                            self._put(None)
        except PeerError as error:
            self._put(error)

    def _allow(self, data: bytes) -> None:
        """Count the output; PeerError if it is more than any of our programs writes."""
        lasted = time.monotonic() - self._began
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        if self._bytes > BYTES + BYTES_A_SECOND * lasted:
            raise PeerError(self._flood(f"more than {BYTES >> 20} MiB"))
        if self._lines > LINES + LINES_A_SECOND * lasted:
            raise PeerError(self._flood(f"more than {LINES:,} lines"))

    def _flood(self, what: str) -> str:
        return f"the helper {self.where} was stopped: it sent {what}"

    def _take(self, line: bytes, *, is_output: bool) -> None:
        try:
            received = message(self._script, line) if is_output else None
        except ValueError as error:
            why = f"the helper {self.where} sent an invalid message: {printable(str(error))}"
            raise PeerError(why) from None
        if received is not None:
            received["arrived"] = time.monotonic()
            self._put(received)
        elif line.strip():
            self._errors.append(line[:1000].decode("utf-8", "replace").strip())
            del self._errors[:-ERRORS]

    def _put(self, item: Message | PeerError | None) -> None:
        while not self._closing.is_set():
            with suppress(queue.Full):
                self._queue.put(item, timeout=STEP)
                return

    # -- messages ---------------------------------------------------------------------------------

    def receive(self, seconds: float) -> Message | None:
        """The next message, waiting at most `seconds`; None when the program has ended.

        Absent, PeerError: the program reports an error, failed, or sent too much or an invalid
        message. TimeoutError: no message in time. Cancelled: the trial is cancelled.
        """
        until = time.monotonic() + seconds
        while True:
            if self._cancel.is_set():
                raise Cancelled
            left = until - time.monotonic()
            try:
                item = self._queue.get(timeout=max(0.0, min(left, STEP)))
                break
            except queue.Empty:
                if left <= 0:
                    raise TimeoutError from None
        if item is None or isinstance(item, PeerError):
            with suppress(queue.Full):
                self._queue.put_nowait(item)  # the next call gets it again
            if item is None:
                self._check_exit()
                return None
            raise item
        if "absent" in item:
            raise Absent(printable(item["absent"]), self.where)
        if "error" in item:
            raise PeerError(f"{printable(item['error'])} ({self.where})")
        return item

    def _check_exit(self) -> None:
        """PeerError or Absent if the program failed; Cancelled."""
        if not self._ended(PATIENCE):
            if self._cancel.is_set():
                raise Cancelled
            raise PeerError(f"the helper {self.where} closed its output and did not end")
        code = self.process.returncode
        if not code:
            return
        self._reader.join(STEP)  # the last lines may still be in the pipe
        reason = printable(self._errors[-1]) if self._errors else f"exit code {code}"
        if code == 127 or ("No such file or directory" in reason and "python3" in reason):
            raise Absent("python3", self.where)
        raise PeerError(f"the helper {self.where} ended: {reason}")

    def _ended(self, seconds: float) -> bool:
        """Whether the process ends within `seconds`, or within HURRY after a cancellation."""
        began = time.monotonic()
        while time.monotonic() < began + (HURRY if self._cancel.is_set() else seconds):
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STEP)
                return True
        return self.process.poll() is not None

    def messages(self, seconds: float) -> Iterator[Message]:
        """Messages until the program ends or `seconds` have passed; errors as `receive`."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                received = self.receive(left)
            except TimeoutError:
                return
            if received is None:
                return
            yield received

    def wait_for(self, key: str, seconds: float = ANSWER) -> Message:
        """The first message with the field `key`; PeerError if none arrives in `seconds`."""
        until = time.monotonic() + seconds
        for number, received in enumerate(self.messages(seconds)):
            if key in received:
                return received
            if number >= BEFORE:
                raise PeerError(f"the helper {self.where} sends messages but does not answer")
        how = f"did not answer within {seconds:g} s"
        if time.monotonic() < until:
            how = "ended before it answered"
        raise PeerError(f"the helper {self.where} {how}")

    # -- ending -----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ask the program to end regularly, so that a tool prints its summary."""
        self._send(b"stop\n", 1.0)

    def close(self, patience: float = PATIENCE) -> None:
        """End the program: close its standard input, so that it kills what it started.

        After `patience` seconds (HURRY if cancelled) its process group is killed.
        """
        process = self.process
        self._closing.set()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        if not self._ended(patience):
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # a process of another user cannot be killed
                process.wait(1)
        self._reader.join(1)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close(PATIENCE if error is None else HURRY)


PYTHON: Final = prefix.PYTHON[0]
_PACKAGE: Final = "nettop.trials.far"
_FAR: Final = Path(__file__).parent / "far"


@dataclass(frozen=True, slots=True)
class Peer:
    """A host to run commands on: the words of the prefix; empty for this host."""

    prefix: tuple[str, ...] = ()
    cancel: threading.Event | None = field(default=None, compare=False)  # ends every wait for it

    @property
    def where(self) -> str:
        """The host in a sentence: `here` or `at ssh host`."""
        return "at " + printable(" ".join(self.prefix)) if self.prefix else "here"

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` on this peer.

        ssh joins its words with spaces and passes them to a shell, so `argv` is quoted as one word.
        """
        return prefix.command(self.prefix, argv)

    def python(self, *code: str) -> list[str]:
        """The command line that runs Python code, and its arguments, on this peer."""
        if self.prefix:
            return prefix.python(self.prefix, *code)
        return [sys.executable, *prefix.PYTHON[1:], *code]

    def start(self, script: str, options: HelperOptions) -> End:
        """Run `trials/far/SCRIPT.py` on this peer; PeerError if it cannot be started."""
        argv = self.command(self.python(prefix.START))
        try:
            process = prefix.start(argv, apart=True)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise PeerError(f"cannot run {printable(argv[0])}: {why}") from None
        job = prefix.job(_PACKAGE, _FAR, script, options)
        text = json.dumps(job).encode() + b"\n"
        return End(process, script, text, self.where, self.cancel)

    def by_file(self, absent: Absent) -> bool:
        """Whether it is this peer that has no Python, and that of the one file there is next."""
        words = self.prefix
        if absent.program != PYTHON or absent.where != self.where or not words:
            return False
        known = words in prefix.FILES
        prefix.FILES.add(words)
        return not known

    def run(self, argv: Sequence[str], seconds: float = 15.0) -> tuple[int, str]:
        """Run a short command on this peer: exit code, and output of both streams.

        Absent if it is not installed, PeerError if it does not end within `seconds`.
        """
        with self.start("program", {"argv": list(argv)}) as end:
            lines = []
            for message in end.messages(seconds):
                if "out" in message:
                    lines.append(message["out"])
                elif "err" in message:
                    lines.append(message["err"])
                elif "exit" in message:
                    return message["exit"], "\n".join(lines)
        raise PeerError(f"{printable(argv[0])} {self.where} did not end in {seconds:g} s")


HERE: Final = Peer()


def parse(text: str | None) -> Peer:
    """A peer from its prefix, split as a shell would; ValueError for unbalanced quotes."""
    try:
        return Peer(prefix.parse(text))
    except ValueError as error:
        raise ValueError(f"peer {text!r}: {error}") from None


__all__ = ["HERE", "PYTHON", "Absent", "Cancelled", "End", "Peer", "PeerError", "parse"]
