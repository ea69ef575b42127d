"""Single commands at another host, without a terminal, bounded in size and time; the file there.

`run` takes a command that ends by itself; `Held` one that works as long as its standard input is
open, and prints one line of JSON. A line is written to it every BEAT seconds, so that it notices a
connection that carries nothing any more.

The one file is put there on request, and removed again, by `far/install.sh`. What root runs is in a
folder of root's, by root (`sudo -n` if the prefix does not lead to root); what a user runs is in
his cache. A user gets it only where there is no Python for the reader. The script knows what was
there before, so that nothing else is removed.
"""

import contextlib
import os
import select
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..terms.dataclass import dataclass
from ..terms.text import safe
from . import prefix
from .source import HostLostError

SECONDS: Final = 60.0  # to log in, work and answer
_ERRORS: Final = 1 << 16  # bytes of stderr that are read


@dataclass(frozen=True, slots=True)
class Answer:
    """What the command printed, and how it ended."""

    code: int  # negative for a signal
    output: bytes
    reason: str  # the last line of stderr that is not empty

    def lacks(self, program: str) -> bool:
        """Whether that program is not installed there."""
        failed = self.code != 0 and not self.output
        return failed and prefix.lacks(program, self.code, self.reason)


def run(
    words: Sequence[str], argv: Sequence[str], *, most: int, seconds: float = SECONDS,
    given: int = subprocess.DEVNULL, asks: bool = False,
) -> Answer:  # fmt: skip
    """Run `argv` behind the prefix `words`; HostLostError if that fails or prints more than `most`.

    It reads the file `given`. Unless it `asks`, it has no terminal: a program of the prefix that
    asks for a password fails.
    """
    name, line = safe(" ".join(words)), prefix.command(words, argv)
    try:
        process = prefix.start(line, apart=not asks, given=given)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise HostLostError(f"cannot run {safe(line[0])}: {reason}") from None
    return ended(process, name, most, seconds)


def ended(process: subprocess.Popen[bytes], name: str, most: int, seconds: float) -> Answer:
    """Read what the process still prints, and wait for its end; HostLostError."""
    try:
        output, errors = _read(process, name, most, seconds)
        code = process.wait(2.0)
    except subprocess.TimeoutExpired:
        raise HostLostError(f"{name} closed its output and did not end") from None
    finally:
        _end(process)
    return Answer(code, output, prefix.reason(errors))


