"""The other end of a trial: a command prefix, and programs that cannot outlive nettop.

A peer is what you would type before a command to run it there: `ssh host`, `ip netns exec b`,
`sudo ip netns exec b`, or nothing at all for this host. Everything that is started, at either end,
is a text of `trials/far` sent over standard input; it ends when that closes, which the kernel does
when nettop ends, however it ends.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from .text import safe as printable

# Read one line with everything, then run it. `-` alone would need the end of standard input first,
# and that end is what says that nettop is gone.
_START: Final = "import sys,json;job=json.loads(sys.stdin.readline());exec(job['boot'])"
_BOOT: Final = """
import types
for name in ("nettop", "nettop.trials", "nettop.trials.far"):
    package = types.ModuleType(name)
    package.__path__ = []
    sys.modules[name] = package
for name, text in job["texts"]:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, name, "exec"), module.__dict__)
module.main(job["options"])
"""
_FAR: Final = Path(__file__).parent / "trials" / "far"


class PeerError(Exception):
    """The other end cannot do it; one sentence says why."""


class Absent(PeerError):  # noqa: N818
    """A program is not installed at that end."""

    def __init__(self, program: str, where: str) -> None:
        self.program = program
        super().__init__(f"{program} is not installed {where}")


@dataclass(frozen=True, slots=True)
class Peer:
    """Where commands run: the words before them; none is this host."""

    prefix: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """For sentences: `here` or `at ssh host`."""
        return "at " + printable(" ".join(self.prefix)) if self.prefix else "here"

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` there.

        ssh joins its words with spaces and hands them to a shell: they become one quoted argument.
        """
        if not self.prefix:
            return list(argv)
        if self._by_shell():
            return [*self.prefix, shlex.join(argv)]
        return [*self.prefix, *argv]

    def _by_shell(self) -> bool:
        return any(os.path.basename(word) == "ssh" for word in _programs(self.prefix))

    def start(self, script: str, options: Mapping[str, Any]) -> End:
        """Run the text `trials/far/SCRIPT.py` there; PeerError when that cannot even begin."""
        python = "python3" if self.prefix else sys.executable
        # -I -S: nothing of what is installed or set there takes part, and it starts sooner
        argv = self.command([python, "-I", "-S", "-u", "-c", _START])
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C goes to nettop, which ends things in order
            )
        except OSError as error:
            raise PeerError(f"cannot run {printable(argv[0])}: {error.strerror}") from None
        job = {"boot": _BOOT, "texts": _texts(script), "options": dict(options)}
        return End(self, process, json.dumps(job).encode() + b"\n")

    def run(self, argv: Sequence[str], seconds: float = 15.0) -> tuple[int, str]:
        """Run a short command there to its end: its exit code and what it printed (both streams).

        Absent when it is not installed, PeerError when it does not end in `seconds`.
        """
        with self.start("keep", {"argv": list(argv)}) as end:
            lines = []
            for message in end.messages(seconds):
                lines += [str(message[key]) for key in ("out", "err") if key in message]
                if "exit" in message:
                    return int(message["exit"]), "\n".join(lines)
        raise PeerError(f"{printable(argv[0])} {self.where} did not end in {seconds:g} s")


HERE: Final = Peer()


def parse(prefix: str | None) -> Peer:
    """A peer from its prefix, split as a shell would; ValueError for unbalanced quotes."""
    try:
        return Peer(tuple(shlex.split(prefix or "")))
    except ValueError as error:
        raise ValueError(f"peer {prefix!r}: {error}") from None


def _programs(prefix: Sequence[str]) -> Iterator[str]:
    """The words of a prefix that name its program: the first, and the one after sudo or env."""
    for word in prefix:
        if "=" in word and not word.startswith("-"):
            continue
        if word.startswith("-"):
            continue
        yield word
        if os.path.basename(word) not in ("sudo", "env", "doas", "nice", "timeout", "sshpass"):
            return


@cache
def _texts(script: str) -> tuple[tuple[str, str], ...]:
    """The script's text after those it imports; the last one is run."""
    text = (_FAR / f"{script}.py").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for needed in re.findall(r"^from nettop\.trials\.far\.(\w+) import", text, re.MULTILINE):
        found.update(_texts(needed))
    return (*found.items(), (f"nettop.trials.far.{script}", text))


class End:
    """One program running at one end: its messages, and its end."""

    def __init__(self, peer: Peer, process: subprocess.Popen[bytes], job: bytes) -> None:
        self.peer = peer
        self.process = process
        self._input: IO[bytes] = process.stdin or open(os.devnull, "wb")  # noqa: SIM115
        self._heard: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._read, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._complain, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._send(job)

    def _send(self, data: bytes) -> None:
        try:
            self._input.write(data)
            self._input.flush()
        except (OSError, ValueError):
            return  # it ended: its messages or its exit code tell why

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            try:
                message = json.loads(line)
            except ValueError:
                self._errors.append(line.decode("utf-8", "replace").strip())
                continue
            if isinstance(message, dict):
                self._heard.put({**message, "heard": time.monotonic()})
        self._heard.put(None)

    def _complain(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._errors.append(line.decode("utf-8", "replace").strip())
            del self._errors[:-20]

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """Its next message, waiting at most `seconds`; None when it has ended.

        Absent, PeerError: what it reports it cannot do. TimeoutError: nothing came.
        """
        try:
            message = self._heard.get(timeout=max(0.0, seconds))
        except queue.Empty:
            raise TimeoutError from None
        if message is None:
            self._heard.put(None)
            self._judge()
            return None
        if "absent" in message:
            raise Absent(printable(str(message["absent"])), self.peer.where)
        if "error" in message:
            raise PeerError(f"{printable(str(message['error']))} ({self.peer.where})")
        return message

    def _judge(self) -> None:
        """Raise when it ended because it could not start."""
        code = self.process.wait()
        if not code:
            return
        said = printable(self._errors[-1]) if self._errors else f"exit code {code}"
        if code == 127 or ("No such file or directory" in said and "python3" in said):
            raise Absent("python3", self.peer.where)
        raise PeerError(f"the helper {self.peer.where} ended: {said}")

    def messages(
        self, seconds: float, cancelled: Callable[[], bool] = bool
    ) -> Iterator[dict[str, Any]]:
        """Messages until it ends, `seconds` have passed, or `cancelled()` says so."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not cancelled():
            try:
                message = self.hear(min(left, 0.1))
            except TimeoutError:
                continue
            if message is None:
                return
            yield message

    def wait_for(self, key: str, seconds: float = 45.0) -> Any:
        """The value of the first message that has `key`; PeerError when none comes."""
        for message in self.messages(seconds):
            if key in message:
                return message[key]
        raise PeerError(f"the helper {self.peer.where} did not answer within {seconds:g} s")

    def stop(self) -> None:
        """Ask it to end in order (tools print their summary)."""
        self._send(b"stop\n")

    def close(self) -> None:
        """End it now: its standard input closes, and it kills what it started."""
        process = self.process
        with suppress(OSError):
            self._input.close()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                process.kill()
            process.wait()
        for thread in self._threads:
            thread.join(1)
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
        self.close()


__all__ = ["HERE", "Absent", "End", "Peer", "PeerError", "parse"]
