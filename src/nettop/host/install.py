"""The one file at another host: put there on request, and removed again, by `far/install.sh`.

What root runs is in a folder of root's, by root (`sudo -n` if the prefix does not lead to root);
what a user runs is in his cache. A user gets it only where there is no Python for the reader. The
script knows what was there before, so that nothing else is removed.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..terms.dataclass import dataclass
from ..terms.text import safe
from . import once, prefix
from .source import HostLostError

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
    digest = hashlib.sha256(data).hexdigest()
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
    answer = once.run(words, [*argv, *rest], most=_MOST, seconds=SENDING, asks=asks, **more)
    lines = answer.output.decode("utf-8", "replace").splitlines()
    said = [safe(line.removeprefix(_SAYS))[:300] for line in lines if line.startswith(_SAYS)]
    if not said:
        raise HostLostError(f"{name}: {answer.reason or prefix.ended(answer.code)}")
    told, _, after = said[-1].partition(" ")
    if told == "no":
        raise HostLostError(f"{name}: {after.partition('; look at this host')[0]}")
    return told, after