def _read(
    process: subprocess.Popen[bytes], name: str, most: int, seconds: float
) -> tuple[bytes, bytes]:
    """All of stdout and the first bytes of stderr; HostLostError."""
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    parts = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    output, errors = parts.values()
    ready = select.poll()
    for handle in parts:
        ready.register(handle, select.POLLIN)
    open_handles = set(parts)
    until = time.monotonic() + seconds
    while open_handles:
        left = until - time.monotonic()
        if left <= 0:
            raise HostLostError(f"{name} did not answer within {seconds:g} s")
        for handle, _ in ready.poll(1000 * left):
            data = os.read(handle, 1 << 16)
            if not data:
                ready.unregister(handle)
                open_handles.discard(handle)
            elif parts[handle] is output or len(errors) < _ERRORS:
                parts[handle] += data
        if len(output) > most:
            raise HostLostError(f"{name} sent more than {most >> 20} MiB")
    return bytes(output), bytes(errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes; kill what still runs."""
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    if process.poll() is None:
        with contextlib.suppress(OSError):  # that of another user (sudo) cannot be killed
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)


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
        return ended(self._process, self.name, MOST, seconds)


SENDING: Final = 900.0  # seconds to send, check and unpack it
_MOST: Final = 1 << 20  # bytes that the other host may print
_SCRIPT: Final = Path(__file__).parent / "far/install.sh"
# as root if that needs no password
_LIFT: Final = (
    'script=$1 mode=$2; shift 2; if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null;'
    'then exec sudo -n sh -c "$script" nettop "$mode" sudo "$@"; fi;'
    'exec sh -c "$script" nettop "$mode" direct "$@"'
)
_SAYS: Final = "nettop-install "
_MACHINES: Final = {62: "x86_64", 183: "aarch64"}  # e_machine of elf(5)
_ELF: Final = struct.Struct("<4sBB12xH")


@dataclass(frozen=True, slots=True)
class File:
    """The one file that can be put there."""

    path: str
    machine: str
    size: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.path} ({self.size / (1 << 20):.1f} MiB, {self.machine}, {self.sha256})"


def file(path: str) -> File:
    """The one file at this path; OSError, ValueError if it is none."""
    data = Path(path).read_bytes()
    magic, bits, order, machine = _ELF.unpack(data[: _ELF.size].ljust(_ELF.size))
    if (magic, bits, order) != (b"\x7fELF", 2, 1) or machine not in _MACHINES:
        raise ValueError(f"{path} is not the one file of nettop: make binary builds it")
    from hashlib import sha256  # late: with OpenSSL it takes 4 MB

    digest = sha256(data).hexdigest()
    return File(os.path.abspath(path), _MACHINES[machine], len(data), digest)


def install(words: Sequence[str], one: File, *, asks: bool = False) -> tuple[str, ...]:
    """Put it behind the prefix; the paths where it now is. HostLostError: nothing is left there.

    `asks`: the prefix may ask on the terminal.
    """
    way, python, path = _put(words, one, lift=True, asks=asks)
    if way == "direct" or python == "python":
        return (path,)
    return path, _put(words, one, lift=False, asks=asks)[2]


def _put(words: Sequence[str], one: File, *, lift: bool, asks: bool) -> list[str]:
    """By which way, whether it has a Python, and the path."""
    arguments = ("install", one.machine, one.sha256)
    handle = os.open(one.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        told, rest = _tell(words, arguments, lift=lift, asks=asks, given=handle)
    finally:
        os.close(handle)
    if told == "machine":
        raise HostLostError(
            f"{safe(' '.join(words))} is {rest}, and {one.path} is for {one.machine}: give the file"
            f" for {rest} with --binary"
        )
    return rest.split(" ", 2)


@dataclass(frozen=True, slots=True)
class Installed:
    """What is installed behind a prefix: for root, and for the user if that is another."""

    way: str  # sudo: root is reached by `sudo -n`; direct
    root: bool
    user: bool


def look(words: Sequence[str], *, asks: bool = False) -> Installed:
    """What `install` put there; HostLostError."""
    told, rest = _tell(words, ("look",), lift=True, asks=asks)
    way, user = rest.split(" ")
    here = told == "at"
    if way == "sudo":
        return Installed(way, here, _tell(words, ("look",), lift=False, asks=asks)[0] == "at")
    return Installed(way, here and user == "0", here and user != "0")


def forget(words: Sequence[str], known: Installed, *, keep: bool, asks: bool = False) -> str:
    """Remove it; the folder of the journal, if that stays. HostLostError.

    `keep`: the journal of root stays in any case.
    """
    arguments = ("forget", "keep" if keep else "all")
    rests = [_tell(words, arguments, lift=True, asks=asks)[1]] if known.root else []
    if known.user:
        rests.append(_tell(words, arguments, lift=False, asks=asks)[1])
    prefix.FILES.discard(tuple(words))
    return "".join(rests)


def _tell(
    words: Sequence[str], arguments: Sequence[str], *, lift: bool, asks: bool,
    given: int | None = None,
) -> tuple[str, str]:  # fmt: skip
    """Run the script; the word and the rest of its last line. HostLostError."""
    text = _SCRIPT.read_text(encoding="utf-8")
    mode, *rest = arguments
    argv = ["sh", "-c", _LIFT, "nettop", text, mode] if lift else [
        "sh", "-c", text, "nettop", mode, "direct"]  # fmt: skip
    name = safe(" ".join(words))
    more = {} if given is None else {"given": given}
    answer = run(words, [*argv, *rest], most=_MOST, seconds=SENDING, asks=asks, **more)
    lines = answer.output.decode("utf-8", "replace").splitlines()
    said = [safe(line.removeprefix(_SAYS))[:300] for line in lines if line.startswith(_SAYS)]
    if not said:
        raise HostLostError(f"{name}: {answer.reason or prefix.ended(answer.code)}")
    told, _, after = said[-1].partition(" ")
    if told == "no":
        raise HostLostError(f"{name}: {after.partition('; look at this host')[0]}")
    return told, after
