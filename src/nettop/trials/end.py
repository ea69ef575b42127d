"""One helper program at one end of a trial: its messages, within limits, and its termination.

The other end cannot block nettop: reads and writes do not block, every wait ends when the trial is
cancelled, and too much output is an error.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from ..terms.text import safe as printable
from .messages import message

LINE: Final = 8 << 20  # bytes of one line
BYTES: Final = 64 << 20  # of all it says; each second allows BYTES_A_SECOND more
BYTES_A_SECOND: Final = 1 << 20
LINES: Final = 50_000  # likewise; iperf3 prints some 15 a second for each of 128 streams
LINES_A_SECOND: Final = 2_000
BEFORE: Final = 1000  # messages before the one that is waited for
HELD: Final = 1000  # messages waiting to be heard; the end has to wait before it can say more
ERRORS: Final = 20  # last lines kept of what it says besides messages
STEP: Final = 0.1  # seconds after which a wait looks whether it was cancelled
PATIENCE: Final = 3.0  # seconds to end by itself
HURRY: Final = 0.2  # the same when the trial was cancelled
ANSWER: Final = 45.0  # seconds to begin and answer: an ssh over a slow line


class Cancelled(Exception):  # noqa: N818
    """The trial was cancelled; all its processes have ended."""


class PeerError(Exception):
    """The other end failed; one sentence gives the reason."""


class Absent(PeerError):  # noqa: N818
    """A program is not installed at that end."""

    def __init__(self, program: str, where: str) -> None:
        self.program = program
        super().__init__(f"{program} is not installed {where}")


class End:
    """One program running at one end: its messages, and its end."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        script: str,
        job: bytes,
        where: str,
        cancel: threading.Event | None = None,
    ) -> None:
        """`process` has pipes for its three streams, unbuffered; it is to run `far/SCRIPT.py`."""
        self.process = process
        self.where = where
        self._script = script
        self._cancel = cancel or threading.Event()
        self._closing = threading.Event()
        self._heard: queue.Queue[dict[str, Any] | PeerError | None] = queue.Queue(HELD)
        self._errors: list[str] = []
        self._began = time.monotonic()
        self._bytes = self._lines = 0
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._send(job, ANSWER)

    def _send(self, data: bytes, seconds: float) -> None:
        """Write, waiting at most `seconds` for room; an end that does not read tells why itself."""
        if self.process.stdin is None or self.process.stdin.closed:
            return
        handle, left = self.process.stdin.fileno(), memoryview(data)
        room = select.poll()
        room.register(handle, select.POLLOUT)
        until = time.monotonic() + seconds
        while left and time.monotonic() < until and not self._cancel.is_set():
            try:
                left = left[os.write(handle, left) :]
            except BlockingIOError:
                room.poll(1000 * STEP)
            except OSError:
                return

    # -- reading, in a thread ----------------------------------------------------------------------

    def _read(self) -> None:
        """Take lines from both streams until both end, or more comes than is allowed."""
        out, err = self.process.stdout, self.process.stderr
        parts = {pipe.fileno(): bytearray() for pipe in (out, err) if pipe is not None}
        said = out.fileno() if out is not None else -1
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
                        self._take(bytes(parts[handle]) + line, handle == said)
                        parts[handle].clear()
                    parts[handle] += rest
                    if len(parts[handle]) > LINE:
                        raise PeerError(self._flood(f"a line of more than {LINE >> 20} MiB"))
                    if not data:  # a line without its end was cut off, and is no message
                        self._take(bytes(parts.pop(handle)), told=False)
                        ready.unregister(handle)
                        if handle == said:
                            self._put(None)
        except PeerError as error:
            self._put(error)

    def _allow(self, data: bytes) -> None:
        """Count what came; PeerError when it is more than any program of ours says."""
        lasted = time.monotonic() - self._began
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        if self._bytes > BYTES + BYTES_A_SECOND * lasted:
            raise PeerError(self._flood(f"more than {BYTES >> 20} MiB"))
        if self._lines > LINES + LINES_A_SECOND * lasted:
            raise PeerError(self._flood(f"more than {LINES:,} lines"))

    def _flood(self, what: str) -> str:
        return f"the helper {self.where} was stopped: it sent {what}"

    def _take(self, line: bytes, told: bool) -> None:
        try:
            found = message(self._script, line) if told else None
        except ValueError as error:
            why = f"the helper {self.where} sent an invalid message: {printable(str(error))}"
            raise PeerError(why) from None
        if found is not None:
            self._put({**found, "heard": time.monotonic()})
        elif line.strip():
            self._errors.append(line[:1000].decode("utf-8", "replace").strip())
            del self._errors[:-ERRORS]

    def _put(self, what: dict[str, Any] | PeerError | None) -> None:
        while not self._closing.is_set():
            with suppress(queue.Full):
                self._heard.put(what, timeout=STEP)
                return

    # -- hearing ----------------------------------------------------------------------------------

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """Its next message, waiting at most `seconds`; None when it has ended.

        Absent, PeerError: what it reports it cannot do, or it says too much or what is no message.
        TimeoutError: nothing came. Cancelled: the trial is to end.
        """
        until = time.monotonic() + seconds
        while True:
            if self._cancel.is_set():
                raise Cancelled
            left = until - time.monotonic()
            try:
                found = self._heard.get(timeout=max(0.0, min(left, STEP)))
                break
            except queue.Empty:
                if left <= 0:
                    raise TimeoutError from None
        if found is None or isinstance(found, PeerError):
            with suppress(queue.Full):
                self._heard.put_nowait(found)  # the same to whoever asks again
            if found is None:
                self._judge()
                return None
            raise found
        if "absent" in found:
            raise Absent(printable(found["absent"]), self.where)
        if "error" in found:
            raise PeerError(f"{printable(found['error'])} ({self.where})")
        return found

    def _judge(self) -> None:
        """Raise when it ended because it could not start."""
        if not self._ended(PATIENCE):
            if self._cancel.is_set():
                raise Cancelled
            raise PeerError(f"the helper {self.where} closed its output and did not end")
        code = self.process.returncode
        if not code:
            return
        self._reader.join(STEP)  # its last words may still be on their way
        said = printable(self._errors[-1]) if self._errors else f"exit code {code}"
        if code == 127 or ("No such file or directory" in said and "python3" in said):
            raise Absent("python3", self.where)
        raise PeerError(f"the helper {self.where} ended: {said}")

    def _ended(self, seconds: float) -> bool:
        """Whether the process has ended, waiting so long, or not when cancelled meanwhile."""
        began = time.monotonic()
        while time.monotonic() < began + (HURRY if self._cancel.is_set() else seconds):
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STEP)
                return True
        return self.process.poll() is not None

    def messages(self, seconds: float) -> Iterator[dict[str, Any]]:
        """Messages until it ends or `seconds` have passed."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                found = self.hear(left)
            except TimeoutError:
                return
            if found is None:
                return
            yield found

    def wait_for(self, key: str, seconds: float = ANSWER) -> Any:
        """The value of the first message that has `key`; PeerError when none comes."""
        until = time.monotonic() + seconds
        for number, found in enumerate(self.messages(seconds)):
            if key in found:
                return found[key]
            if number >= BEFORE:
                raise PeerError(f"the helper {self.where} sends messages but does not answer")
        how = f"did not answer within {seconds:g} s"
        if time.monotonic() < until:
            how = "ended before it answered"
        raise PeerError(f"the helper {self.where} {how}")

    # -- ending -----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ask it to end in order (tools print their summary)."""
        self._send(b"stop\n", 1.0)

    def close(self, patience: float = PATIENCE) -> None:
        """End it now: its standard input closes, and it kills what it started.

        After `patience` seconds, fewer when cancelled, it is killed with its process group.
        """
        process = self.process
        self._closing.set()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        if not self._ended(patience):
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # another user's cannot be killed
                process.wait(1)
        self._reader.join(1)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(PATIENCE if error is None else HURRY)
